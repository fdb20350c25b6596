// Package house holds the rules of this repository that a compiler does not check, as tests: which package may know which, what a
// command links in, how long a file may be, and what may never stand in one. It has no code of its own.
package house
