package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"opencode-delegate/internal/testplace"
)

// A git that is taken over by what it reads leaves a mark where it can: what the worker has left in the repository is read by an undo too, days later. The cage keeps it from that.
func TestRealUndoIsCaged(t *testing.T) {
	t.Parallel()
	p := &place{testplace.Real(t)}
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	asked := filepath.Join("/dev/shm", filepath.Base(p.Root)) // where each sandbox lets it write
	t.Cleanup(func() { os.Remove(asked) })
	p.Write("tools/git", `#!/bin/sh
case "$GIT_OBJECT_DIRECTORY $*" in
*" update-ref "*) ;; # it has to write there
`+p.Project+`/*)
	if [ -e `+p.Root+`/home/began ]; then
		echo "$*" >>`+asked+`
		{ echo "$*" >>`+p.Root+`/home/pwned; } 2>/dev/null
	fi ;;
esac
exec `+git+` "$@"
`)
	if err := os.Chmod(filepath.Join(p.Root, "tools/git"), 0o755); err != nil {
		t.Fatal(err)
	}
	for i, kv := range p.Env {
		if path, ok := strings.CutPrefix(kv, "PATH="); ok {
			p.Env[i] = "PATH=" + filepath.Join(p.Root, "tools") + ":" + path
		}
	}
	p.Write("project/b.txt", "b\n")
	p.Git("add", ".")
	p.Git("commit", "-q", "-m", "two")
	id := p.begin("--write", does(t, `echo goodbye >a.txt; git commit -qam good; git reset -q --hard HEAD~2`))
	p.job("wait", id).want(t, 16, "")
	p.Write("home/began", "")
	p.job("undo", "--history", id).want(t, 0, "history")
	if got := p.Git("log", "--format=%s"); !strings.HasPrefix(got, "two") {
		t.Errorf("the history is %q", got)
	}
	if text, err := os.ReadFile(filepath.Join(p.Root, "home/pwned")); err == nil {
		t.Errorf("these were let loose on what the worker wrote:\n%s", text)
	}
	if text, err := os.ReadFile(asked); !strings.Contains(string(text), "rev-list") {
		t.Errorf("git was not asked: %q, %v", text, err)
	}
}
