//go:build unix

package repocode

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
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
			w.write(w.dir+"/testdata/.git", "not a link\n")
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

func TestConfigurationIsPutBackKeyByKey(t *testing.T) {
	w := newWorld(t)
	w.repo(w.dir)
	w.git(w.dir, "config", "alias.l", "log")
	w.git(w.dir, "config", "--add", "credential.helper", "")
	w.git(w.dir, "config", "--add", "credential.helper", "store")
	w.git(w.dir, "config", "remote.old.url", "/old")
	w.git(w.dir, "config", "remote.gone.url", "/gone")
	w.must(os.Chmod(w.dir+"/.git/config", 0o640))
	mine := w.read(w.dir + "/.git/config")
	before := w.capture(w.dir)
	w.git(w.dir, "config", "alias.l", "!evil")
	w.git(w.dir, "config", "--unset-all", "credential.helper")
	w.git(w.dir, "config", "core.fsmonitor", "evil")
	w.git(w.dir, "config", "branch.main.remote", "origin")
	w.git(w.dir, "config", "branch.x\"y\\z.merge", "refs/heads/\"a\" ;#b")
	w.git(w.dir, "config", "remote.old.url", "/new")
	w.git(w.dir, "config", "--unset", "remote.gone.url")
	theirs := w.read(w.dir + "/.git/config")

	inspected, err := Inspect(context.Background(), before)
	if err != nil || len(inspected) != 3 || w.read(w.dir+"/.git/config") != theirs {
		t.Fatalf("Inspect: %v %v", inspected, err)
	}
	list := w.check(before)
	want := []string{
		"git configuration alias.l was changed in .git/config",
		"git configuration core.fsmonitor was added in .git/config",
		"git configuration credential.helper was removed in .git/config",
	}
	for i, v := range list {
		if i >= len(want) || v.What != want[i] || v.Path != ".git/config" || !v.Mended || inspected[i].What != v.What || inspected[i].Mended || inspected[i].Kept != "" {
			t.Errorf("violation %d: %+v", i, v)
		}
	}
	if len(list) != len(want) {
		t.Fatalf("%d violations", len(list))
	}
	if got := w.read(list[0].Kept); got != theirs {
		t.Errorf("kept %q", got)
	}
	if fi, err := os.Stat(list[0].Kept); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("kept as %v %v", fi.Mode(), err)
	}
	if fi, err := os.Stat(w.keep); err != nil || fi.Mode().Perm() != 0o700 {
		t.Errorf("kept in %v %v", fi.Mode(), err)
	}
	for key, want := range map[string]string{
		"alias.l": "log\n", "credential.helper": "\nstore\n", "core.fsmonitor": "", "branch.main.remote": "origin\n", "remote.old.url": "/new\n",
		"remote.gone.url": "", "branch.x\"y\\z.merge": "refs/heads/\"a\" ;#b\n", "core.bare": "false\n",
	} {
		if got, _ := w.tryGit(w.dir, "config", "--local", "--get-all", key); got != want {
			t.Errorf("%s is %q, not %q", key, got, want)
		}
	}
	if fi, err := os.Stat(w.dir + "/.git/config"); err != nil || fi.Mode().Perm() != 0o640 {
		t.Errorf("mode %v %v", fi.Mode(), err)
	}
	if now := w.read(w.dir + "/.git/config"); !strings.HasPrefix(now, mine[:strings.Index(mine, "[remote")]) {
		t.Errorf("the user's text is gone: %s", now)
	}
}

func TestConfigurationThatCannotBeReadIsPutBackWhole(t *testing.T) {
	for name, text := range map[string]string{"syntax": "[core\n", "NUL": "[core]\n\tbare = false\n# \x00\n[alias]\n\tx = !y\n", "size": strings.Repeat("#\n", 1<<20)} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.repo(w.dir)
			mine := w.read(w.dir + "/.git/config")
			before := w.capture(w.dir)
			w.write(w.dir+"/.git/config", text)
			list := w.check(before)
			if len(list) != 1 || list[0].Key != "" || w.read(list[0].Kept) != text {
				t.Errorf("%v", list)
			}
			if got := w.read(w.dir + "/.git/config"); got != mine {
				t.Errorf("%q", got)
			}
		})
	}
}

