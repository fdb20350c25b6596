package plugin

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"
)

func TestWords(t *testing.T) {
	for in, want := range map[string][]string{
		"":                        nil,
		" \t\n":                   nil,
		"a":                       {"a"},
		"  a  b\tc\nd\u00a0e ":    {"a", "b", "c", "d", "e"},
		`'a b' "c d"`:             {"a b", "c d"},
		`a'b c'd"e f"g`:           {"ab cde fg"},
		`'' ""`:                   {"", ""},
		`"it's"`:                  {"it's"},
		`'say "x"'`:               {`say "x"`},
		`a\ b \'c d'`:             {`a\`, "b", `\c d`},
		"'a\nb'":                  {"a\nb"},
		"$(touch x) `y` ${Z} *;&": {"$(touch", "x)", "`y`", "${Z}", "*;&"},
		"--json -- -x":            {"--json", "--", "-x"},
		"‘a b’":                   {"‘a", "b’"},
		"a\x00b":                  {"a\x00b"},
	} {
		got, err := Words(in)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v, want %q", in, got, err, want)
		}
	}
	for _, in := range []string{`'`, `"`, `it's`, `'a" b`, `"a' b`, `'a' 'b`} {
		if got, err := Words(in); err == nil || got != nil {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
}

func FuzzWords(f *testing.F) {
	for _, s := range []string{"", "a b", `'a b' "c"`, `it's`, "\x00 \xff '", `"'"'"'`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		words, err := Words(s)
		if err != nil {
			return
		}
		// Nothing is added, and nothing is lost but quotes and what stands between words.
		left := func(s string) string {
			return strings.Map(func(r rune) rune {
				if unicode.IsSpace(r) || r == '\'' || r == '"' {
					return -1
				}
				return r
			}, strings.ToValidUTF8(s, "\ufffd"))
		}
		if got, want := left(strings.Join(words, "")), left(s); utf8.ValidString(s) && got != want {
			t.Errorf("%q: %q", s, words)
		}
		if !strings.ContainsAny(s, `'"`) && !slices.Equal(words, strings.Fields(s)) && utf8.ValidString(s) {
			t.Errorf("%q: %q", s, words)
		}
	})
}

// keep has the hook keep what was typed behind a command, and returns the file.
func (g *ground) keep(session, command, text string) string {
	g.t.Helper()
	in, err := json.Marshal(map[string]string{"session_id": session, "command_name": "opencode:" + command, "command_args": text})
	if err != nil {
		g.t.Fatal(err)
	}
	if c := g.text("UserPromptExpansion", string(in)); c.stdout != "" || c.stderr != "" {
		g.t.Fatalf("%+v", c)
	}
	return keptFile(filepath.Join(g.root, "state", argumentsDir), session, command)
}

func (g *ground) take(session, command string) (string, bool) {
	a := g.app(nil, io.Discard, io.Discard)
	a.Environ = append(slices.Clone(a.Environ), "CLAUDE_CODE_SESSION_ID="+session)
	return Arguments(a, command)
}

func TestArgumentsAreWhatWasTyped(t *testing.T) {
	g := newGround(t)
	for _, text := range []string{
		"", " ", "x", "it's \"q\" `touch x` $(touch x); touch x\ntouch x && a | b > c", "EOF\n```\n!`x`\nOC_END", "me@example.org", "\x00\x1b[31m\u202e", "日本語 \u2028",
		strings.Repeat("word ", 20_000), strings.Repeat("\x01", 600_000), strings.Repeat("x", argumentsLimit),
	} {
		file := g.keep("s1", "cancel", text)
		if fi, err := os.Stat(file); err != nil || fi.Mode().Perm() != 0o600 {
			t.Errorf("%v %v", fi.Mode(), err)
		}
		if got, ok := g.take("s1", "cancel"); !ok || got != text {
			t.Errorf("%.60q: %.60q, %v", text, got, ok)
		}
		if got, ok := g.take("s1", "cancel"); ok {
			t.Errorf("%.60q: taken twice: %.60q", text, got)
		}
	}
	// What is too long to be understood leaves nothing that could be taken for it either.
	g.environ = append(g.environ, "CLAUDE_CODE_SESSION_ID=s1")
	g.keep("s1", "cancel", "old")
	if c := g.text("UserPromptExpansion", `{"session_id":"s1","command_name":"opencode:cancel","command_args":"`+strings.Repeat("x", inputLimit)+`"}`); c.stderr == "" {
		t.Errorf("%+v", c)
	}
	if got, ok := g.take("s1", "cancel"); ok {
		t.Errorf("what was typed before is taken for what is too long: %q", got)
	}
	for _, in := range []string{strings.Repeat("x", argumentsLimit+1), "@x", "a (@x)", "a\n@x", "é@x", "_@"} {
		g.keep("s1", "cancel", "old")
		data, err := json.Marshal(map[string]string{"session_id": "s1", "command_name": "opencode:cancel", "command_args": in})
		if err != nil {
			t.Fatal(err)
		}
		if c := g.text("UserPromptExpansion", string(data)); c.Decision != "block" || !strings.HasSuffix(c.Reason, "; nothing was done") || strings.Contains(c.stdout, "@") {
			t.Errorf("%.60q: %+v", in, c)
		}
		if got, ok := g.take("s1", "cancel"); ok {
			t.Errorf("%.60q: what was typed before is taken for it: %q", in, got)
		}
	}
}

func TestArgumentsAreVoidSoon(t *testing.T) {
	g := newGround(t)
	for after, good := range map[time.Duration]bool{0: true, 59 * time.Second: true, 61 * time.Second: false, -4 * time.Second: true, -time.Minute: false} {
		file := g.keep("s1", "status", "x")
		now := g.now
		g.now = now.Add(after)
		if _, ok := g.take("s1", "status"); ok != good {
			t.Errorf("after %v: %v", after, ok)
		}
		if _, err := os.Lstat(file); !os.IsNotExist(err) {
			t.Errorf("after %v it is still there: %v", after, err)
		}
		g.now = now
	}
}

func TestArgumentsOfOthers(t *testing.T) {
	g := newGround(t)
	g.keep("s1", "cancel", "mine")
	for _, c := range [][2]string{{"s2", "cancel"}, {"s1", "status"}, {"", "cancel"}, {"shell", "cancel"}, {"s1\n", "cancel"}} {
		if got, ok := g.take(c[0], c[1]); ok {
			t.Errorf("%q: %q", c, got)
		}
	}
	// A file is believed only where it says itself whose it is.
	file := g.keep("s1", "cancel", "mine")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(file)
	for name, text := range map[string]string{
		keptFile(dir, "s2", "cancel"): string(data),
		keptFile(dir, "s1", "status"): string(data),
		keptFile(dir, "s1", "result"): `{"session":"s1","command":"result","text":"x"}`,
		keptFile(dir, "s3", "result"): "no JSON",
		keptFile(dir, "s4", "result"): strings.Repeat("x", keptLimit+1),
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range [][2]string{{"s2", "cancel"}, {"s1", "status"}, {"s1", "result"}, {"s3", "result"}, {"s4", "result"}} {
		if got, ok := g.take(c[0], c[1]); ok {
			t.Errorf("%q: %.60q", c, got)
		}
	}
	elsewhere := filepath.Join(g.root, "elsewhere")
	if err := os.Rename(file, elsewhere); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, file); err != nil {
		t.Fatal(err)
	}
	if got, ok := g.take("s1", "cancel"); ok {
		t.Errorf("a link: %q", got)
	}
}

// TestArgumentsAreTakenOnce: of many who take at once one gets them.
func TestArgumentsAreTakenOnce(t *testing.T) {
	g := newGround(t)
	for range 50 {
		g.keep("s1", "cancel", "x")
		var got atomic.Int32
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if _, ok := g.take("s1", "cancel"); ok {
					got.Add(1)
				}
			})
		}
		wg.Wait()
		if got.Load() != 1 {
			t.Fatalf("%d got them", got.Load())
		}
	}
}

