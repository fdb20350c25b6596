//go:build unix

package repocode

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// An attack is one way in which a run makes the user's next git command run its program. Each is shown to work with the real git
// before Check, and to do nothing after it.
type attack struct {
	name    string
	prepare func(w *world) // before the run; nil: a plain repository at w.dir
	dir     string         // of the run, below the root; empty: w.dir
	run     func(w *world) // what the run does
	trigger func(w *world) // what the user does later
	want    string         // part of a violation
	after   func(w *world) // further proof
}

func gitDoes(args ...string) func(w *world) {
	return func(w *world) { w.write(w.dir+"/a.txt", "changed\n"); w.tryGit(w.dir, args...) }
}

func config(args ...string) func(w *world) {
	return func(w *world) {
		for i := 0; i < len(args); i += 2 {
			w.git(w.dir, "config", "--replace-all", w.fill(args[i]), w.fill(args[i+1]))
		}
	}
}

// submodule makes w.dir a repository with the submodule libs/sub, which holds the submodule deep.
func submodule(w *world) {
	w.repo(w.root + "/deep")
	w.repo(w.root + "/sub")
	w.git(w.root+"/sub", "submodule", "add", "-q", w.root+"/deep", "deep")
	w.git(w.root+"/sub", "commit", "-q", "-m", "sub")
	w.repo(w.dir)
	w.git(w.dir, "submodule", "add", "-q", w.root+"/sub", "libs/sub")
	w.git(w.dir, "submodule", "update", "-q", "--init", "--recursive")
	w.git(w.dir, "commit", "-q", "-m", "sub")
}

func linked(w *world) {
	w.repo(w.root + "/main")
	w.git(w.root+"/main", "worktree", "add", "-q", w.root+"/linked")
}

