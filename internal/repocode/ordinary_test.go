//go:build unix

package repocode

import (
	"bytes"
	"os"
	"testing"
)

// What people ask a run to do with git is no violation, and Check leaves no trace on it.
func TestOrdinaryWorkStays(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(w *world)
		dir     string
		run     func(w *world)
	}{
		"commit, branch, tag, stash, gc": {run: func(w *world) {
			w.write(w.dir+"/a.txt", "2\n")
			w.git(w.dir, "commit", "-qam", "x")
			w.git(w.dir, "checkout", "-q", "-b", "topic")
			w.git(w.dir, "tag", "v1")
			w.write(w.dir+"/a.txt", "3\n")
			w.git(w.dir, "stash", "-q")
			w.git(w.dir, "gc", "-q")
		}},
		"push -u": {run: func(w *world) {
			w.git(w.root, "init", "-q", "--bare", "up.git")
			w.git(w.dir, "remote", "add", "origin", w.root+"/up.git")
			w.git(w.dir, "push", "-q", "-u", "origin", "main")
			w.git(w.dir, "config", "user.name", "x")
			w.git(w.dir, "config", "core.autocrlf", "input")
		}},
		"worktree add and remove": {run: func(w *world) {
			w.git(w.dir, "worktree", "add", "-q", w.dir+"/wt")
			w.git(w.dir, "worktree", "add", "-q", w.root+"/out")
			w.git(w.dir, "worktree", "remove", w.root+"/out")
		}},
		"worktree removed": {prepare: func(w *world) { w.repo(w.dir); w.git(w.dir, "worktree", "add", "-q", w.dir+"/wt") }, run: func(w *world) { w.git(w.dir, "worktree", "remove", "wt") }},
		"submodule add":    {prepare: func(w *world) { w.repo(w.dir); w.repo(w.root + "/sub") }, run: func(w *world) { w.git(w.dir, "submodule", "add", "-q", w.root+"/sub", "s/u b") }},
		"submodule deinit, rm": {prepare: submodule, run: func(w *world) {
			w.git(w.dir, "submodule", "deinit", "-f", "libs/sub")
			w.git(w.dir, "rm", "-q", "-f", "libs/sub")
		}},
		"submodule absorbgitdirs": {prepare: func(w *world) {
			w.repo(w.dir)
			w.repo(w.dir + "/sub")
			w.git(w.dir, "submodule", "add", "-q", "./sub", "sub")
		}, run: func(w *world) { w.git(w.dir, "submodule", "absorbgitdirs") }},
		"init": {prepare: func(*world) {}, run: func(w *world) { w.repo(w.dir) }},
		"init again, and below": {run: func(w *world) {
			w.git(w.dir, "init", "-q")
			w.must(os.Mkdir(w.dir+"/n", 0o755))
			w.repo(w.dir + "/n/e")
			w.git(w.dir, "init", "-q", "--bare", "b.git")
		}},
		"clone, also with its git directory apart": {run: func(w *world) {
			w.git(w.dir, "clone", "-q", w.dir, w.dir+"/copy")
			w.git(w.dir, "clone", "-q", "--separate-git-dir", w.dir+"/gd", w.dir, w.dir+"/copy2")
		}},
		"sparse checkout": {run: func(w *world) {
			w.git(w.dir, "sparse-checkout", "set", "x")
			w.git(w.dir, "sparse-checkout", "disable")
		}},
		"attributes and ignores of the project": {run: func(w *world) {
			w.write(w.dir+"/.gitattributes", "*.txt filter=x\n")
			w.write(w.dir+"/.gitmodules", "[submodule \"x\"]\npath=x\nurl=./x\nupdate=none\n")
			w.write(w.dir+"/.git/info/exclude", "*\n")
		}},
		"a nested repository removed": {prepare: func(w *world) {
			w.repo(w.dir)
			w.repo(w.dir + "/n")
			w.hook(w.dir + "/n/.git/hooks/pre-push")
		}, run: func(w *world) { w.must(os.RemoveAll(w.dir + "/n")) }},
		"the repository removed": {run: func(w *world) { w.must(os.RemoveAll(w.dir + "/.git")) }},
		"hook rewritten with the same content": {prepare: func(w *world) { w.repo(w.dir); w.hook(w.dir + "/.git/hooks/pre-push") }, run: func(w *world) {
			w.must(os.Remove(w.dir + "/.git/hooks/pre-push"))
			w.hook(w.dir + "/.git/hooks/pre-push")
		}},
		"samples": {run: func(w *world) {
			w.hook(w.dir + "/.git/hooks/pre-commit.sample")
			w.must(os.Remove(w.dir + "/.git/hooks/pre-push.sample"))
		}},
		"a README beside the hooks of the project": {prepare: func(w *world) { w.repo(w.dir); config("core.hooksPath", "hooks")(w); w.hook(w.dir + "/hooks/pre-push") },
			run: func(w *world) { w.write(w.dir+"/hooks/README.md", "x") }},
		"key order and comments": {prepare: func(w *world) { w.repo(w.dir); config("alias.x", "log", "core.editor", "vi")(w) }, run: func(w *world) {
			w.write(w.dir+"/.git/config", "# mine\n[core]\nEDITOR=\"vi\" ; x\nbare=false\nrepositoryformatversion=0\n[alias \"\"]\n[ALIAS]\nX=log\n")
		}},
		"a git fixture of a test": {run: func(w *world) {
			w.write(w.dir+"/testdata/.git", "/nowhere\n")
			w.write(w.dir+"/testdata/x/.git", "gitdir: ../gone\n")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if test.prepare == nil {
				w.repo(w.dir)
			} else {
				test.prepare(w)
			}
			before := w.capture(w.dir)
			test.run(w)
			config, _ := os.ReadFile(w.dir + "/.git/config")
			if list := w.check(before); len(list) != 0 {
				t.Errorf("violations: %+v", list)
			}
			if now, _ := os.ReadFile(w.dir + "/.git/config"); !bytes.Equal(now, config) {
				t.Errorf("the configuration was touched: %s", now)
			}
			if _, err := os.Stat(w.keep); err == nil {
				t.Error("something was kept")
			}
		})
	}
}
