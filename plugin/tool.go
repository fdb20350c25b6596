package plugin

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"opencode-delegate/internal/call"
	"opencode-delegate/internal/job"
	"opencode-delegate/internal/policy"
)

// A bash is the input of the tool Bash.
type bash struct {
	Command     string         `json:"command"`
	Unsandboxed jsontext.Value `json:"dangerouslyDisableSandbox"`
}

// beforeTool says whether a tool call may run. It needs no state directory unless the call names a job.
func (h *hook) beforeTool() error {
	sub := h.in.AgentType == policy.Subagent
	if !sub && h.in.Tool == "Read" {
		return h.ownText()
	}
	var b bash
	if h.in.Tool == "Bash" {
		if err := json.Unmarshal(h.in.ToolInput, &b); err != nil {
			return errors.New("the input of the tool is not the one that Bash has")
		}
	}
	project := h.Getenv("CLAUDE_PROJECT_DIR")
	if project == "" {
		project = h.in.Cwd
	}
	c := policy.Call{
		Tool: h.in.Tool, Command: b.Command, Cwd: h.in.Cwd, Project: project, Home: h.Home,
		AgentType: h.in.AgentType, PermissionMode: h.in.PermissionMode, Caller: h.in.Session,
	}
	if !call.IsSession(c.Caller) {
		c.Caller = "" // whose no job is
	}
	if sub || c.AgentType == "" && c.Tool == "Bash" {
		resolved, _ := call.Resolve(call.Flags{}, h.environment())
		c.Opencode = resolved.Request.Opencode
	}
	p, perr := policy.Load(policy.Path(h.Getenv, h.Home), h.Home, project)
	d := policy.Decide(c, p, h.jobs)
	if d.Verdict == policy.Allow {
		if err := h.certain(b, append([]string{project}, p.AllowDirs...)); err != nil {
			d = policy.Decision{Verdict: policy.None, Reason: err.Error()}
			if sub {
				d.Verdict = policy.Deny
			}
		}
	}
	if d.Verdict == policy.None {
		return nil
	}
	if perr != nil && d.Verdict == policy.Deny {
		d.Reason += fmt.Sprintf("; the user's own policy is not in force: %v", perr)
	}
	return h.tell(answer{Specific: &specific{Event: "PreToolUse", Permission: d.Verdict.String(), PermissionBecause: d.Reason}})
}

// ownText lets the model read what the skill refers to: Claude Code tells the skill's directory, and asks before a file in it is read (measured).
func (h *hook) ownText() error {
	var read struct {
		Path string `json:"file_path"`
	}
	root := h.Getenv("CLAUDE_PLUGIN_ROOT")
	if json.Unmarshal(h.in.ToolInput, &read) != nil || !filepath.IsAbs(read.Path) || !filepath.IsAbs(root) {
		return nil
	}
	references, err := filepath.EvalSymlinks(filepath.Join(root, "skills", "opencode", "references"))
	if err != nil {
		return nil
	}
	path, err := filepath.EvalSymlinks(read.Path)
	if err != nil || filepath.Dir(path) != references || filepath.Ext(path) != ".md" {
		return nil
	}
	return h.tell(answer{Specific: &specific{Event: "PreToolUse", Permission: "allow", PermissionBecause: "a text of the plugin's own skill"}})
}

// certain is for what an allowed call still may not have: a way out of the host's sandbox, and a program of our name that a worker may have
// written.
func (h *hook) certain(b bash, roots []string) error {
	if v := string(b.Unsandboxed); v != "" && v != "false" && v != "null" {
		return errors.New("a call without the host's sandbox is the user's to allow; leave dangerouslyDisableSandbox out")
	}
	for _, name := range []string{policy.Delegate, policy.Jobber} {
		if err := h.placed(name, roots); err != nil {
			return err
		}
	}
	return nil
}

// placed refuses a program that the shell would find in the project. Where PATH does not lead to one at all, the plugin's own is the last
// that Claude Code adds for its shell.
func (h *hook) placed(name string, roots []string) error {
	for _, dir := range filepath.SplitList(h.Getenv("PATH")) {
		at := dir
		if !filepath.IsAbs(at) { // the empty one is the current directory
			at = filepath.Join(h.in.Cwd, dir)
		}
		found := there(at, name)
		if found == "" {
			continue
		}
		if !filepath.IsAbs(dir) {
			return fmt.Errorf("%s is found by an entry of PATH that is not absolute, %.80q; take it out of PATH", name, dir)
		}
		for _, root := range roots {
			if within(root, at) || within(root, found) {
				return fmt.Errorf("%s is found at %.200q, where a worker may write; take that directory out of PATH", name, filepath.Join(at, name))
			}
		}
		return nil
	}
	return nil
}

// there is the real path of a program in a directory; empty when there is none.
func there(dir, name string) string {
	names := []string{name}
	if runtime.GOOS == "windows" {
		names = append(names, name+".exe", name+".cmd", name+".bat")
	}
	for _, n := range names {
		path := filepath.Join(dir, n)
		if fi, err := os.Stat(path); err != nil || fi.IsDir() {
			continue
		}
		if real, err := filepath.EvalSymlinks(path); err == nil {
			return real
		}
		return path
	}
	return ""
}

// within reports whether a path lies in a directory, by their real paths.
func within(root, path string) bool {
	for _, p := range []*string{&root, &path} {
		if real, err := filepath.EvalSymlinks(*p); err == nil {
			*p = real
		}
	}
	rel, err := filepath.Rel(root, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// jobs looks up a job for the policy.
func (h *hook) jobs(word string) (policy.Job, error) {
	store, err := h.Store()
	if err != nil {
		return policy.Job{}, err
	}
	var v job.View
	if word == "" {
		v, err = store.NewestOf(h.ctx, h.in.Session, job.Repository(h.in.Cwd))
	} else {
		var id string
		if id, _, err = store.Find(h.ctx, word); err == nil {
			v, err = store.Look(h.ctx, id)
		}
	}
	if err != nil {
		return policy.Job{}, err
	}
	found := policy.Job{Caller: store.CallerOf(v.Caller)}
	if store.SameCaller(v.Caller, h.in.Session) {
		found.Caller = h.in.Session // as which the policy knows all that are linked with it
	}
	if found.Request, err = store.ReadRequest(v.ID); err != nil {
		return policy.Job{}, fmt.Errorf("what job %s was asked to do cannot be read", v.ID)
	}
	return found, nil
}
