//go:build unix

package repocode

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
)

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
