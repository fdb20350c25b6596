//go:build !linux

package proc

// OwnBinary is empty: this system has no name for a program whose file was replaced.
const OwnBinary = ""
