// Package sandbox is what the kernel lets a run write and read: Landlock around opencode and everything that it starts.
//
// A [Policy] is a plain value. [Policy.Command] turns a command into one that starts this binary again in a hidden role;
// the role restricts itself and then becomes the command, in the same process. There is no way back: the restriction
// is inherited by every child and cannot be lifted. A role that cannot restrict itself starts nothing.
//
// Where Landlock ends, a filter of system calls keeps a run from the limits of other processes, the user's keyrings and a shared terminal.
//
// What neither governs, and what a run therefore can do outside its grant: change the mode, owner and times of the user's own
// files, connect to sockets that have a path, use the network, see the names (not the content) of hidden files.
package sandbox

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
)

// A Policy is what a run may touch. All paths are absolute and free of symbolic links. What is not named can be read and
// executed, but not changed.
type Policy struct {
	// Write holds the directories below which everything may be read and changed, and single files that may be.
	// One that does not exist when the run starts is left out.
	Write []string `json:"write"`
	// Hide holds the files and directories whose content may not be read.
	Hide []string `json:"hide"`
	// Read holds exceptions inside of Hide.
	Read []string `json:"read"`
}

// Support says what this kernel can enforce.
type Support struct {
	// ABI is Landlock's version in the running kernel, 0 where there is none.
	ABI int
	// Reason says why no policy can be enforced; empty when one can.
	Reason string
	// Gaps are the parts that this kernel leaves open, a phrase each.
	Gaps []string
}

// OK reports whether a policy can be enforced.
func (s Support) OK() bool { return s.Reason == "" }

// NoLandlockEnv, set to 1, makes the kernel look as if it had no Landlock, so that the fall-back can be tested. A policy that
// was demanded is then refused, never skipped.
const NoLandlockEnv = "OC_DELEGATE_TEST_ONLY_NO_LANDLOCK"

// Refused is the exit code of a role that could not restrict itself. The command was not started, and stderr says why.
const Refused = 119

const (
	role      = "__sandbox"          // first argument of the hidden role
	policyEnv = "OC_DELEGATE_POLICY" // carries the policy to the role, and no further
)

// Command returns argv wrapped so that it runs under the policy, and the additions that its environment needs. self is
// the absolute path of a binary that calls [Main] first thing; argv[0] has to be an absolute path too.
// The process that is started becomes argv itself: same pid, same descriptors.
func (p Policy) Command(self string, argv []string) (wrapped, env []string, err error) {
	if len(argv) == 0 || !filepath.IsAbs(argv[0]) || !filepath.IsAbs(self) {
		return nil, nil, fmt.Errorf("sandbox: %q by %q: both need absolute paths", argv, self)
	}
	for _, list := range [][]string{p.Write, p.Hide, p.Read} {
		for _, path := range list {
			if !filepath.IsAbs(path) || filepath.Clean(path) != path || strings.ContainsRune(path, 0) {
				return nil, nil, fmt.Errorf("sandbox: policy names %q, which is no clean absolute path", path)
			}
		}
	}
	if real, err := filepath.EvalSymlinks(argv[0]); err == nil && real != "/" {
		p.Read = append(p.Read[:len(p.Read):len(p.Read)], real) // a program in a hidden place was chosen by name
	}
	text, err := json.Marshal(p)
	if err != nil {
		return nil, nil, fmt.Errorf("sandbox: policy: %w", err)
	}
	return append([]string{self, role}, argv...), []string{policyEnv + "=" + string(text)}, nil
}

// within reports whether path is dir or lies below it. Both are clean.
func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, string(filepath.Separator))+string(filepath.Separator))
}

// overlap reports whether one of the paths holds the other.
func overlap(a, b string) bool { return within(a, b) || within(b, a) }
