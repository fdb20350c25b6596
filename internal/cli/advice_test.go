package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"opencode-delegate/internal/call"
	"opencode-delegate/internal/delegate"
)

// Whoever pays for his reading is told when a task is too small; nobody else is.
func TestAdvice(t *testing.T) {
	dir := t.TempDir()
	for name, size := range map[string]int{"small.go": 500, "large.go": 50_000} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.Repeat("x", size)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("small.go", filepath.Join(dir, "link.go")); err != nil {
		t.Skip(err)
	}
	agent := func(change func(*call.Call)) call.Call {
		c := call.Call{Request: delegate.Request{Dir: dir, Profile: "read-only", Caller: "a-session"}}
		change(&c)
		return c
	}
	nothing := func(*call.Call) {}
	for name, c := range map[string]struct {
		call   call.Call
		prompt string
		want   bool
	}{
		"a small file":          {agent(nothing), "What does small.go do?", true},
		"the same twice":        {agent(func(c *call.Call) { c.Request.Files = []string{filepath.Join(dir, "small.go")} }), "What does small.go do?", true},
		"a small change":        {agent(func(c *call.Call) { c.Request.Profile = "standard" }), "Rename x to y in small.go", true},
		"a large file":          {agent(nothing), "What does large.go do?", false},
		"both":                  {agent(nothing), "What do small.go and large.go do?", false},
		"an attachment":         {agent(func(c *call.Call) { c.Request.Files = []string{filepath.Join(dir, "large.go")} }), "What does small.go do?", false},
		"no file":               {agent(nothing), "What does this do?", false},
		"a file that is absent": {agent(nothing), "What does other.go do?", false},
		"a link":                {agent(nothing), "What does link.go do?", false},
		"a file elsewhere":      {agent(nothing), "What does ../" + filepath.Base(dir) + "/small.go do?", false},
		"an agent of no name":   {agent(func(c *call.Call) { c.Request.Caller = call.Shell }), "What does small.go do?", true},
		"a verb":                {agent(func(c *call.Call) { c.Recipe = true }), "What does small.go do?", false},
		"a session":             {agent(func(c *call.Call) { c.Request.Session = "ses_a" }), "What does small.go do?", false},
		"the newest session":    {agent(func(c *call.Call) { c.Continue = true }), "What does small.go do?", false},
	} {
		if got := advice(c.call, c.prompt); (got != "") != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
	a := &App{Secrets: nil}
	if notes := a.Notes(agent(nothing), "What does small.go do?"); len(notes) != 1 || !strings.Contains(notes[0], "one file of 500 characters") {
		t.Errorf("%q", notes)
	}
}
