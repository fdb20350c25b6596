package call

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{"300s": 300 * time.Second, "10m": 10 * time.Minute, "2h": 2 * time.Hour, "90": 90 * time.Second, "0090": 90 * time.Second, "1": time.Second} {
		if got, err := parseDuration(text, false); got != want || err != nil {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "m", "s", "10ms", "10.5m", "1.5", "-1", "+1", " 1", "1 ", "10M", "1d", "0x10", "1_0", "1e3", "٣", "0", "0s", "0h", "2562048h", "9223372036854775807", "99999999999999999999999"} {
		if got, err := parseDuration(text, false); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
	if got, err := parseDuration("0", true); got != 0 || err != nil {
		t.Errorf("0 where it is allowed: %v, %v", got, err)
	}
}

func FuzzDuration(f *testing.F) {
	f.Add("10m")
	f.Add("9223372036h")
	f.Fuzz(func(t *testing.T, text string) {
		if d, err := parseDuration(text, false); err == nil && (d <= 0 || d%time.Second != 0) {
			t.Errorf("%q: %v", text, d)
		}
	})
}

func TestAmounts(t *testing.T) {
	for _, text := range []string{"-1", "NaN", "Inf", "1e999", "", "x", "$1"} {
		if v, err := parseCost(text); err == nil {
			t.Errorf("cost %q: %v", text, v)
		}
	}
	if v, err := parseCost("0.25"); v != 0.25 || err != nil {
		t.Errorf("%v, %v", v, err)
	}
	for _, text := range []string{"499", "1.5", "x", "", "9223372036854775808"} {
		if v, err := parseCount(text, 500); err == nil {
			t.Errorf("count %q: %v", text, v)
		}
	}
}

// env is a user's machine with nothing set.
func env(t *testing.T, vars ...string) Environment {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return Environment{Home: dir, Cwd: dir, Getenv: func(name string) string {
		for _, v := range vars {
			if k, value, _ := strings.Cut(v, "="); k == name {
				return value
			}
		}
		return ""
	}}
}

func once(text string) Once { return Once{text, true} }

func TestResolve(t *testing.T) {
	e := env(t, "CLAUDE_CODE_SESSION_ID=abc", "OC_DELEGATE_TIMEOUT=7m")
	os.WriteFile(filepath.Join(e.Cwd, "f"), nil, 0o600)
	c, problems := Resolve(Flags{Task: []string{"do", "-"}, GrantFlags: GrantFlags{Write: true}, File: []string{"f"}, Digest: true, LimitFlags: LimitFlags{MaxTokens: once("5")}}, e)
	r := c.Request
	if len(problems) > 0 || r.Profile != "standard" || r.Caller != "abc" || time.Duration(r.Timeout) != 7*time.Minute || r.MaxTokens != 5 || r.DigestLimit != 4000 ||
		r.Files[0] != filepath.Join(e.Cwd, "f") || r.Dir != e.Cwd || c.Prompt.Text != "do" || !c.Prompt.Stdin || time.Duration(r.Grace) != 3*time.Second {
		t.Errorf("%+v, %q", c, problems)
	}
	if c, _ := Resolve(Flags{Task: []string{"x"}}, env(t, "CLAUDE_CODE_SESSION_ID=a\x1bb")); c.Request.Caller != "shell" {
		t.Errorf("caller %q", c.Request.Caller)
	}
	if c, _ := Resolve(Flags{Task: []string{"x"}, AnswerFlags: AnswerFlags{DigestLimit: once("99999999999")}}, env(t)); c.Request.DigestLimit <= 0 || c.Request.DigestLimit > math.MaxInt32 {
		t.Errorf("limit %d", c.Request.DigestLimit)
	}
}

func TestWordsThatBecomeArguments(t *testing.T) {
	for s, want := range map[string]bool{"build": true, "my agent": true, "a/b:c@1.2+x_y-z": true, "ägent": true, "": false, "-x": false, "a\nb": false, "a;b": false, "$(id)": false, strings.Repeat("a", 129): false} {
		if isWord(s) != want {
			t.Errorf("isWord(%q) is %v", s, !want)
		}
	}
	for s, want := range map[string]bool{"A_1": true, "_x": true, "1A": false, "": false, "A=B": false, "A B": false} {
		if isEnvName(s) != want {
			t.Errorf("isEnvName(%q) is %v", s, !want)
		}
	}
}

func TestPromptsThatAskForChanges(t *testing.T) {
	var got []string
	all := []string{"Implement the parser", "create x.go", "fix the failing tests", "please write a file with notes", "Where is the retry limit set?", "Summarise what this changes", "How would you fix it?"}
	for _, p := range all {
		if LooksLikeWriting(p) {
			got = append(got, p)
		}
	}
	if !slices.Equal(got, all[:4]) {
		t.Errorf("%q", got)
	}
}
