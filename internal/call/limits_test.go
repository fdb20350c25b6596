package call

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// configured is an environment whose config.json has this text.
func configured(t *testing.T, text string) Environment {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "opencode-delegate", "config.json")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Environment{Getenv: func(name string) string { return map[string]string{"XDG_CONFIG_HOME": dir}[name] }}
}

func TestLimits(t *testing.T) {
	env := configured(t, `{"limits": {"p": {"week": 30, "5h": 0.5}, "p/a/b": {"month": 1e3}}}`)
	limits, err := Limits(env)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range limits {
		if !strings.HasSuffix(l.Source, "config.json") {
			t.Errorf("source %q", l.Source)
		}
		got = append(got, fmt.Sprint(l.Provider, " ", l.Model, " ", l.Window, " ", l.USD))
	}
	if s := strings.Join(got, ", "); s != "p  5h 0.5, p  week 30, p a/b month 1000" {
		t.Error(s)
	}
	if limits, err := Limits(Environment{Getenv: func(string) string { return "" }}); err != nil || limits != nil {
		t.Errorf("without a file: %v, %v", limits, err)
	}
}

// A limit that is none is told by every call, in words that help.
func TestBadLimits(t *testing.T) {
	for text, want := range map[string]string{
		`{"limits": {"p": {"day": 3}}}`:           `"day" is no window; one of 5h, week, month`,
		`{"limits": {"p": {"5h": -1}}}`:           "-1 is no limit",
		`{"limits": {"p": {"5h": 0}}}`:            "0 is no limit",
		`{"limits": {"p": {"5h": 2000000}}}`:      "at most a million",
		`{"limits": {"p": {"5h": "12"}}}`:         "without quotes",
		`{"limits": {"": {"5h": 1}}}`:             "neither a provider",
		`{"limits": {"p/": {"5h": 1}}}`:           "neither a provider",
		`{"limits": {"/m": {"5h": 1}}}`:           "neither a provider",
		`{"limits": {"p": 12}}`:                   "cannot be a number",
		`{"limits": [12]}`:                        "cannot be a",
		`{"limits": {"p": {"5h": 1, "week": 0}}}`: "0 is no limit",
	} {
		env := configured(t, text)
		_, err := Limits(env)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "config.json") {
			t.Errorf("%s: %v", text, err)
		}
		if _, problems := Resolve(Flags{}, env); len(problems) == 0 || !strings.Contains(strings.Join(problems, "\n"), want) {
			t.Errorf("%s: a call says %q", text, problems)
		}
	}
}
