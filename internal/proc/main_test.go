package proc

import (
	"fmt"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	if exit, ok := Main(os.Args); ok {
		os.Exit(exit)
	}
	if len(os.Args) > 1 {
		if play, ok := roles[os.Args[1]]; ok {
			play(os.Args[2:])
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

// roles are the fake children: the test binary again, with a role as its first argument.
var roles = map[string]func(args []string){
	"true": func([]string) {},
	"exit": func(args []string) { var n int; fmt.Sscan(args[0], &n); os.Exit(n) },
}
