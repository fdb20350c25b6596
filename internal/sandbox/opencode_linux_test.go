package sandbox

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"opencode-delegate/internal/permission"
	"opencode-delegate/internal/realopencode"
	"opencode-delegate/internal/testmodel"
)

// A call is one step of the scripted model: a tool with its arguments, or the steps of a named scenario.
type call struct {
	Tool string         `json:"tool,omitempty"`
	Args map[string]any `json:"args,omitempty"`
	Do   string         `json:"do,omitempty"`
}

func bash(command string) call { return use("bash", "command", command, "description", "attempt") }

func use(tool string, pairs ...string) call {
	args := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		args[pairs[i]] = pairs[i+1]
	}
	return call{Tool: tool, Args: args}
}

// A report is what a real run did.
type report struct {
	tools  []toolUse
	text   string
	stderr string
	exit   int
	asked  []testmodel.Request
	took   time.Duration
}

type toolUse struct {
	Tool  string
	State struct {
		Status, Output, Error string
		Input                 json.RawMessage
	}
}

func (u toolUse) String() string {
	return fmt.Sprintf("%s %s %.150s -> %.300q %.300q", u.Tool, u.State.Status, u.State.Input, u.State.Output, u.State.Error)
}

// opencode runs the real opencode in the project with the scripted calls. wrap puts a sandbox around its command, or none.
func (b bench) opencode(t *testing.T, profile permission.Profile, policy *Policy, calls []call, environ ...string) report {
	t.Helper()
	model, err := testmodel.Start(testmodel.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	config := filepath.Join(b.run.Tmp, "opencode-of-the-user.json")
	if err := os.WriteFile(config, model.Config(), 0o600); err != nil {
		t.Fatal(err)
	}
	agent := permission.AgentName("0123456789abcdef")
	argv := []string{realopencode.Path(t), "run", "--format", "json", "--print-logs", "--log-level", "INFO", "--title", "T",
		"--auto", "--agent", agent, "-m", "mock/worker"}
	var wrap []string
	if policy != nil {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		if argv, wrap, err = policy.Command(self, argv); err != nil {
			t.Fatal(err)
		}
	}
	script, err := json.Marshal(append(slices.Clone(anys(calls)), map[string]string{"text": "ALL STEPS DONE"}))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = b.run.Dir
	cmd.Env = slices.Concat(realopencode.Environ(b.run.Home), environ, wrap, []string{
		"TMPDIR=" + b.run.Tmp, "PWD=" + b.run.Dir, "OPENCODE_CONFIG=" + config,
		"OPENCODE_CONFIG_CONTENT=" + string(permission.Config(profile, []string{agent}, b.run.Tmp)),
		"OPENCODE_PERMISSION=" + permission.Env(profile, b.run.Tmp),
	})
	cmd.Stdin = strings.NewReader("[[mock:" + string(script) + "]]")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	start := time.Now()
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	r := report{stderr: errs.String(), exit: cmd.ProcessState.ExitCode(), asked: model.Requests(), took: time.Since(start)}
	for line := range strings.Lines(out.String()) {
		var e struct {
			Type string
			Part struct {
				toolUse
				Text string
			}
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("stdout line %.200q: %v", line, err)
		}
		switch e.Type {
		case "tool_use":
			r.tools = append(r.tools, e.Part.toolUse)
		case "text":
			r.text += e.Part.Text
		}
	}
	if ctx.Err() != nil {
		t.Fatalf("the run did not end; stderr ends with %s", tail(r.stderr))
	}
	return r
}

func anys(calls []call) []any {
	var list []any
	for _, c := range calls {
		list = append(list, c)
	}
	return list
}

func tail(s string) string { return s[max(0, len(s)-3000):] }

// snapshot is everything below root but what lies in the directories that opencode owns: mode, size, time and content.
func snapshot(t *testing.T, root string, but ...string) map[string]string {
	t.Helper()
	seen := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains(but, path) {
			return fs.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		line := fmt.Sprint(info.Mode(), " ", info.ModTime().UnixNano())
		if info.Mode().IsRegular() {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			line += fmt.Sprintf(" %x", sha256.Sum256(text))
		}
		seen[path] = line
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

// changes lists what differs between two snapshots.
func changes(before, after map[string]string) []string {
	var list []string
	for path, line := range after {
		if old, ok := before[path]; !ok {
			list = append(list, "added "+path)
		} else if old != line {
			list = append(list, "changed "+path)
		}
	}
	for path := range before {
		if _, ok := after[path]; !ok {
			list = append(list, "deleted "+path)
		}
	}
	slices.Sort(list)
	return list
}

// find returns what became of the first use of a tool whose input holds a text.
func (r report) find(t *testing.T, tool, input string) toolUse {
	t.Helper()
	for _, u := range r.tools {
		if u.Tool == tool && strings.Contains(string(u.State.Input), input) {
			return u
		}
	}
	t.Fatalf("no use of %s with %q in %v; stderr ends with %s", tool, input, r.tools, tail(r.stderr))
	return toolUse{}
}

// owned are the directories that a run may write, and that a comparison therefore leaves out.
func (b bench) owned() []string {
	return []string{b.run.Opencode.Data, b.run.Opencode.Cache, b.run.Opencode.State, b.run.Tmp}
}
