package plugin

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"opencode-delegate/internal/cli"
	"opencode-delegate/internal/redact"
)

// A called is a hook that was run in this process.
type called struct {
	exit           int
	stdout, stderr string
	answer
}

// A ground is a machine without opencode, on which hooks are run.
type ground struct {
	t       *testing.T
	root    string
	environ []string
	now     time.Time
}

func newGround(t *testing.T, environ ...string) *ground {
	t.Helper()
	root := t.TempDir()
	project := filepath.Join(root, "project")
	if err := os.Mkdir(project, 0o755); err != nil {
		t.Fatal(err)
	}
	return &ground{t, root, append([]string{"OC_DELEGATE_STATE=" + filepath.Join(root, "state"), "CLAUDE_PROJECT_DIR=" + project, "PATH=/nowhere"}, environ...), time.Now()}
}

func (g *ground) app(in io.Reader, stdout, stderr io.Writer) *cli.App {
	a := cli.New("oc-job", func(w io.Writer, name string) func(string) {
		return func(line string) { io.WriteString(w, name+": "+line+"\n") }
	}).Redirected(stdout, stderr)
	a.Stdin, a.Environ, a.Home, a.Cwd = in, g.environ, filepath.Join(g.root, "home"), filepath.Join(g.root, "project")
	a.Secrets, a.Now = redact.New(g.environ), func() time.Time { return g.now }
	return a
}

// hook runs one, and checks what holds for every one.
func (g *ground) hook(event string, in io.Reader) called {
	g.t.Helper()
	var stdout, stderr bytes.Buffer
	c := called{exit: Hook(g.app(in, &stdout, &stderr), event)}
	c.stdout, c.stderr = stdout.String(), stderr.String()
	if strings.Count(c.stderr, "\n") > 1 {
		g.t.Errorf("%s says more than a line: %q", event, c.stderr)
	}
	if c.exit != 0 && (c.exit != 2 || event != "PreToolUse" || c.stdout != "" || c.stderr == "") {
		g.t.Errorf("%s: exit %d, stdout %q, stderr %q", event, c.exit, c.stdout, c.stderr)
	}
	if c.stdout != "" {
		if err := json.Unmarshal(stdout.Bytes(), &c.answer); err != nil || strings.Count(c.stdout, "\n") != 1 {
			g.t.Errorf("%s answers %q: %v", event, c.stdout, err)
		}
	}
	return c
}

func (g *ground) text(event, in string) called {
	g.t.Helper()
	return g.hook(event, strings.NewReader(in))
}

// TestRecordedInputs: what both versions of Claude Code gave their hooks is understood.
func TestRecordedInputs(t *testing.T) {
	for _, version := range []string{"oldest", "newest"} {
		g := newGround(t, "OC_DELEGATE_OPENCODE=/bin/sh", "CLAUDE_PLUGIN_OPTION_POLICY_TEXT=true")
		given := func(name string) io.Reader {
			data, err := os.ReadFile(filepath.Join("testdata/hooks", version, name+".json"))
			if err != nil {
				t.Fatal(err)
			}
			return bytes.NewReader(data)
		}
		for name, policy := range map[string]bool{"startup": true, "clear": true, "compact": true, "resume": false} {
			c := g.hook("SessionStart", given("session_start_"+name))
			if (c.Specific != nil && c.Specific.Context == policyText) != policy || c.SystemMessage != "" || c.stderr != "" {
				t.Errorf("%s %s: %+v", version, name, c)
			}
		}
		for _, name := range []string{"prompt", "prompt_command", "prompt_wake"} {
			if c := g.hook("UserPromptSubmit", given(name)); c.stdout != "" || c.stderr != "" {
				t.Errorf("%s %s: %+v", version, name, c)
			}
		}
		if c := g.hook("UserPromptExpansion", given("expansion_status")); c.Decision != "block" || !strings.HasSuffix(c.Reason, "; nothing was done") || c.stderr != "" {
			t.Errorf("%s: a live mention: %+v", version, c)
		}
		data, err := io.ReadAll(given("expansion_result"))
		if err != nil {
			t.Fatal(err)
		}
		var in input
		if err := json.Unmarshal(data, &in); err != nil {
			t.Fatal(err)
		}
		if c := g.hook("UserPromptExpansion", bytes.NewReader(data)); c.stdout != "" || c.stderr != "" {
			t.Errorf("%s: %+v", version, c)
		}
		g.environ = append(g.environ, "CLAUDE_CODE_SESSION_ID="+in.Session)
		if text, ok := Arguments(g.app(nil, io.Discard, io.Discard), "result"); !ok || text != "now" {
			t.Errorf("%s: kept %q, %v", version, text, ok)
		}
		for name, want := range map[string]string{"tool_bash": "", "tool_agent": "", "tool_subagent": "deny"} {
			c := g.hook("PreToolUse", given(name))
			if got := c.permission(); got != want || c.stderr != "" {
				t.Errorf("%s %s: %q %+v", version, name, got, c)
			}
		}
		for _, name := range []string{"clear", "other", "prompt_input_exit"} {
			if c := g.hook("SessionEnd", given("session_end_"+name)); c.stdout != "" || c.stderr != "" {
				t.Errorf("%s %s: %+v", version, name, c)
			}
		}
	}
}

