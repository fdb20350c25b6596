package plugin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"opencode-delegate/internal/job"
	"opencode-delegate/internal/realclaude"
	"opencode-delegate/internal/realopencode"
	"opencode-delegate/internal/testanthropic"
	"opencode-delegate/internal/testmodel"
)

// A machine is a user's: the real Claude Code and the real opencode, each with a scripted model behind it, a project under git, and the plugin, installed from a
// release folder as a user installs it.
type machine struct {
	*realclaude.Place
	t     *testing.T
	model *testmodel.Server
	state string // the state directory of the jobs
}

// release is a release folder for this platform, built once for all tests.
var release = sync.OnceValues(func() (string, error) {
	root, err := realopencode.Root(".")
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", releases())
	if err != nil {
		return "", err
	}
	cmd := exec.Command(filepath.Join(root, "scripts", "plugin"), dir)
	cmd.Env = append(os.Environ(), "PLATFORM=host")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", &exec.Error{Name: string(out), Err: err}
	}
	return dir, nil
})

// bare is a machine on which the plugin is not installed. config is what the user adds to the environment.
func bare(t *testing.T, c realclaude.Claude, config ...string) *machine {
	t.Helper()
	p := realclaude.New(t, c, "")
	model, err := testmodel.Start(testmodel.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { model.Close() })
	m := &machine{Place: p, t: t, model: model, state: filepath.Join(p.Root, "state")}
	p.Write("project/a.txt", "hello\n")
	p.Write("home/.config/opencode/keep", "")
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"config", "user.name", "t"}, {"config", "user.email", "t@example.org"}, {"add", "."}, {"commit", "-q", "-m", "one"}} {
		m.git(args...)
	}
	// What Claude Code hands on to opencode; its own settings are below the place already.
	for _, kv := range realopencode.Environ(filepath.Join(p.Root, "home")) {
		if strings.HasPrefix(kv, "OPENCODE_") {
			p.Extra = append(p.Extra, kv)
		}
	}
	p.Extra = append(p.Extra, "OPENCODE_CONFIG="+p.Write("opencode.json", string(model.Config())), "OC_DELEGATE_STATE="+m.state,
		"OC_DELEGATE_OPENCODE="+realopencode.Path(t))
	p.Extra = append(p.Extra, config...)
	return m
}

// worker makes the scripted model the worker of every delegation.
const worker = "OC_DELEGATE_MODEL=mock/worker"

// installed is a machine with the plugin. What the tests leave running is ended with it.
func installed(t *testing.T, c realclaude.Claude, config ...string) *machine {
	t.Helper()
	m := bare(t, c, config...)
	m.Install(context.Background(), m.copyRelease(), "opencode@opencode-delegate")
	return m
}

// copyRelease makes a copy of the release folder that is this machine's own: a directory marketplace runs from where it lies.
func (m *machine) copyRelease() string {
	m.t.Helper()
	from, err := release()
	if err != nil {
		m.t.Fatal(err)
	}
	to := filepath.Join(m.Root, "release")
	if out, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
		m.t.Fatalf("%v: %s", err, out)
	}
	return to
}

func (m *machine) git(args ...string) string {
	m.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = m.Project, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		m.t.Fatalf("git %v: %v: %s", args, err, out)
	}
	return string(out)
}

// job runs the plugin's own oc-job as a person at a shell does.
func (m *machine) job(args ...string) (stdout string, exit int) {
	m.t.Helper()
	cmd := exec.Command(filepath.Join(m.Root, "release", "bin", "oc-job"), args...)
	cmd.Dir, cmd.Env = m.Project, m.Env()
	out, _ := cmd.Output() // the exit code tells
	return string(out), cmd.ProcessState.ExitCode()
}

// jobs are all jobs of the machine, the newest first.
func (m *machine) jobs() (list []struct {
	ID     string    `json:"id"`
	State  job.Phase `json:"state"`
	Caller string    `json:"caller"`
}) {
	m.t.Helper()
	out, exit := m.job("list", "--all", "--json")
	if exit != 0 || json.Unmarshal([]byte(out), &list) != nil {
		m.t.Fatalf("list: exit %d: %s", exit, out)
	}
	return list
}

// only is the one job that there is.
func (m *machine) only() string {
	m.t.Helper()
	list := m.jobs()
	if len(list) != 1 {
		m.t.Fatalf("%d jobs, want 1: %+v", len(list), list)
	}
	return list[0].ID
}

// ended is a job that a person has started at a shell and that has ended well.
func (m *machine) ended(task string) string {
	m.t.Helper()
	out, exit := m.job("start", task)
	id := strings.TrimSpace(out)
	if exit != 0 {
		m.t.Fatalf("exit %d", exit)
	}
	if out, exit := m.job("wait", "--timeout", "300s", id); exit != 0 {
		m.t.Fatalf("exit %d, %s", exit, out)
	}
	return id
}

// until waits for a condition.
func (m *machine) until(what string, limit time.Duration, done func() bool) {
	m.t.Helper()
	for end := time.Now().Add(limit); !done(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			m.t.Fatalf("not in %v: %s", limit, what)
		}
	}
}

// exists reports whether a file is in the project.
func (m *machine) exists(name string) bool {
	_, err := os.Stat(filepath.Join(m.Project, name))
	return err == nil
}

var spoken = regexp.MustCompile(`"text":"[A-Za-z]`)

// say is what the scripted Claude does: steps of a directive, which has no other form in these tests.
func say(steps ...map[string]any) string {
	text, err := json.Marshal(steps)
	if err != nil {
		panic(err) // maps of strings
	}
	// A terminal shows the prompt: what the model says stands there in another form, so that it is found only where the model has said it.
	return "[[claude:" + spoken.ReplaceAllStringFunc(string(text), func(s string) string { return fmt.Sprintf("%s\\u%04x", s[:len(s)-1], s[len(s)-1]) }) + "]]"
}

func bash(command string) map[string]any { return map[string]any{"bash": command} }

// subagent has the plugin's subagent do what the steps say.
func subagent(steps ...map[string]any) map[string]any {
	return map[string]any{"agent": "opencode:opencode-delegate", "prompt": "Do this. " + say(steps...)}
}

// text ends a script with what the last tool said.
func text(words string) map[string]any { return map[string]any{"text": words} }

// results are what the tools of a conversation returned, by the newest request of it.
func results(requests []testanthropic.Request, kind testanthropic.Kind) []testanthropic.Block {
	for i := len(requests) - 1; i >= 0; i-- {
		if requests[i].Kind == kind {
			return requests[i].Results()
		}
	}
	return nil
}

// heredoc is a call with the task on stdin.
func heredoc(call, task string) string { return call + " - <<'BRIEF'\n" + task + "\nBRIEF" }
