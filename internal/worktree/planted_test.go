//go:build unix

package worktree

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Whatever the worker plants in its git directory: nothing of it runs, nothing waits, and its commits are read or called lost.
func TestPlantedGitDirectories(t *testing.T) {
	fifo := func(name string) func(*world, string) {
		return func(w *world, git string) {
			w.must(os.RemoveAll(filepath.Join(git, name)))
			w.must(os.MkdirAll(filepath.Dir(filepath.Join(git, name)), 0o755))
			w.must(syscall.Mkfifo(filepath.Join(git, name), 0o600))
		}
	}
	file := func(name, text string) func(*world, string) {
		return func(w *world, git string) {
			os.Remove(filepath.Join(git, name))
			w.write(filepath.Join(git, name), text)
		}
	}
	huge := func(name string) func(*world, string) {
		return func(w *world, git string) { w.must(os.Truncate(filepath.Join(git, name), 1<<30)) }
	}
	const same = "by the worker"
	for name, c := range map[string]struct {
		plant func(w *world, git string)
		want  string // the subjects, or the beginning of what is lost
	}{
		"programs": {func(w *world, git string) {
			for _, key := range []string{"core.fsmonitor", "core.sshCommand", "diff.external", "gpg.program", "core.pager", "uploadpack.packObjectsHook", "core.alternateRefsCommand", "log.showSignature"} {
				w.tryGit(filepath.Dir(git), "config", key, "touch '"+w.root+"/marker'")
			}
			for _, hook := range []string{"post-index-change", "reference-transaction", "pre-auto-gc"} {
				w.write(git+"/hooks/"+hook, "#!/bin/sh\ntouch '"+w.root+"/marker'\n")
				w.must(os.Chmod(git+"/hooks/"+hook, 0o755))
			}
		}, same},
		"config includes a pipe": {func(w *world, git string) { fifo("f")(w, git); file("config", "[include]\npath = f\n")(w, git) }, same},
		"config is a pipe":       {fifo("config"), same},
		"alternates is a pipe":   {fifo("objects/info/alternates"), same},
		"alternates lead away":   {file("objects/info/alternates", "/nowhere\n"), same},
		"a pack is a pipe":       {fifo("objects/pack/pack-" + strings.Repeat("a", 40) + ".pack"), same},
		"a pack is rubbish":      {file("objects/pack/pack-"+strings.Repeat("a", 40)+".pack", "PACK rubbish"), same},
		"an index is rubbish":    {file("objects/pack/multi-pack-index", "rubbish"), same},
		"a commit-graph":         {file("objects/info/commit-graph", "rubbish"), same},
		"grafts":                 {file("info/grafts", strings.Repeat("a", 40)+"\n"), same},
		"packed-refs is a pipe":  {fifo("packed-refs"), same},
		"packed-refs is huge": {func(w *world, git string) {
			w.gitIn(filepath.Dir(git), "pack-refs", "--all", "--prune")
			huge("packed-refs")(w, git)
		}, "the branch refs/heads/opencode-delegate/"},
		"HEAD is a pipe":  {fifo("HEAD"), "HEAD of the copy cannot be read"},
		"HEAD is huge":    {huge("HEAD"), "HEAD of the copy cannot be read"},
		"HEAD leads out":  {file("HEAD", "ref: refs/../../../../home/.gitconfig\n"), "HEAD of the copy is not as git writes it"},
		"HEAD is rubbish": {file("HEAD", "\x1b[2Jrubbish"), "HEAD of the copy is not as git writes it"},
		"HEAD is a circle": {func(w *world, git string) {
			file("HEAD", "ref: refs/x\n")(w, git)
			file("refs/x", "ref: refs/x\n")(w, git)
		}, "HEAD of the copy leads nowhere"},
		"HEAD is a link": {func(w *world, git string) {
			os.Remove(git + "/HEAD")
			w.must(os.Symlink(w.home+"/.gitconfig", git+"/HEAD"))
		}, "HEAD of the copy cannot be read"},
		"HEAD is not there": {file("HEAD", strings.Repeat("a", 40)+"\n"), "git does not take the commits"},
		"refs lead out": {func(w *world, git string) {
			w.must(os.RemoveAll(git + "/refs"))
			w.must(os.Symlink(w.root, git+"/refs"))
		}, "the branch refs/heads/opencode-delegate/"},
		"objects lead out": {func(w *world, git string) {
			w.must(os.RemoveAll(git + "/objects"))
			w.must(os.Symlink("/", git+"/objects"))
		}, "git does not take the commits"},
		"another repository": {func(w *world, git string) { w.must(os.RemoveAll(git)); w.must(os.Symlink(w.dir+"/.git", git)) }, "the copy has no git directory"},
		"a file":             {func(w *world, git string) { w.must(os.RemoveAll(git)); w.write(git, "gitdir: "+w.dir+"/.git\n") }, "the copy has no git directory"},
		"nothing":            {func(w *world, git string) { w.must(os.RemoveAll(git)) }, "the copy has no git directory"},
		"an object is another": {func(w *world, git string) {
			blob := strings.TrimSpace(w.gitIn(filepath.Dir(git), "rev-parse", "HEAD:w"))
			other := strings.TrimSpace(w.gitIn(filepath.Dir(git), "rev-parse", "HEAD"))
			at := func(id string) string { return git + "/objects/" + id[:2] + "/" + id[2:] }
			text := w.read(at(other))
			w.must(os.Remove(at(blob)))
			w.write(at(blob), text)
		}, "git does not take the commits"},
		"a tree with a hook": {func(w *world, git string) {
			dir := filepath.Dir(git)
			blob := strings.TrimSpace(w.gitIn(dir, "rev-parse", "HEAD:w"))
			w.write(w.root+"/t", fmt.Sprintf("100755 blob %s\thook\n", blob))
			inner := w.pipe(dir, w.root+"/t", "mktree")
			w.write(w.root+"/t", fmt.Sprintf("040000 tree %s\t.git\n", inner))
			outer := w.pipe(dir, w.root+"/t", "mktree")
			commit := strings.TrimSpace(w.gitIn(dir, "commit-tree", "-p", "HEAD", "-m", "evil", outer))
			w.gitIn(dir, "update-ref", "HEAD", commit)
		}, "git does not take the commits"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, cp := based(t)
			w.in(cp, "w", "of the worker\n", commitAs(same)...)
			c.plant(w, cp.Tree()+"/.git")
			os.Remove(w.root + "/marker")
			h := w.history(cp)
			if got := h.subjects(); c.want == same && (got != same || h.Lost != "") || c.want != same && (!strings.HasPrefix(h.Lost, c.want) || strings.ContainsAny(h.Lost, "\x1b\n") || !h.Rewritten) {
				t.Errorf("%q %q", got, h.Lost)
			}
			if _, err := os.Stat(w.root + "/marker"); err == nil {
				t.Error("a program of the worker ran")
			}
			after, err := cp.Result(t.Context(), w.store(), w.environ())
			w.must(err)
			if patch := w.patch(cp.Base(), after); strings.Count(patch, "diff --git") != 1 {
				t.Errorf("the patch:\n%s", patch)
			}
			fresh, err := cp.Fresh(t.Context(), w.place())
			w.must(err)
			w.gitIn(fresh.Tree(), "log", "-1")
			w.must(cp.Discard(t.Context()))
		})
	}
}

// pipe runs git with a file as its input and returns the one line that it prints.
func (w *world) pipe(dir, file string, args ...string) string {
	w.t.Helper()
	out, err := w.tryGit(dir, append([]string{"-c", `alias.piped=!f() { in=$1; shift; git "$@" <"$in"; }; f`, "piped", file}, args...)...)
	if err != nil {
		w.t.Fatalf("git %q: %v: %s", args, err, out)
	}
	return strings.TrimSpace(out)
}
