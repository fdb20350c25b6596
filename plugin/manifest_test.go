package plugin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"opencode-delegate/internal/cli"
	"opencode-delegate/internal/realclaude"
	"opencode-delegate/plugin"
)

// parts are the places of the repository that make up the plugin.
var parts = []string{".claude-plugin", "plugin.json", "commands", "agents", "skills", "hooks", "bin", "README.md"}

// folder copies the plugin's files into a directory: those that git keeps or would add, since an installation copies all that lies about.
func folder(t *testing.T, dir string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"ls-files", "-z", "--cached", "--others", "--exclude-standard", "--"}, parts...)...)
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		from, to := filepath.Join("..", name), filepath.Join(dir, name)
		data, err := os.ReadFile(from)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(to), 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
		fi, err := os.Stat(from)
		if err == nil {
			err = os.WriteFile(to, data, fi.Mode().Perm())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// strict decodes JSON into v, and fails the test for a member that v does not have.
func strict(t *testing.T, path string, v any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", path))
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if d.More() {
		t.Fatalf("%s holds more than one value", path)
	}
}

type manifest struct {
	Name        string            `json:"name"`
	DisplayName string            `json:"displayName"`
	Version     string            `json:"version"`
	Description string            `json:"description"`
	Author      map[string]string `json:"author"`
	Keywords    []string          `json:"keywords"`
	Options     map[string]option `json:"userConfig"`
}

// An option has no list of values: with one, the oldest Claude Code refuses the plugin.
type option struct {
	Type        string   `json:"type"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Default     any      `json:"default"`
	Min         *float64 `json:"min"`
}

type marketplace struct {
	Name     string            `json:"name"`
	Owner    map[string]string `json:"owner"`
	Metadata map[string]string `json:"metadata"`
	Plugins  []struct {
		Name        string `json:"name"`
		Source      string `json:"source"`
		Description string `json:"description"`
	} `json:"plugins"`
}

// optionTypes are all options. Claude Code applies no default: one stands in the manifest only where a user who saves it has said nothing new.
var optionTypes = map[string]struct {
	kind  string
	value any
}{
	"default_tier": {"string", nil}, "tier_flash": {"string", nil}, "tier_code": {"string", nil}, "tier_pro": {"string", nil}, "default_model": {"string", nil},
	"timeout": {"string", nil}, "digest_limit": {"number", nil}, "max_jobs": {"number", nil},
	"policy_text": {"boolean", false}, "nudge": {"boolean", false}, "notify": {"boolean", true},
}

func TestManifest(t *testing.T) {
	read, err := os.ReadFile("../.claude-plugin/plugin.json")
	if err != nil {
		t.Fatal(err)
	}
	shown, err := os.ReadFile("../plugin.json")
	if err != nil || !bytes.Equal(read, shown) {
		t.Errorf("plugin.json and .claude-plugin/plugin.json differ: copy the latter, which is the one that Claude Code reads (%v)", err)
	}
	var m manifest
	strict(t, ".claude-plugin/plugin.json", &m)
	if m.Name != "opencode" || m.DisplayName == "" || m.Description == "" || m.Author["name"] == "" || len(m.Keywords) == 0 {
		t.Errorf("the manifest lacks something: %+v", m)
	}
	for name, o := range m.Options {
		want, known := optionTypes[name]
		if !known || o.Type != want.kind || o.Title == "" || o.Description == "" || o.Default != want.value {
			t.Errorf("option %s: %+v, want %+v with a title and a description", name, o, want)
		}
	}
	if got, want := slices.Sorted(maps.Keys(m.Options)), slices.Sorted(maps.Keys(optionTypes)); !slices.Equal(got, want) {
		t.Errorf("options %v, want %v", got, want)
	}
}

// One repository is the plugin and the marketplace that has it.
func TestMarketplace(t *testing.T) {
	var p manifest
	strict(t, ".claude-plugin/plugin.json", &p)
	var m marketplace
	strict(t, ".claude-plugin/marketplace.json", &m)
	if m.Name != "opencode-delegate" || m.Owner["name"] == "" || m.Metadata["description"] == "" {
		t.Errorf("the marketplace lacks something: %+v", m)
	}
	if len(m.Plugins) != 1 || m.Plugins[0].Name != p.Name || m.Plugins[0].Source != "./" || m.Plugins[0].Description != p.Description {
		t.Errorf("the marketplace has %+v", m.Plugins)
	}
}

// Every place that says a version says the same one.
func TestVersions(t *testing.T) {
	var p manifest
	strict(t, ".claude-plugin/plugin.json", &p)
	var m marketplace
	strict(t, ".claude-plugin/marketplace.json", &m)
	if !regexp.MustCompile(`^\d+\.\d+\.\d+$`).MatchString(p.Version) || m.Metadata["version"] != p.Version || cli.Release != p.Version {
		t.Errorf("version %q of the plugin, %q of the marketplace, %q of the commands", p.Version, m.Metadata["version"], cli.Release)
	}
}

type hook struct {
	Type        string `json:"type"`
	Command     string `json:"command"`
	Timeout     int    `json:"timeout"`
	AsyncRewake bool   `json:"asyncRewake"`
}

type hooks struct {
	Description string `json:"description"`
	Hooks       map[string][]struct {
		Matcher string `json:"matcher"`
		Hooks   []hook `json:"hooks"`
	} `json:"hooks"`
}

// Each event that the program knows is called by the host's event of that name, and the watcher by those with which a session begins to be idle.
func TestHooks(t *testing.T) {
	var h hooks
	strict(t, "hooks/hooks.json", &h)
	watched := []string{}
	for event, groups := range h.Hooks {
		idle := event == "Stop" || event == "StopFailure" // the end of a turn starts the watcher, and nothing else
		if !slices.Contains(plugin.Events, event) && !idle {
			t.Errorf("the program knows no event %s", event)
		}
		if len(groups) != 1 {
			t.Fatalf("%s: %d groups, want 1", event, len(groups))
		}
		// The subagent has to be denied each tool that there is.
		if want := map[bool]string{true: "*"}[event == "PreToolUse"]; groups[0].Matcher != want {
			t.Errorf("%s: matcher %q, want %q", event, groups[0].Matcher, want)
		}
		for i, c := range groups[0].Hooks {
			name := event
			if c.AsyncRewake {
				name = "Watch"
				watched = append(watched, event)
			}
			// In quotes: the root of the plugin may hold a space.
			if c.Type != "command" || c.Command != `"${CLAUDE_PLUGIN_ROOT}"/bin/oc-job hook `+name || c.AsyncRewake != (i == 1 || idle) {
				t.Errorf("%s: %+v", event, c)
			}
			// A hook before a tool call that comes too late lets the call through, that of the subagent too.
			low, high := 1, 10
			switch {
			case c.AsyncRewake:
				low, high = 43200, 43200
			case event == "PreToolUse":
				low, high = 30, 60
			}
			if c.Timeout < low || c.Timeout > high {
				t.Errorf("%s: %d seconds, want %d to %d", event, c.Timeout, low, high)
			}
		}
	}
	slices.Sort(watched)
	if !slices.Equal(watched, []string{"SessionStart", "Stop", "StopFailure"}) || len(h.Hooks) != len(plugin.Events)-1+2 {
		t.Errorf("the watcher stands at %v, and %d events have a hook", watched, len(h.Hooks))
	}
}

// What is run has its executable bit where it is kept, which is what a clone and an installation go by.
func TestProgramsAreExecutable(t *testing.T) {
	cmd := exec.Command("git", "ls-files", "--stage", "--", "bin")
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for line := range strings.Lines(string(out)) {
		mode, name, _ := strings.Cut(strings.Replace(strings.TrimSpace(line), "\t", " ", 1), " ")
		name = name[strings.LastIndex(name, " ")+1:]
		names = append(names, name)
		if want := map[bool]string{true: "100644", false: "100755"}[strings.HasSuffix(name, ".cmd")]; mode != want {
			t.Errorf("%s has mode %s, want %s", name, mode, want)
		}
	}
	for _, want := range []string{"bin/oc-delegate", "bin/oc-job", "bin/oc-delegate.cmd", "bin/oc-job.cmd"} {
		if !slices.Contains(names, want) {
			t.Errorf("git keeps no %s, only %v", want, names)
		}
	}
}

// TestRealValidate: what Claude Code itself finds in the folder and in the manifest.
func TestRealValidate(t *testing.T) {
	realclaude.Each(t, func(t *testing.T, c realclaude.Claude) {
		p := realclaude.New(t, c, "")
		dir := filepath.Join(p.Root, "opencode")
		folder(t, dir)
		for _, path := range []string{dir, filepath.Join(dir, ".claude-plugin", "plugin.json")} {
			r := p.Run(context.Background(), "", "plugin", "validate", "--strict", path)
			if r.Exit != 0 || !strings.Contains(r.Stdout, "Validation passed") {
				t.Errorf("%s: exit %d\n%s%s", path, r.Exit, r.Stdout, r.Stderr)
			}
		}
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			t.Error("the folder holds more than the plugin")
		}
		// It does look: an option with a member that there is not.
		manifest := filepath.Join(dir, ".claude-plugin", "plugin.json")
		text, err := os.ReadFile(manifest)
		if err == nil {
			err = os.WriteFile(manifest, bytes.Replace(text, []byte(`"title"`), []byte(`"heading"`), 1), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		if r := p.Run(context.Background(), "", "plugin", "validate", "--strict", manifest); r.Exit == 0 {
			t.Errorf("a broken manifest passes:\n%s", r.Stdout)
		}
	})
}
