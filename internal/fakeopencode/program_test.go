package fakeopencode

import (
	"encoding/json"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"opencode-delegate/internal/realopencode"
)

func TestPlainAnswer(t *testing.T) {
	b := newBox(t)
	r := b.run(20*time.Second, "the prompt", []string{"MY=value"}, "run", "--format", "json", "--title", "T", "-m", "mock/worker", "--dir", b.dir)
	if r.exit != nil || r.kinds() != "step_start text step_finish" || r.reason() != "stop" {
		t.Errorf("exit %v, kinds %q, stderr %q", r.exit, r.kinds(), r.stderr)
	}
	var logged struct {
		Argv       []string
		Cwd        string
		Env        map[string]string
		Stdin      string
		StdinBytes int `json:"stdin_bytes"`
	}
	if err := json.Unmarshal([]byte(read(t, b.log)), &logged); err != nil {
		t.Fatal(err)
	}
	if logged.Stdin != "the prompt" || logged.StdinBytes != 10 || logged.Env["MY"] != "value" || logged.Argv[0] != "run" {
		t.Errorf("log: %+v", logged)
	}
}

func TestWrongCalls(t *testing.T) {
	b := newBox(t)
	for _, c := range []struct {
		stdin string
		args  []string
		want  string
	}{
		{"", nil, "You must provide a message"},
		{"x", []string{"--dir", "/nonexistent"}, "Failed to change directory to /nonexistent"},
		{"x", []string{"-f", "nofile.txt"}, "File not found: nofile.txt"},
		{"x", []string{"-s", "ses_none"}, "Session not found"},
	} {
		if r := b.run(20*time.Second, c.stdin, nil, append([]string{"run", "--format", "json"}, c.args...)...); r.code() != 1 || !strings.Contains(r.stderr, c.want) {
			t.Errorf("%v: exit %d, stderr %q", c.args, r.code(), r.stderr)
		}
	}
	if r := b.fake("", "-m", "text"); r.code() != 1 || r.kinds() != "error" {
		t.Errorf("a model without a slash: exit %d %q", r.code(), r.kinds())
	}
	if r := b.fake("", "--agent", "bogus"); r.code() != 0 || !strings.Contains(r.stderr, "Falling back to default agent") {
		t.Errorf("an unknown agent: exit %d, stderr %q", r.code(), r.stderr)
	}
}

func TestPromptIsJoinedAsTheRealOneDoes(t *testing.T) {
	for _, c := range []struct {
		args  []string
		stdin string
		want  string
	}{
		{[]string{`say "hi"`}, "", `"say \"hi\""`},
		{[]string{"a", "b"}, "c\n", "a b\nc"},
		{nil, "--x `y`\n", "--x `y`"},
	} {
		if got := joinPrompt(c.args, []byte(c.stdin)); got != c.want {
			t.Errorf("joinPrompt(%q, %q) = %q, want %q", c.args, c.stdin, got, c.want)
		}
	}
}

func TestSessions(t *testing.T) {
	b := newBox(t)
	id := b.fake("ok", "--title", "First").session(t)
	if !strings.HasPrefix(id, "ses_") {
		t.Fatalf("session %q", id)
	}
	if got := b.fake("ok", "-s", id).session(t); got != id {
		t.Errorf("-s: session %s", got)
	}
	if got := b.fake("ok", "-s", id, "--fork").session(t); got == id {
		t.Error("--fork kept the session")
	}
	list := b.run(20*time.Second, "", nil, "session", "list", "--format", "json")
	if !strings.Contains(list.stdout, id) || !strings.Contains(list.stdout, `"title": "First"`) {
		t.Errorf("session list: %s", list.stdout)
	}
	if r := b.run(20*time.Second, "", nil, "export", id); !strings.Contains(r.stdout, b.dir) {
		t.Errorf("export: %s", r.stdout)
	}
	// Another directory's session: nothing is printed, for ever.
	if r := b.run(time.Second, "x", nil, "run", "--format", "json", "-s", id, "--dir", b.home); !r.timedOut || r.stdout != "" {
		t.Errorf("foreign session: %+v", r)
	}
	for mode, want := range map[string][2]bool{"digest-on-ask": {false, true}, "digest-never": {false, false}} {
		first := b.fake(mode)
		second := b.run(20*time.Second, "the block "+digestMark, []string{"OC_FAKE=" + mode}, "run", "--format", "json", "-s", first.session(t))
		if got := [2]bool{strings.Contains(first.stdout, digestMark), strings.Contains(second.stdout, digestMark)}; got != want {
			t.Errorf("%s: %v, want %v", mode, got, want)
		}
	}
}

