package job

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"opencode-delegate/internal/call"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/proc"
)

// What is no link that we have made is none, and hangs nobody; a file in its place is replaced when there is one to make.
func TestDamagedLinks(t *testing.T) {
	k := byKey(3) // k[1] and k[2] can be linked to k[0]
	text := func(v any) string { data, _ := json.Marshal(v); return string(data) }
	for name, content := range map[string]string{
		"empty":             "",
		"garbage":           "{{{",
		"of another kind":   `["` + k[2] + `"]`,
		"huge":              text(link{k[2], k[0]}) + strings.Repeat(" ", callerFile),
		"another session's": text(link{k[1], k[0]}),
		"to nobody":         text(link{k[2], ""}),
		"to itself":         text(link{k[2], k[2]}),
		"to the shell":      text(link{k[2], call.Shell}),
		"to two lines":      text(link{k[2], "a\nb"}),
		"to a long name":    text(link{k[2], strings.Repeat("x", 129)}),
	} {
		s := open(t)
		becomes(t, s, gone(1), k[2])
		path := filepath.Join(s.root, callersDir, callerKey(k[2]))
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if s = again(t, s); s.CallerOf(k[2]) != k[2] || one(t, s, k[0], k[2]) || one(t, s, k[1], k[2]) {
			t.Errorf("%s: %q", name, s.CallerOf(k[2]))
		}
		if becomes(t, s, gone(1), k[0]); !one(t, s, k[0], k[2]) {
			t.Errorf("%s: it cannot be mended", name)
		}
	}
}

func TestWhatIsNoFileIsNoLink(t *testing.T) {
	k := byKey(2)
	valid, _ := json.Marshal(link{k[1], k[0]})
	aside := filepath.Join(t.TempDir(), "aside")
	if err := os.WriteFile(aside, valid, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, place := range map[string]func(path string) error{
		"directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"symlink":   func(path string) error { return os.Symlink(aside, path) },
		"dangling":  func(path string) error { return os.Symlink(aside+"-not", path) },
	} {
		for _, what := range []string{callerKey(k[1]), presenceOf(proc.Self())} {
			s := open(t)
			becomes(t, s, gone(1), k[1])
			if err := place(filepath.Join(s.root, callersDir, what)); err != nil {
				if runtime.GOOS == "windows" {
					continue // a user needs a privilege for links there
				}
				t.Fatal(err)
			}
			if s = again(t, s); one(t, s, k[0], k[1]) {
				t.Errorf("%s: linked", name)
			}
			if s.Link(t.Context(), gone(1), k[0]) == nil == (what == callerKey(k[1])) {
				t.Errorf("%s in place of %s: replaced, or something else refused", name, what)
			}
			if s.Link(t.Context(), proc.Self(), k[0]) == nil == (what != callerKey(k[1])) {
				t.Errorf("%s in place of %s: a presence was replaced, or refused", name, what)
			}
		}
	}
	if data, err := os.ReadFile(aside); err != nil || string(data) != string(valid) {
		t.Errorf("what a link leads to is %q, %v", data, err)
	}
}

// Links that somebody has written by hand, in a circle or longer than any of ours, end somewhere.
func TestLinksWrittenByHand(t *testing.T) {
	s := open(t)
	k := byKey(2 * linkHops)
	becomes(t, s, gone(1), "x")
	write := func(from, to string) {
		t.Helper()
		if err := s.writeCaller(callerKey(from), link{from, to}); err != nil {
			t.Fatal(err)
		}
	}
	write(k[0], k[2])
	write(k[2], k[1])
	write(k[1], k[0])
	s = again(t, s)
	if s.CallerOf(k[0]) != k[0] || s.CallerOf(k[2]) != k[0] {
		t.Errorf("a circle: %q, %q", s.CallerOf(k[0]), s.CallerOf(k[2]))
	}
	for i := 1; i < len(k); i++ {
		write(k[i], k[i-1])
	}
	if s = again(t, s); s.CallerOf(k[linkHops-1]) != k[0] || s.CallerOf(k[len(k)-1]) != k[len(k)-1] {
		t.Errorf("a long chain: %q, %q", s.CallerOf(k[linkHops-1]), s.CallerOf(k[len(k)-1]))
	}
}

func TestCallersThatAreNoDirectoryOfOurs(t *testing.T) {
	s := open(t)
	becomes(t, s, proc.Self(), "a", "b")
	moved := filepath.Join(t.TempDir(), "callers")
	dir := filepath.Join(s.root, callersDir)
	if err := os.Rename(dir, moved); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(moved, dir); err != nil {
		if runtime.GOOS == "windows" {
			return
		}
		t.Fatal(err)
	}
	before := snapshot(t, moved)
	if s = again(t, s); one(t, s, "a", "b") {
		t.Error("a link is followed")
	}
	if err := s.Link(t.Context(), proc.Self(), "c"); kindOf(err) != fault.Usage {
		t.Errorf("%v", err)
	}
	same(t, before, snapshot(t, moved))
}
