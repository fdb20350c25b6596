package realclaude

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"opencode-delegate/internal/testanthropic"
)

// Key is what stands in for an API key.
const Key = "not-a-key"

// A Place is a user's machine for one test: a home with nothing in it, a project, Claude Code past its first questions, and a scripted API. All of it is removed
// with the test, and a process that is left by then fails the test.
type Place struct {
	T       testing.TB
	Claude  Claude
	API     *testanthropic.Server
	Root    string   // holds everything
	Config  string   // CLAUDE_CONFIG_DIR
	Project string   // where Claude Code runs; it is trusted
	Extra   []string // added to the environment of what runs from now on; wins over what is there

	runs  atomic.Int64
	grace time.Duration // for what runs at the end of the test
}

// New makes a place for a version. project is the directory to work in; "" makes an empty one. The place is not below the system's directory for temporary files,
// where a writing delegation may write.
func New(t testing.TB, c Claude, project string) *Place {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		t.Fatal(err)
	}
	root, err := os.MkdirTemp(cache, "oc-cc-") // short: the path of a socket has at most 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	if root, err = filepath.EvalSymlinks(root); err != nil { // Claude Code knows a project by its real path
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	api, err := testanthropic.Start(testanthropic.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { api.Close() })
	p := &Place{T: t, Claude: c, API: api, Root: root, Config: filepath.Join(root, "config"), Project: project, grace: 5 * time.Second}
	if project == "" {
		p.Project = filepath.Join(root, "project")
	}
	for _, dir := range []string{p.Config, p.Project, p.path("home"), p.path("run"), p.path("tmp")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	p.answered()
	t.Cleanup(p.end)
	return p
}

// answered writes the state of a user who has been through the first questions: theme, key, trust in the project.
func (p *Place) answered() {
	p.T.Helper()
	state := map[string]any{
		"hasCompletedOnboarding": true,
		"lastOnboardingVersion":  p.Claude.Version,
		"theme":                  "dark",
		"numStartups":            3,
		"customApiKeyResponses":  map[string]any{"approved": []string{Key}, "rejected": []string{}},
		"projects": map[string]any{
			p.Project: map[string]any{"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true, "projectOnboardingSeenCount": 1},
		},
	}
	text, err := json.MarshalIndent(state, "", "  ")
	if err != nil {
		p.T.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.Config, ".claude.json"), text, 0o600); err != nil {
		p.T.Fatal(err)
	}
}

// Env is a whole environment for a program that runs here: it touches nothing of the user's, and nothing is fetched from the network.
func (p *Place) Env() []string {
	env := []string{
		"HOME=" + p.path("home"),
		"XDG_CONFIG_HOME=" + p.path("home/.config"),
		"XDG_DATA_HOME=" + p.path("home/.local/share"),
		"XDG_STATE_HOME=" + p.path("home/.local/state"),
		"XDG_CACHE_HOME=" + p.path("home/.cache"),
		"XDG_RUNTIME_DIR=" + p.path("run"), // for its sockets
		"TMPDIR=" + p.path("tmp"),          // for Claude Code's own files as well
		"CLAUDE_CONFIG_DIR=" + p.Config,
		"ANTHROPIC_BASE_URL=" + p.API.URL,
		"ANTHROPIC_API_KEY=" + Key,
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", // implies the next two, and is too important to rest on one name
		"DISABLE_AUTOUPDATER=1",
		"DISABLE_TELEMETRY=1",
		"CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL=1", // not implied by the first
		"IS_SANDBOX=1",                                           // else root may not skip the permissions; exactly "1"
		"GIT_CONFIG_NOSYSTEM=1",
		"TERM=xterm-256color",
		"LANG=C.UTF-8",
	}
	for _, name := range []string{"PATH", "SystemRoot", "TEMP", "PATHEXT", "GORACE"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return append(env, p.Extra...)
}

// Write writes a file below the root and returns its path.
func (p *Place) Write(name, content string) string {
	p.T.Helper()
	return p.write(name, content, 0o644)
}

// Program writes an executable file below the root and returns its path.
func (p *Place) Program(name, content string) string {
	p.T.Helper()
	return p.write(name, content, 0o755)
}

func (p *Place) write(name, content string, mode os.FileMode) string {
	p.T.Helper()
	path := p.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.T.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		p.T.Fatal(err)
	}
	return path
}

func (p *Place) path(name string) string { return filepath.Join(p.Root, filepath.FromSlash(name)) }

// end fails the test for each process that is left, and ends it.
func (p *Place) end() {
	for _, left := range p.Settle(p.grace) {
		p.T.Errorf("left running: %d %s", left.PID, left.Command)
		if process, err := os.FindProcess(left.PID); err == nil {
			process.Kill() // an error means that it has gone
		}
	}
}
