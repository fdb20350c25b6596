package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// jobsSection is the part of README.md that is about this program.
func jobsSection(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "\n## Background jobs\n")
	section, _, ok2 := strings.Cut(rest, "\n## ")
	if !ok || !ok2 {
		t.Fatal("README.md has no section on background jobs")
	}
	return section
}

// TestReadme runs the commands of the section in their order, in one shell, and each has to succeed.
func TestReadme(t *testing.T) {
	p := fakePlace(t, "OC_FAKE=sh", "OC_FAKE_SH=date +%s%N > out.txt")
	dir, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	script, ran := "set -eux\n", 0
	for line := range strings.Lines(jobsSection(t)) {
		if line, ok := strings.CutPrefix(line, "    "); ok {
			script += line
			ran++
			if strings.HasPrefix(line, "oc-job continue ") { // which would still work in the session
				script += "oc-job wait\n"
			}
		}
	}
	if ran < 6 {
		t.Fatalf("%d commands", ran)
	}
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir, cmd.Env = p.Project, append(p.Env, "PATH="+dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// Each verb and each of its flags is in the section, and the section names no other flag.
func TestReadmeVerbs(t *testing.T) {
	section := jobsSection(t)
	flag := regexp.MustCompile(`--[a-z][a-z-]+`)
	var top strings.Builder
	if err := help(&top, nil); err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{"--max-wait": true, "--write": true, "--digest": true} // of oc-delegate, in an example
	verbs := regexp.MustCompile(`(?m)^  ([a-z]+) `).FindAllStringSubmatch(top.String(), -1)
	if len(verbs) < 14 {
		t.Fatalf("%d verbs in %s", len(verbs), top.String())
	}
	for _, v := range verbs {
		row := regexp.MustCompile("(?m)^\\| `" + v[1] + "[ `].*$").FindString(section)
		if row == "" {
			t.Errorf("README.md does not tell of %s", v[1])
		}
		var text strings.Builder
		if err := help(&text, []string{v[1]}); err != nil {
			t.Fatal(err)
		}
		for _, f := range flag.FindAllString(text.String(), -1) {
			known[f] = true
			inRow := strings.Contains(row, f)
			// start takes all flags of oc-delegate, and three others those of start.
			elsewhere := strings.Contains(" start continue retry recover ", " "+v[1]+" ") && strings.Contains(string(readme), f)
			if f != "--help" && f != "--version" && !inRow && !elsewhere {
				t.Errorf("README.md: %s has a flag %s", v[1], f)
			}
		}
	}
	for _, f := range flag.FindAllString(section, -1) {
		if !known[f] {
			t.Errorf("README.md names %s, which is no flag", f)
		}
	}
}
