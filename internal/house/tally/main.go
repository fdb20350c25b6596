// Command tally reads the output of `go test -json` and says how many tests, scripts and cases with the real opencode ran.
// It fails when something failed, when something was skipped under CI, or when no case with the real opencode ran: a suite that
// silently stopped to test the real thing must not be green.
//
//	go run ./internal/house/tally FILE…
package main

import (
	"fmt"
	"io"
	"os"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr, os.Getenv("CI") != "")) }

func run(files []string, out, errs io.Writer, ci bool) int {
	t := newTally()
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			fmt.Fprintln(errs, "tally:", err)
			return 1
		}
		err = t.read(f)
		f.Close()
		if err != nil {
			fmt.Fprintf(errs, "tally: %s: %v\n", file, err)
			return 1
		}
	}
	fmt.Fprintln(out, t)
	problems := t.problems(ci)
	for _, p := range problems {
		fmt.Fprintln(errs, "tally:", p)
	}
	if len(problems) > 0 {
		return 1
	}
	return 0
}