// A .git that leads to a repository elsewhere must not make us mend that one: it is somebody's.
func TestAForeignRepositoryIsNotTouched(t *testing.T) {
	for name, redirect := range map[string]func(w *world){
		"file": func(w *world) { w.write(w.dir+"/.git", "gitdir: "+w.root+"/other/.git\n") },
		"link": func(w *world) { w.must(os.Symlink(w.root+"/other/.git", w.dir+"/.git")) },
		"commondir": func(w *world) {
			w.must(os.Rename(w.root+"/old", w.dir+"/.git"))
			w.write(w.dir+"/.git/commondir", "../../other/.git\n")
		},
		"hooks": func(w *world) {
			w.must(os.Rename(w.root+"/old", w.dir+"/.git"))
			w.must(os.RemoveAll(w.dir + "/.git/hooks"))
			w.must(os.Symlink(w.root+"/other/.git/hooks", w.dir+"/.git/hooks"))
		},
		"modules": func(w *world) {
			w.must(os.Rename(w.root+"/old", w.dir+"/.git"))
			w.must(os.Symlink(w.root+"/other", w.dir+"/.git/modules"))
		},
		"info": func(w *world) {
			w.must(os.Rename(w.root+"/old", w.dir+"/.git"))
			w.must(os.RemoveAll(w.dir + "/.git/info"))
			w.must(os.Symlink(w.root+"/other/.git/info", w.dir+"/.git/info"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.repo(w.dir)
			w.repo(w.root + "/other")
			w.git(w.root+"/other", "config", "alias.st", "!mine")
			w.hook(w.root + "/other/.git/hooks/pre-push")
			w.write(w.root+"/other/.git/info/attributes", "*.txt text\n")
			before := w.capture(w.dir)
			w.must(os.Rename(w.dir+"/.git", w.root+"/old"))
			redirect(w)
			list := w.check(before)
			if len(list) == 0 {
				t.Error("no violation")
			}
			if got := w.git(w.root+"/other", "config", "alias.st"); got != "!mine\n" {
				t.Errorf("alias %q", got)
			}
			if w.read(w.root+"/other/.git/hooks/pre-push") != w.script() || w.read(w.root+"/other/.git/info/attributes") == "" {
				t.Error("the other repository lost a file")
			}
			if _, err := os.Lstat(w.dir + "/.git"); (name == "file" || name == "link") && err == nil {
				t.Error("an empty .git stands where none can be put back")
			}
			if _, err := os.Lstat(w.dir + "/.git/modules"); name == "modules" && err == nil {
				t.Error("the link is still there")
			}
		})
	}
}

func TestAnOverfullHooksDirectoryIsMovedAway(t *testing.T) {
	w := newWorld(t)
	w.repo(w.dir)
	w.hook(w.dir + "/.git/hooks/pre-push")
	before := w.capture(w.dir)
	w.writeMode(w.dir+"/.git/hooks/pre-push", "evil", 0o755)
	for i := range maxHooks + 10 {
		w.must(os.WriteFile(fmt.Sprintf("%s/.git/hooks/x%d", w.dir, i), nil, 0o755))
	}
	list := w.check(before)
	if len(list) != 2 || !strings.Contains(list[0].What, "too many entries") {
		t.Errorf("%d: %+v", len(list), list[:min(3, len(list))])
	}
	if got, err := os.ReadDir(w.dir + "/.git/hooks"); err != nil || len(got) != 1 || w.read(w.dir+"/.git/hooks/pre-push") != w.script() {
		t.Errorf("%v %v", got, err)
	}
	if w.read(list[0].Kept+"/pre-push") != "evil" {
		t.Error("the run's version was not kept")
	}
}

// A hook that was too large to hold is not run in the run's version: it is taken away, and that is said.
func TestALargeHookIsTakenAway(t *testing.T) {
	w := newWorld(t)
	w.repo(w.dir)
	hook := w.dir + "/.git/hooks/pre-push"
	w.writeMode(hook, strings.Repeat("x", maxText+1), 0o755)
	before := w.capture(w.dir)
	if list := w.check(before); len(list) != 0 {
		t.Fatalf("without a change: %v", list)
	}
	w.writeMode(hook, strings.Repeat("x", maxText)+"y", 0o755)
	list, err := Check(context.Background(), before, w.keep)
	if !errors.Is(err, ErrIncomplete) || len(list) != 1 || list[0].Mended || !strings.Contains(err.Error(), "too large") {
		t.Fatalf("%v %v", list, err)
	}
	if _, serr := os.Lstat(hook); serr == nil || len(w.read(list[0].Kept)) != maxText+1 {
		t.Error("the run's hook is still there, or was not kept")
	}
}

// Writing through a directory that the run turned into a link would write somewhere else.
func TestNothingIsWrittenThroughALink(t *testing.T) {
	w := newWorld(t)
	w.repo(w.dir)
	w.writeMode(w.dir+"/a/tools/mon", "#!/bin/sh\nexit 1\n", 0o755)
	config("core.fsmonitor", "./a/tools/mon")(w)
	before := w.capture(w.dir)
	w.must(os.MkdirAll(w.root+"/victim/tools", 0o755))
	w.write(w.root+"/victim/tools/mon", "precious")
	w.must(os.RemoveAll(w.dir + "/a"))
	w.must(os.Symlink(w.root+"/victim", w.dir+"/a"))
	list, err := Check(context.Background(), before, w.keep)
	if !errors.Is(err, ErrIncomplete) || len(list) != 1 || list[0].Mended {
		t.Errorf("%v %v", list, err)
	}
	if w.read(w.root+"/victim/tools/mon") != "precious" {
		t.Error("the file behind the link was written")
	}
}

func TestLimits(t *testing.T) {
	w := newWorld(t)
	w.repo(w.dir)
	for i := range 50 {
		w.write(fmt.Sprintf("%s/d%d/f", w.dir, i), "")
	}
	s, err := Capture(context.Background(), w.dir, Options{MaxEntries: 20})
	if err != nil || len(s.Problems()) != 1 {
		t.Errorf("limit: %v %v", s.Problems(), err)
	}
	if _, err := Inspect(context.Background(), s); !errors.Is(err, ErrIncomplete) {
		t.Errorf("Inspect after a limit: %v", err)
	}
	if _, err := Check(context.Background(), s, w.keep); !errors.Is(err, ErrIncomplete) {
		t.Errorf("Check after a limit: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Capture(ctx, w.dir, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := Capture(context.Background(), w.dir+"/missing", Options{}); err == nil {
		t.Error("a missing directory was captured")
	}
}

func TestManyViolations(t *testing.T) {
	w := newWorld(t)
	w.repo(w.dir)
	before := w.capture(w.dir)
	for i := range maxViolations + 200 {
		w.write(fmt.Sprintf("%s/.git/hooks/h%d\n", w.dir, i), "x")
	}
	list := w.check(before)
	if len(list) != maxViolations {
		t.Errorf("%d", len(list))
	}
	for _, v := range list {
		if strings.ContainsAny(v.What, "\n\r") {
			t.Fatalf("%q", v.What)
		}
	}
}

// What the run made unreadable is put back all the same. root reads everything, so root runs this as another user.
func TestUnreadable(t *testing.T) {
	if os.Getenv("REPOCODE_TEST_AS_USER") == "" && os.Geteuid() == 0 {
		dir, err := os.MkdirTemp("/tmp", "repocode-user-*")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		exe, err := os.ReadFile(self)
		if err == nil {
			err = errors.Join(os.WriteFile(dir+"/test", exe, 0o755), os.Chmod(dir, 0o777))
		}
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(dir+"/test", "-test.run", "^TestUnreadable$", "-test.v")
		cmd.Env = []string{"REPOCODE_TEST_AS_USER=1", "TMPDIR=" + dir, "PATH=" + os.Getenv("PATH")}
		cmd.Dir = dir
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestUnreadable") {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	w := newWorld(t)
	w.repo(w.dir)
	w.hook(w.dir + "/.git/hooks/pre-push")
	mine := w.read(w.dir + "/.git/config")
	before := w.capture(w.dir)
	w.write(w.dir+"/.git/config", "[alias]\nx=!y\n")
	w.must(os.Chmod(w.dir+"/.git/config", 0))
	w.writeMode(w.dir+"/.git/hooks/pre-push", "evil", 0)
	w.must(os.Chmod(w.dir+"/.git/hooks", 0))
	list := w.check(before)
	if len(list) != 3 {
		t.Errorf("%+v", list)
	}
	if w.read(w.dir+"/.git/config") != mine || w.read(w.dir+"/.git/hooks/pre-push") != w.script() {
		t.Error("not put back")
	}
	w.must(os.Mkdir(w.dir+"/closed", 0))
	defer os.Chmod(w.dir+"/closed", 0o700)
	if _, err := Inspect(context.Background(), before); !errors.Is(err, ErrIncomplete) || !strings.Contains(err.Error(), filepath.Join(w.dir, "closed")) {
		t.Errorf("a directory that cannot be read: %v", err)
	}
}