var attacks = []attack{
	{name: "hook added", run: func(w *world) { w.hook(w.dir + "/.git/hooks/pre-commit") }, trigger: gitDoes("commit", "-qam", "x"), want: "hook .git/hooks/pre-commit was added"},
	{name: "hook as a link", run: func(w *world) {
		w.hook(w.dir + "/x.sh")
		w.must(os.Symlink("../../x.sh", w.dir+"/.git/hooks/post-commit"))
	},
		trigger: gitDoes("commit", "-qam", "x"), want: "was added as a symbolic link"},
	{name: "hook changed", prepare: func(w *world) {
		w.repo(w.dir)
		w.writeMode(w.dir+"/.git/hooks/pre-commit", "#!/bin/sh\nexit 0\n", 0o750)
	},
		run: func(w *world) { w.hook(w.dir + "/.git/hooks/pre-commit") }, trigger: gitDoes("commit", "-qam", "x"), want: "hook .git/hooks/pre-commit was changed",
		after: func(w *world) {
			if fi, err := os.Stat(w.dir + "/.git/hooks/pre-commit"); err != nil || fi.Mode().Perm() != 0o750 {
				w.t.Errorf("mode %v, %v", fi.Mode(), err)
			}
		}},
	{name: "hook made executable", prepare: func(w *world) { w.repo(w.dir); w.writeMode(w.dir+"/.git/hooks/pre-commit", w.script(), 0o644) },
		run:     func(w *world) { w.must(os.Chmod(w.dir+"/.git/hooks/pre-commit", 0o755)) },
		trigger: gitDoes("commit", "-qam", "x"), want: "changed its mode from 0644 to 0755"},
	{name: "hooks directory as a link", run: func(w *world) {
		w.hook(w.dir + "/evil/pre-commit")
		w.must(os.RemoveAll(w.dir + "/.git/hooks"))
		w.must(os.Symlink("../evil", w.dir+"/.git/hooks"))
	}, trigger: gitDoes("commit", "-qam", "x"), want: "git directory .git/hooks was replaced by a symbolic link"},
	{name: "hooksPath", run: func(w *world) { w.hook(w.dir + "/h/pre-commit"); config("core.hooksPath", "h")(w) }, trigger: gitDoes("commit", "-qam", "x"), want: "core.hookspath was added"},
	{name: "hook in the work tree's hooks directory", prepare: func(w *world) { w.repo(w.dir); config("core.hooksPath", ".husky/_")(w) },
		run: func(w *world) { w.hook(w.dir + "/.husky/_/pre-commit") }, trigger: gitDoes("commit", "-qam", "x"), want: "hook .husky/_/pre-commit was added"},
	{name: "hook in the hooks directory that the user's configuration names", prepare: func(w *world) { w.repo(w.dir); w.write(w.home+"/.gitconfig", "[core]\nhooksPath = .githooks\n") },
		run: func(w *world) { w.hook(w.dir + "/.githooks/pre-commit") }, trigger: gitDoes("commit", "-qam", "x"), want: "hook .githooks/pre-commit was added"},
	{name: "fsmonitor", run: config("core.fsmonitor", "TOUCH; false"), trigger: gitDoes("status"), want: "core.fsmonitor was added"},
	{name: "pager", run: config("core.pager", "TOUCH; cat"), trigger: gitDoes("--paginate", "log"), want: ""}, // replaced below: needs a terminal
	{name: "alias", run: config("alias.st", "!TOUCH"), trigger: gitDoes("st"), want: "alias.st was added"},
	{name: "external diff", run: config("diff.external", "TOUCH; true"), trigger: gitDoes("diff"), want: "diff.external was added"},
	{name: "textconv through info/attributes", prepare: func(w *world) { w.repo(w.dir); config("diff.x.textconv", "TOUCH; cat")(w) },
		run: func(w *world) { w.write(w.dir+"/.git/info/attributes", "*.txt diff=x\n") }, trigger: gitDoes("diff"), want: ".git/info/attributes was added"},
	{name: "filter through .gitattributes", run: func(w *world) {
		w.write(w.dir+"/.gitattributes", "*.txt filter=x\n")
		config("filter.x.clean", "TOUCH; cat")(w)
	}, trigger: gitDoes("add", "a.txt"), want: "filter.x.clean was added"},
	{name: "merge driver", prepare: func(w *world) {
		w.repo(w.dir)
		w.git(w.dir, "checkout", "-q", "-b", "other")
		w.write(w.dir+"/a.txt", "other\n")
		w.git(w.dir, "commit", "-qam", "other")
		w.git(w.dir, "checkout", "-q", "main")
		w.write(w.dir+"/a.txt", "main\n")
		w.git(w.dir, "commit", "-qam", "main")
	}, run: func(w *world) {
		w.write(w.dir+"/.gitattributes", "*.txt merge=x\n")
		config("merge.x.driver", "TOUCH; true")(w)
	}, trigger: func(w *world) { w.tryGit(w.dir, "merge", "other"); w.tryGit(w.dir, "reset", "--hard") }, want: "merge.x.driver was added"},
	{name: "include", run: func(w *world) {
		w.write(w.dir+"/x.inc", "[alias]\nst = !"+w.touch()+"\n")
		config("include.path", "../x.inc")(w)
	}, trigger: gitDoes("st"), want: "include.path was added"},
	{name: "includeIf", run: func(w *world) {
		w.write(w.dir+"/x.inc", "[alias]\nst = !"+w.touch()+"\n")
		config("includeIf.gitdir:"+w.root+"/.path", "../x.inc")(w)
	}, trigger: gitDoes("st"), want: "was added"},
	{name: "included file of the project", prepare: func(w *world) {
		w.repo(w.dir)
		w.write(w.dir+"/.gitconfig", "[user]\nname=x\n")
		config("include.path", "../.gitconfig")(w)
	},
		run: func(w *world) { w.write(w.dir+"/.gitconfig", "[user]\nname=y\n[alias]\nst = \"!"+w.touch()+"\"\n") }, trigger: gitDoes("st"), want: "alias.st was added in .gitconfig",
		after: func(w *world) {
			if got := w.git(w.dir, "config", "user.name"); got != "y\n" {
				w.t.Errorf("the ordinary key is %q", got)
			}
		}},
	{name: "program of the project that a key names", prepare: func(w *world) {
		w.repo(w.dir)
		w.writeMode(w.dir+"/tools/mon", "#!/bin/sh\nexit 1\n", 0o755)
		config("core.fsmonitor", "./tools/mon")(w)
	}, run: func(w *world) { w.hook(w.dir + "/tools/mon") }, trigger: gitDoes("status"), want: "tools/mon was changed"},
	{name: "sshCommand", run: config("core.sshCommand", "TOUCH; false", "remote.o.url", "ssh://h/x"), trigger: gitDoes("fetch", "o"), want: "core.sshcommand was added",
		after: func(w *world) {
			if got := w.git(w.dir, "config", "remote.o.url"); got != "ssh://h/x\n" {
				w.t.Errorf("the ordinary key is %q", got)
			}
		}},
	{name: "ext transport", run: config("protocol.ext.allow", "always", "remote.o.url", "ext::touch MARKER"), trigger: gitDoes("fetch", "o"), want: "remote.o.url was added"},
	{name: "uploadpack", run: config("remote.o.url", "/", "remote.o.uploadpack", "TOUCH;"), trigger: gitDoes("fetch", "o"), want: "remote.o.uploadpack was added"},
	{name: "insteadOf", run: config("protocol.ext.allow", "always", "url.ext::touch MARKER .insteadOf", "https://h/"), trigger: gitDoes("fetch", "https://h/x"), want: "insteadof was added"},
	{name: "credential helper", run: config("credential.helper", "!TOUCH;"), trigger: func(w *world) { w.stdin = "protocol=https\nhost=h\n\n"; w.tryGit(w.dir, "credential", "fill") }, want: "credential.helper was added"},
	{name: "editor", run: config("sequence.editor", "TOUCH;"), trigger: func(w *world) {
		w.tryGit(w.dir, "commit", "-q", "--allow-empty", "-m", "x")
		w.tryGit(w.dir, "rebase", "-i", "HEAD~1")
	}, want: "sequence.editor was added"},
	{name: "signing program", run: config("gpg.program", "/bin/sh", "commit.gpgsign", "true"), trigger: nil, want: "gpg.program was added"},
	{name: "submodule update", prepare: submodule, run: config("submodule.libs/sub.update", "!TOUCH;"),
		trigger: func(w *world) {
			w.tryGit(w.dir+"/libs/sub", "checkout", "-q", "main~1")
			w.tryGit(w.dir, "submodule", "update")
		}, want: "submodule.libs/sub.update was added"},
	{name: "worktree configuration", run: func(w *world) {
		config("extensions.worktreeConfig", "true")(w)
		w.git(w.dir, "config", "--worktree", "core.fsmonitor", w.touch()+"; false")
	}, trigger: gitDoes("status"), want: "core.fsmonitor was added in .git/config.worktree"},
	{name: "configuration of a submodule", prepare: submodule, run: func(w *world) { w.git(w.dir+"/libs/sub", "config", "core.fsmonitor", w.touch()+"; false") },
		trigger: gitDoes("status"), want: "core.fsmonitor was added in .git/modules/libs/sub/config"},
	{name: "hook of a nested submodule", prepare: submodule, run: func(w *world) { w.hook(w.dir + "/.git/modules/libs/sub/modules/deep/hooks/pre-commit") },
		trigger: func(w *world) { w.tryGit(w.dir+"/libs/sub/deep", "commit", "-q", "--allow-empty", "-m", "x") }, want: "modules/deep/hooks/pre-commit was added"},
	{name: "new submodule with a hook", run: func(w *world) {
		w.repo(w.root + "/sub")
		w.git(w.dir, "submodule", "add", "-q", w.root+"/sub", "sub")
		w.hook(w.dir + "/.git/modules/sub/hooks/post-commit")
	}, trigger: func(w *world) { w.git(w.dir+"/sub", "commit", "-q", "--allow-empty", "-m", "x") }, want: "hook .git/modules/sub/hooks/post-commit was added"},
	{name: "linked worktree: hook in the common directory", prepare: linked, dir: "linked", run: func(w *world) { w.hook(w.root + "/main/.git/hooks/pre-commit") },
		trigger: func(w *world) { w.tryGit(w.root+"/main", "commit", "-q", "--allow-empty", "-m", "x") }, want: "main/.git/hooks/pre-commit was added"},
	{name: "linked worktree: its own configuration", prepare: func(w *world) { linked(w); w.git(w.root+"/linked", "config", "extensions.worktreeConfig", "true") }, dir: "linked",
		run:     func(w *world) { w.git(w.root+"/linked", "config", "--worktree", "core.fsmonitor", w.touch()+"; false") },
		trigger: func(w *world) { w.tryGit(w.root+"/linked", "status") }, want: "core.fsmonitor was added"},
	{name: "another linked worktree's configuration", prepare: func(w *world) {
		linked(w)
		w.git(w.root+"/main", "worktree", "add", "-q", w.root+"/third")
		w.git(w.root+"/main", "config", "extensions.worktreeConfig", "true")
	}, dir: "linked", run: func(w *world) {
		w.write(w.root+"/main/.git/worktrees/third/config.worktree", "[core]\nfsmonitor = \""+w.touch()+"; false\"\n")
	},
		trigger: func(w *world) { w.tryGit(w.root+"/third", "status") }, want: "worktrees/third/config.worktree"},
	{name: "commondir", run: func(w *world) {
		w.repo(w.root + "/evil")
		w.git(w.root+"/evil", "config", "alias.st", "!"+w.touch())
		w.write(w.dir+"/.git/commondir", w.root+"/evil/.git\n")
	}, trigger: gitDoes("st"), want: ".git/commondir was added"},
	{name: ".git as a file that leads elsewhere", run: func(w *world) {
		w.repo(w.root + "/evil")
		w.git(w.root+"/evil", "config", "alias.st", "!"+w.touch())
		w.must(os.Rename(w.dir+"/.git", w.root+"/old"))
		w.write(w.dir+"/.git", "gitdir: "+w.root+"/evil/.git\n")
	}, trigger: gitDoes("st"), want: "repository .git was replaced by a file"},
	{name: ".git as a file that leads into the tree", run: func(w *world) {
		w.must(os.Rename(w.dir+"/.git", w.dir+"/gd"))
		w.git(w.dir+"/gd", "config", "alias.st", "!"+w.touch())
		w.write(w.dir+"/.git", "gitdir: gd\n")
	}, trigger: gitDoes("st"), want: "alias.st was added in gd/config"},
	{name: ".git as a link", run: func(w *world) {
		w.repo(w.root + "/evil")
		w.git(w.root+"/evil", "config", "alias.st", "!"+w.touch())
		w.must(os.Rename(w.dir+"/.git", w.root+"/old"))
		w.must(os.Symlink(w.root+"/evil/.git", w.dir+"/.git"))
	}, trigger: gitDoes("st"), want: "repository .git was replaced by a symbolic link"},
	{name: ".git exchanged for another directory", run: func(w *world) {
		w.must(os.Rename(w.dir+"/.git", w.root+"/old"))
		w.git(w.root, "init", "-q", w.dir)
		config("alias.st", "!TOUCH")(w)
	}, trigger: gitDoes("st"), want: "alias.st was added"},
	{name: "new repository where none was", prepare: func(*world) {}, run: func(w *world) { w.repo(w.dir); config("alias.st", "!TOUCH")(w) }, trigger: gitDoes("st"), want: "alias.st was added"},
	{name: "new nested repository with a hook", run: func(w *world) {
		w.must(os.Mkdir(w.dir+"/x", 0o755))
		w.repo(w.dir + "/x/y")
		w.hook(w.dir + "/x/y/.git/hooks/post-commit")
	},
		trigger: func(w *world) { w.git(w.dir+"/x/y", "commit", "-q", "--allow-empty", "-m", "x") }, want: "hook x/y/.git/hooks/post-commit was added"},
	{name: "new bare repository in the tree", run: func(w *world) {
		w.git(w.dir, "init", "-q", "--bare", "data")
		w.git(w.dir+"/data", "config", "alias.st", "!"+w.touch())
	}, trigger: func(w *world) { w.tryGit(w.dir+"/data", "st") }, want: "alias.st was added in data/config"},
	{name: "new repository in a parent", prepare: func(w *world) { w.must(os.Mkdir(w.dir+"/in", 0o755)) }, dir: "work/in",
		run: func(w *world) { w.repo(w.dir); config("alias.st", "!TOUCH")(w) }, trigger: func(w *world) { w.tryGit(w.dir+"/in", "st") }, want: "alias.st was added"},
	{name: "run in a subdirectory", prepare: func(w *world) { w.repo(w.dir); w.must(os.Mkdir(w.dir+"/in", 0o755)) }, dir: "work/in",
		run: func(w *world) { config("alias.st", "!TOUCH")(w) }, trigger: gitDoes("st"), want: "alias.st was added"},
	{name: "bare repository", prepare: func(w *world) { w.git(w.root, "init", "-q", "--bare", w.dir) }, run: func(w *world) { config("alias.st", "!TOUCH")(w) },
		trigger: func(w *world) { w.tryGit(w.dir, "st") }, want: "alias.st was added in config"},
	{name: "bare repository above", prepare: func(w *world) {
		w.git(w.root, "init", "-q", "--bare", w.dir)
		w.must(os.Mkdir(w.dir+"/in", 0o755))
	}, dir: "work/in", run: func(w *world) { w.git(w.dir, "config", "alias.st", "!"+w.touch()) },
		trigger: func(w *world) { w.tryGit(w.dir+"/in", "st") }, want: "alias.st was added"},
	{name: "linked worktree that lost its .git", prepare: linked, dir: "linked", run: func(w *world) {
		w.hook(w.root + "/main/.git/hooks/pre-commit")
		w.must(os.Remove(w.root + "/linked/.git"))
	}, trigger: func(w *world) { w.tryGit(w.root+"/main", "commit", "-q", "--allow-empty", "-m", "x") }, want: "main/.git/hooks/pre-commit was added"},
	{name: ".git file that leads out to nothing yet", run: func(w *world) { w.write(w.dir+"/sub/.git", "gitdir: "+w.root+"/later\n") },
		trigger: nil, want: "repository sub/.git was added", after: func(w *world) {
			w.repo(w.root + "/x")
			w.must(os.Rename(w.root+"/x/.git", w.root+"/later"))
			w.git(w.root+"/later", "config", "alias.st", "!"+w.touch())
			if w.tryGit(w.dir+"/sub", "st"); w.fired() {
				w.t.Error("it came to life")
			}
		}},
	{name: "core.worktree", run: config("core.worktree", "/"), want: "core.worktree was added"},
	{name: "core.worktree of a new repository", run: func(w *world) {
		w.must(os.Mkdir(w.dir+"/n", 0o755))
		w.repo(w.dir + "/n/e")
		w.git(w.dir+"/n/e", "config", "core.worktree", w.root)
	}, want: "core.worktree was added in n/e/.git/config"},
	{name: "hooks directory that was the user's link", prepare: func(w *world) {
		w.repo(w.dir)
		w.must(os.RemoveAll(w.dir + "/.git/hooks"))
		w.must(os.Mkdir(w.root+"/hooks", 0o755))
		w.must(os.Symlink(w.root+"/hooks", w.dir+"/.git/hooks"))
	}, run: func(w *world) { w.must(os.Remove(w.dir + "/.git/hooks")); w.hook(w.dir + "/.git/hooks/pre-commit") },
		trigger: gitDoes("commit", "-qam", "x"), want: "git directory .git/hooks was replaced by a directory", after: func(w *world) {
			if target, _ := os.Readlink(w.dir + "/.git/hooks"); target != w.root+"/hooks" {
				w.t.Errorf("leads to %q", target)
			}
		}},
	{name: "new configuration that holds nothing else", run: func(w *world) { w.write(w.dir+"/.git/config.worktree", "[alias]\n x = !y\n") }, want: "alias.x was added",
		after: func(w *world) {
			if _, err := os.Lstat(w.dir + "/.git/config.worktree"); err == nil {
				w.t.Error("an empty file stays")
			}
		}},
	{name: "configuration as a link", run: func(w *world) {
		w.write(w.dir+"/c", w.read(w.dir+"/.git/config")+"[alias]\nst = !"+w.touch()+"\n")
		w.must(os.Remove(w.dir + "/.git/config"))
		w.must(os.Symlink("../c", w.dir+"/.git/config"))
	}, trigger: gitDoes("st"), want: "git configuration .git/config was replaced by a symbolic link"},
	{name: "configuration behind a link of the user", prepare: func(w *world) {
		w.repo(w.dir)
		w.must(os.Rename(w.dir+"/.git/config", w.dir+"/.git/real"))
		w.must(os.Symlink("real", w.dir+"/.git/config"))
	}, run: config("alias.st", "!TOUCH"), trigger: gitDoes("st"), want: "alias.st was added in .git/real"},
	{name: "configuration in an old and odd syntax", run: func(w *world) {
		w.write(w.dir+"/.git/config", "\xef\xbb\xbf"+w.read(w.dir+"/.git/config")+"[core] [ALIAS]ST = \"!\"\\\n"+w.touch()+"\n")
	}, trigger: gitDoes("st"), want: "alias.st was added"},
}

