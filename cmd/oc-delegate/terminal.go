package main

import (
	"io"

	"github.com/charmbracelet/log"
)

// speech prints lines behind the program's name.
func speech(stderr io.Writer, name string) func(line string) {
	// The library must not see a terminal: it would ask it for its colours, and wait five seconds for one that does not answer.
	l := log.NewWithOptions(struct{ io.Writer }{stderr}, log.Options{Prefix: name})
	return func(line string) { l.Print(line) }
}
