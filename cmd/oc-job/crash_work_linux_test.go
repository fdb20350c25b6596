package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"opencode-delegate/internal/job"
)

// git runs git in the project and returns what it printed.
func (p *crashPlace) git(args ...string) string {
	p.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.org"}, args...)...)
	cmd.Dir, cmd.Env = filepath.Join(p.root, "project"), p.env
	return p.run(cmd)
}

// repository makes the project one, with a file that is committed and one that is not.
func (p *crashPlace) repository() {
	p.t.Helper()
	p.write("file.txt", "as it was\n")
	p.git("init", "-q", "-b", "main")
	p.git("add", ".")
	p.git("commit", "-q", "-m", "one")
	p.write("mine.txt", "not committed\n")
}

func (p *crashPlace) write(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.root, "project", name), []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p *crashPlace) read(name string) string {
	text, err := os.ReadFile(filepath.Join(p.root, "project", name))
	if errors.Is(err, fs.ErrNotExist) {
		return "absent"
	}
	return string(text)
}

// workIsFound checks an isolated job that was ended somewhere: the caller's tree is as it was; whatever the worker has made is found and lands when
// asked; and in the end nothing of it stays in the repository.
func (p *crashPlace) workIsFound() {
	p.t.Helper()
	if p.read("file.txt") != "as it was\n" || p.read("work.txt") != "absent" || p.read("mine.txt") != "not committed\n" {
		p.t.Errorf("the caller's tree: %q %q %q", p.read("file.txt"), p.read("work.txt"), p.read("mine.txt"))
	}
	if status := p.git("status", "--porcelain"); status != "?? mine.txt" {
		p.t.Errorf("git status says %q", status)
	}
	for _, v := range p.list() {
		if v.ID == "" || v.State.State == job.Unreadable {
			continue
		}
		copied := filepath.Join(p.store.Record(v.ID).Path(), "copies/1/tree")
		made, err := os.ReadFile(filepath.Join(copied, "work.txt"))
		if err != nil {
			continue
		}
		changed, err := os.ReadFile(filepath.Join(copied, "file.txt")) // the worker may have died before it came to this one
		if err != nil {
			p.t.Error(err)
		}
		diff, err := p.command("oc-job", "diff", v.ID).Output()
		if !strings.Contains(string(diff), "a/work.txt") || strings.Contains(string(diff), "+work\n") != (string(made) == "work\n") {
			p.t.Errorf("%s: the worker's file holds %q, and the difference is %q, %v", v.State.State, made, diff, err)
		}
		p.run(p.command("oc-job", "apply", "--force", v.ID))
		if p.read("file.txt") != string(changed) || p.read("work.txt") != string(made) || p.read("mine.txt") != "not committed\n" {
			p.t.Errorf("applied: %q %q %q, want %q %q", p.read("file.txt"), p.read("work.txt"), p.read("mine.txt"), changed, made)
		}
		p.run(p.command("oc-job", "undo", v.ID))
		if p.read("file.txt") != "as it was\n" || p.read("work.txt") != "absent" {
			p.t.Errorf("undone: %q %q", p.read("file.txt"), p.read("work.txt"))
		}
	}
	p.run(p.command("oc-job", "gc", "--older", "0d", "--unlanded"))
	p.run(p.command("oc-job", "gc", "--older", "0d", "--unlanded"))
	if refs := p.git("for-each-ref", "--format=%(refname)"); refs != "refs/heads/main" {
		p.t.Errorf("what stays are the refs %q", refs)
	}
}

// undone checks a run in place that was ended somewhere: if it had begun, undo gives back what was there.
func (p *crashPlace) undone() {
	p.t.Helper()
	for _, v := range p.list() {
		if _, err := os.Stat(filepath.Join(p.store.Record(v.ID).Path(), "undo")); err != nil || p.read("work.txt") == "absent" {
			continue
		}
		p.run(p.command("oc-job", "undo", "--force", v.ID))
	}
	if p.read("file.txt") != "as it was\n" || p.read("work.txt") != "absent" || p.read("mine.txt") != "not committed\n" {
		p.t.Errorf("undone: %q %q %q", p.read("file.txt"), p.read("work.txt"), p.read("mine.txt"))
	}
}
