package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/policy"
)

// TestReadme runs every command of README.md that is one of ours, in its order, and checks that every make target it
// names is there.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	p := fakePlace(t, "OC_FAKE=sh", "OC_FAKE_SH=date +%s%N > out.txt", `OC_FAKE_TEXT={"findings": []}`)
	p.Git("init", "-q")
	p.Write("project/Makefile", "check:\n\ttrue\n")
	p.Write("project/.gitignore", "node_modules/\n")
	p.Write("project/node_modules/lib/index.js", "\n")
	p.Git("add", ".")
	p.Git("-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-q", "-m", "one")
	p.Git("branch", "-M", "main")
	p.Write("project/a.txt", "hello again\n") // for a review
	p.Write("project/src/parser.go", "package src\n")
	p.Write("project/docs/format.md", "It is text.\n")
	p.Write("project/brief.md", "Do it.\n")
	p.Write("project/build.log", "error: x\n")
	p.Write("project/dist/keep", "")
	path := filepath.Dir(program(t)) + string(filepath.ListSeparator) + os.Getenv("PATH")
	if err := os.Symlink(program(t), filepath.Join(p.Project, "dist", "oc-delegate")); err != nil {
		t.Fatal(err)
	}
	ran, targets := 0, 0
	for line := range strings.Lines(string(text)) {
		line, indented := strings.CutPrefix(strings.TrimRight(line, "\n"), "    ")
		switch {
		case !indented:
		case strings.HasPrefix(line, "oc-delegate "), strings.HasPrefix(line, "dist/oc-delegate "), strings.Contains(line, "| oc-delegate "):
			ran++
			cmd := exec.Command("sh", "-c", line)
			cmd.Dir, cmd.Env = p.Project, append(p.Env, "PATH="+path, "GORACE=atexit_sleep_ms=0")
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%s: %v\n%s", line, err, out)
			}
			if !strings.Contains(string(out), `OC_SIGNAL {"status":"OK"`) {
				t.Errorf("%s: no OK in\n%s", line, out)
			}
		case strings.HasPrefix(line, "make "):
			targets++
			target := strings.Fields(line)[1]
			cmd := exec.Command("make", "-n", target)
			cmd.Dir = "../.."
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", line, err, out)
			}
		}
	}
	if ran < 7 || targets < 4 {
		t.Errorf("README.md has %d commands of ours and %d of make", ran, targets)
	}
	// Each flag of the grammar is in the README, and the README names no other. The sections on jobs and on the plugin are held by tests of
	// oc-job and of the plugin.
	for _, title := range []string{"Background jobs", "Claude Code"} {
		before, section, ok := strings.Cut(string(text), "\n## "+title+"\n")
		_, after, ok2 := strings.Cut(section, "\n## ")
		if !ok || !ok2 {
			t.Fatalf("README.md has no section %q", title)
		}
		text = []byte(before + "\n## " + after)
	}
	var help strings.Builder
	for _, name := range policy.Verbs(policy.Delegate) {
		if err := printHelp(&help, name); err != nil {
			t.Fatal(err)
		}
	}
	flag := regexp.MustCompile(`--[a-z][a-z-]+`)
	known := map[string]bool{}
	for _, f := range flag.FindAllString(help.String(), -1) {
		known[f] = true
		if f != "--help" && f != "--version" && f != "--json" && f != "--fix" && !strings.Contains(string(text), f) {
			t.Errorf("README.md does not name %s", f)
		}
	}
	for _, f := range flag.FindAllString(string(text), -1) {
		if !known[f] {
			t.Errorf("README.md names %s, which is no flag", f)
		}
	}
}

// The exit codes of the README are those of the program.
func TestReadmeExitCodes(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?m)^\| (\d+) \| ([A-Z_]+) \|`).FindAllStringSubmatch(string(text), -1)
	if len(rows) < 18 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, row := range rows {
		if got := exitOf(row[2]); got != row[1] {
			t.Errorf("README.md says %s for %s; it is %s", row[1], row[2], got)
		}
	}
}

func exitOf(status string) string { return strconv.Itoa(fault.Kind(status).Exit()) }