func (c called) permission() string {
	if c.Specific == nil {
		return ""
	}
	return c.Specific.Permission
}

// broken is a standard input that ends with an error.
type broken struct{ io.Reader }

func (b broken) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF {
		err = errors.New("the socket is gone")
	}
	return n, err
}

// TestWhatCannotBeUnderstoodStopsTheSubagentOnly: also where the input is longer than what is read of it.
func TestWhatCannotBeUnderstoodStopsTheSubagentOnly(t *testing.T) {
	const mark = `"agent_type":"opencode:opencode-delegate"`
	long := strings.Repeat("x", inputLimit)
	g := newGround(t)
	for _, c := range []struct {
		name, in string
		exit     int
	}{
		{"nothing", "", 0},
		{"no JSON", "oc-delegate", 0},
		{"cut", `{"session_id":"s1",` + mark + `,"tool_na`, 2},
		{"cut, another agent", `{"session_id":"s1","agent_type":"opencode:other","tool_na`, 0},
		{"blanks", "{ \"agent_type\"\t:\n \"opencode:opencode-delegate\", x", 2},
		{"quoted in a text", `{"tool_input":{"command":"x ` + strings.ReplaceAll(mark, `"`, `\"`) + `"}, x`, 0},
		{"half a surrogate pair", `{` + mark + `,"tool_name":"Bash","tool_input":{"command":"oc-delegate \ud800"}}`, 2},
		{"twice", `{` + mark + `,"tool_name":"Bash","tool_name":"Write","tool_input":{"command":"oc-job list"}}`, 2},
		{"another type", `{"agent_type":"","tool_name":"Bash","tool_input":{"command":"oc-job list"},` + mark + `}`, 2},
		{"a list", `[{` + mark + `}]`, 2},
		{"two values", `{` + mark + `} {}`, 2},
		{"no command", `{` + mark + `,"tool_name":"Bash","tool_input":null}`, 0},
		{"a number", `{` + mark + `,"tool_name":"Bash","tool_input":{"command":7}}`, 2},
		{"long, the mark before", `{` + mark + `,"tool_input":{"content":"` + long + `"}}`, 2},
		{"long, the mark behind", `{"tool_input":{"content":"` + long + `"},` + mark + `}`, 2},
		{"long, the mark far behind", `{"tool_input":{"content":"` + long + strings.Repeat("y", 300_000) + `"},` + mark + `}`, 2},
		{"long, another agent", `{"tool_input":{"content":"` + long + `"},"agent_type":"x"}`, 0},
	} {
		got := g.text("PreToolUse", c.in)
		if got.exit != c.exit || got.permission() == "allow" {
			t.Errorf("%s: exit %d, want %d: %+v", c.name, got.exit, c.exit, got.stderr)
		}
		if c.exit == 0 && c.name != "no command" && got.stdout != "" {
			t.Errorf("%s: %s", c.name, got.stdout)
		}
		for _, event := range []string{"SessionStart", "UserPromptSubmit", "UserPromptExpansion", "SessionEnd"} {
			g.text(event, c.in)
		}
	}
	if got := g.hook("PreToolUse", broken{strings.NewReader(`{` + mark + `,"tool_name":"Bash","tool_input":{"command":"oc-job list"}}`)}); got.exit != 2 {
		t.Errorf("a broken input: exit %d", got.exit)
	}
	// The mark across the border of what is held of the rest.
	for _, before := range []int{60_000, 63 << 10, 64<<10 - 20, 64<<10 - 1<<10 - 20} {
		in := `{"x":"` + long + strings.Repeat("y", before) + `",` + mark + `}`
		if got := g.text("PreToolUse", in); got.exit != 2 {
			t.Errorf("%d bytes before the mark: exit %d", before, got.exit)
		}
	}
}