func TestEachAttackWorksBeforeCheckAndNotAfter(t *testing.T) {
	for _, a := range attacks {
		if a.name == "pager" {
			a.trigger = nil // git starts a pager only on a terminal
			a.want = "core.pager was added"
		}
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if a.prepare == nil {
				w.repo(w.dir)
			} else {
				a.prepare(w)
			}
			dir := w.dir
			if a.dir != "" {
				dir = filepath.Join(w.root, a.dir)
			}
			before := w.capture(dir)
			if list := w.check(before); len(list) != 0 {
				t.Fatalf("without a run: %v", list)
			}
			a.run(w)
			w.fired()
			if a.trigger != nil {
				if a.trigger(w); !w.fired() {
					t.Fatal("the attack does not work, so the test proves nothing")
				}
			}
			list := w.check(before)
			found := false
			for _, v := range list {
				found = found || strings.Contains(v.What, a.want)
				if !v.Mended || v.Kept == "" || !strings.HasPrefix(v.Kept, w.keep) {
					t.Errorf("violation %+v", v)
				} else if _, err := os.Lstat(v.Kept); err != nil {
					t.Error(err)
				}
			}
			if !found {
				t.Errorf("no violation holds %q: %v", a.want, list)
			}
			if a.trigger != nil {
				if a.trigger(w); w.fired() {
					t.Error("the run's program still runs")
				}
			}
			if a.after != nil {
				a.after(w)
			}
		})
	}
}