func TestVersionsDiffer(t *testing.T) {
	b := newBox(t)
	for _, c := range []struct {
		version       string
		auto, dir     bool
		usageOnStderr bool // of a call with an unknown flag
	}{{"1.18.33", true, true, true}, {"1.2.27", false, true, false}, {"1.0.0", false, false, false}} {
		env := []string{"OC_FAKE_VERSION=" + c.version}
		if r := b.run(20*time.Second, "", env, "--version"); strings.TrimSpace(r.stdout) != c.version {
			t.Errorf("--version: %q", r.stdout)
		}
		help := b.run(20*time.Second, "", env, "run", "--help")
		if has := slices.Contains(flagsIn(help.stdout), "auto"); has != c.auto {
			t.Errorf("%s has --auto: %v", c.version, has)
		}
		if has := slices.Contains(flagsIn(help.stdout), "dir"); has != c.dir {
			t.Errorf("%s has --dir: %v", c.version, has)
		}
		r := b.run(20*time.Second, "x", env, "run", "--nonsense")
		if r.code() != 1 || (r.stderr != "") != c.usageOnStderr || (r.stdout == "") != c.usageOnStderr {
			t.Errorf("%s, unknown flag: exit %d, stdout %d bytes, stderr %d bytes", c.version, r.code(), len(r.stdout), len(r.stderr))
		}
	}
}

// TestRealHasTheSameFlags holds the fake to the pinned program.
func TestRealHasTheSameFlags(t *testing.T) {
	cmd := exec.Command(realopencode.Path(t), "run", "--help")
	cmd.Dir = t.TempDir()
	cmd.Env = realopencode.Environ(t.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := flagsIn(usage(versions[0])), flagsIn(string(out)); !slices.Equal(got, want) {
		t.Errorf("flags:\n fake %v\n real %v", got, want)
	}
	if versions[0] != realopencode.Version(t) {
		t.Errorf("the fake is %s, pinned is %s", versions[0], realopencode.Version(t))
	}
}

func flagsIn(help string) []string {
	var names []string
	for _, m := range regexp.MustCompile(`(?m)^\s+(?:-[a-z], )?--([a-z-]+)`).FindAllStringSubmatch(help, -1) {
		names = append(names, m[1])
	}
	slices.Sort(names)
	return names
}

func TestQueries(t *testing.T) {
	b := newBox(t)
	for _, c := range []struct {
		args []string
		want string
		code int
	}{
		{[]string{"models"}, "opencode-go/deepseek-v4-flash\n", 0},
		{[]string{"models", "nope"}, "", 1},
		{[]string{"agent", "list"}, "build (primary)", 0},
		{[]string{"debug", "agent", "plan"}, `"name": "plan"`, 0},
		{[]string{"debug", "agent", "bogus"}, "", 1},
		{[]string{"debug", "paths"}, "data ", 0},
		{[]string{"export", "ses_nope"}, "", 1},
	} {
		if r := b.run(20*time.Second, "", nil, c.args...); r.code() != c.code || !strings.Contains(r.stdout, c.want) {
			t.Errorf("%v: exit %d, %q %q", c.args, r.code(), r.stdout, r.stderr)
		}
	}
}
