package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"opencode-delegate/internal/gocache"
)

// Main carries out the hidden role when args (os.Args) ask for it; every main calls it before anything else. ok is
// false when the call is an ordinary one. Otherwise the process has either become another program, and Main does not
// return, or it could not, and exits with the given code. It also carries out the role of package gocache, to which the
// environment of a layer sends the go command.
func Main(args []string) (exit int, ok bool) {
	if exit, ok := gocache.Main(args); ok {
		return exit, true
	}
	if len(args) < 2 || args[1] != role {
		return 0, false
	}
	err := become(args[2:], os.Environ())
	fmt.Fprintf(io.Writer(os.Stderr), "oc-delegate: sandbox: %v\n", err)
	return Refused, true
}

// become restricts this process and replaces it. It returns only with an error.
func become(argv, environ []string) error {
	var text string
	var kept []string
	for _, e := range environ {
		if v, found := strings.CutPrefix(e, policyEnv+"="); found {
			text = v
			continue
		}
		kept = append(kept, e)
	}
	if len(argv) == 0 {
		return errors.New("no command was given")
	}
	var p Policy
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return fmt.Errorf("no usable policy in %s: %w", policyEnv, err)
	}
	if s := Detect(os.Getenv); !s.OK() {
		return fmt.Errorf("a policy was demanded, and %s", s.Reason)
	}
	return restrictAndExec(p, argv, kept)
}
