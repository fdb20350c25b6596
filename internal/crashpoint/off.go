//go:build !crashpoints

// Package crashpoint marks the places after which a process may die and the next reader must still be able to decide
// what happened. In a program that is shipped it does nothing at all; one that is built with the tag crashpoints ends itself at
// the place that OC_CRASH_POINT counts, which is how the tests walk through all of them.
package crashpoint

// Here is a place: what has just been done, and to which file.
func Here(what, path string) {}