// What cannot be read must neither block nor be followed.
func TestSpecialFilesAreReplaced(t *testing.T) {
	w := newWorld(t)
	w.repo(w.dir)
	w.hook(w.dir + "/.git/hooks/pre-push")
	want := w.read(w.dir + "/.git/config")
	before := w.capture(w.dir)
	w.must(os.Remove(w.dir + "/.git/config"))
	w.must(syscall.Mkfifo(w.dir+"/.git/config", 0o644))
	w.must(os.Remove(w.dir + "/.git/hooks/pre-push"))
	w.must(os.MkdirAll(w.dir+"/.git/hooks/pre-push/x", 0o755))
	w.must(syscall.Mkfifo(w.dir+"/.git/commondir", 0o644))
	w.must(syscall.Mkfifo(w.dir+"/.git/config.worktree", 0o644))
	w.must(syscall.Mkfifo(w.dir+"/.git/hooks/post-merge", 0o644))
	if list := w.check(before); len(list) != 5 {
		t.Errorf("%d violations: %v", len(list), list)
	}
	if got := w.read(w.dir + "/.git/config"); got != want {
		t.Errorf("config is %q", got)
	}
	if got := w.read(w.dir + "/.git/hooks/pre-push"); got != w.script() {
		t.Errorf("hook is %q", got)
	}
}