// TestTheEndOfASessionTouchesItsArgumentsOnly, and makes nothing.
func TestTheEndOfASessionTouchesItsArgumentsOnly(t *testing.T) {
	g := newGround(t)
	if c := g.text("SessionEnd", `{"session_id":"s1","reason":"other"}`); c.stderr != "" {
		t.Errorf("%+v", c)
	}
	if _, err := os.Stat(filepath.Join(g.root, "state")); !os.IsNotExist(err) {
		t.Errorf("a state directory was made: %v", err)
	}
	mine, theirs := g.keep("s1", "cancel", "x"), g.keep("s2", "cancel", "y")
	if c := g.text("SessionEnd", `{"session_id":"s1","reason":"other"}`); c.stdout+c.stderr != "" {
		t.Errorf("%+v", c)
	}
	for file, there := range map[string]bool{mine: false, theirs: true} {
		if _, err := os.Stat(file); (err == nil) != there {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// TestNothingIsKeptOfOtherCommands: neither of the host's own nor of other plugins'.
func TestNothingIsKeptOfOtherCommands(t *testing.T) {
	g := newGround(t)
	for _, name := range []string{"opencode:delegate", "opencode:setup", "status", "other:status", "opencode:", "opencode:../x", "Opencode:status", ""} {
		if c := g.text("UserPromptExpansion", fmt.Sprintf(`{"session_id":"s1","command_name":%q,"command_args":"@x"}`, name)); c.stdout+c.stderr != "" {
			t.Errorf("%s: %+v", name, c)
		}
	}
	if _, err := os.Stat(filepath.Join(g.root, "state")); !os.IsNotExist(err) {
		t.Errorf("something was kept: %v", err)
	}
}