// TestAMistakeOfOursFailsLikeAnyOther: a panic stops the subagent, and nobody else.
func TestAMistakeOfOursFailsLikeAnyOther(t *testing.T) {
	g := newGround(t)
	in := `{"session_id":"s1","cwd":"/","tool_name":"Bash","tool_input":{"command":"oc-job list"}`
	for _, c := range []struct {
		in   string
		exit int
	}{{in + `}`, 0}, {in + `,"agent_type":"opencode:opencode-delegate"}`, 2}} {
		var stderr bytes.Buffer
		a := g.app(strings.NewReader(c.in), nil, &stderr) // nothing to print on
		if got := Hook(a, "PreToolUse"); got != c.exit || strings.Count(stderr.String(), "\n") > 1 {
			t.Errorf("exit %d, want %d: %s", got, c.exit, stderr.String())
		}
	}
}

func TestInTime(t *testing.T) {
	if err := inTime(20*time.Millisecond, func() error { select {} }); err == nil {
		t.Error("what never ends has no error")
	}
	if err := inTime(time.Minute, func() error { panic("x") }); err == nil {
		t.Error("a panic is no error")
	}
	if err := inTime(time.Minute, func() error { return nil }); err != nil {
		t.Error(err)
	}
}

// TestAJudgementThatHangsStopsTheSubagent: here it is the answer that nobody reads.
func TestAJudgementThatHangsStopsTheSubagent(t *testing.T) {
	t.Parallel()
	g := newGround(t)
	var stderr bytes.Buffer
	_, unread := io.Pipe()
	in := `{"session_id":"s1","cwd":"/","agent_type":"opencode:opencode-delegate","tool_name":"Bash","tool_input":{"command":"ls"}}`
	if exit := Hook(g.app(strings.NewReader(in), unread, &stderr), "PreToolUse"); exit != 2 || strings.Count(stderr.String(), "\n") != 1 {
		t.Errorf("exit %d: %s", exit, stderr.String())
	}
}

func FuzzInput(f *testing.F) {
	files, err := filepath.Glob("testdata/hooks/*/*.json")
	if err != nil || len(files) == 0 {
		f.Fatal(len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for i := range Events[:5] {
			f.Add(i, data)
		}
	}
	f.Fuzz(func(t *testing.T, event int, data []byte) {
		g := newGround(t, "CLAUDE_PLUGIN_OPTION_NUDGE=true")
		c := g.hook(Events[max(event, -event)%5], bytes.NewReader(data))
		if c.permission() == "allow" && !bytes.Contains(data, []byte("oc-")) && !bytes.Contains(data, []byte(`\u`)) {
			t.Errorf("allowed: %q", data)
		}
		if len(c.stdout) > 20_000 {
			t.Errorf("%d bytes", len(c.stdout))
		}
	})
}
