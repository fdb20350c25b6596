package plugin_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"opencode-delegate/internal/policy"
	"opencode-delegate/internal/realclaude"
	"opencode-delegate/plugin"
)

// readmeSection is the part of README.md that is about the plugin.
func readmeSection(t *testing.T) string {
	t.Helper()
	_, _, section, _ := readmeAround(t, "Claude Code")
	return section
}

// TestRealReadme types what the section says, in its order, on a machine with Claude Code, and in the middle asks whether the plugin is there.
func TestRealReadme(t *testing.T) {
	t.Parallel()
	realclaude.Each(t, func(t *testing.T, c realclaude.Claude) {
		m := bare(t, c, worker)
		m.Program("home/bin/claude", "#!/bin/sh\nexec '"+c.Path+"' \"$@\"\n")
		built, err := release()
		if err != nil {
			t.Fatal(err)
		}
		ran := 0
		for line := range strings.Lines(readmeSection(t)) {
			line, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "    ")
			if !ok {
				continue
			}
			ran++
			if line == "scripts/plugin dist/opencode" { // which has made the release folder of all tests
				line = "mkdir dist && cp -a '" + built + "' dist/opencode"
			}
			cmd := exec.Command("sh", "-ec", line)
			cmd.Dir, cmd.Env = m.Project, append(m.Env(), "PATH="+filepath.Join(m.Root, "home/bin")+":"+os.Getenv("PATH"))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", line, err, out)
			}
			there := strings.Contains(m.Headless(t.Context(), say(text("END"))).Stdout, `"opencode:delegate"`)
			if want := ran == 3; there != want {
				t.Errorf("after %q the plugin is there: %v", line, there)
			}
		}
		if ran != 4 {
			t.Errorf("%d commands, want 4", ran)
		}
	})
}

// The section names each command, each option, and an example of a policy that is one.
func TestReadmeOfThePlugin(t *testing.T) {
	section := readmeSection(t)
	files, err := filepath.Glob("../commands/*.md")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	var commands []string
	for _, f := range files {
		commands = append(commands, strings.TrimSuffix(filepath.Base(f), ".md"))
		if name := "/opencode:" + commands[len(commands)-1]; !strings.Contains(section, name) {
			t.Errorf("it does not name %s", name)
		}
	}
	for _, found := range regexp.MustCompile(`/opencode:([a-z]+)`).FindAllStringSubmatch(section, -1) {
		if !slices.Contains(commands, found[1]) {
			t.Errorf("it names %s, which is no command", found[0])
		}
	}
	for _, o := range plugin.Options {
		if !strings.Contains(section, "`"+o+"`") {
			t.Errorf("it does not name the option %s", o)
		}
	}
	_, rest, _ := strings.Cut(section, "```json\n")
	example, _, _ := strings.Cut(rest, "```")
	if p, err := policy.Parse([]byte(example), "/home/me"); err != nil || !p.ConductorWrite {
		t.Errorf("the example %q: %+v, %v", example, p, err)
	}
}
