//go:build unix

package gitdiff

import (
	"context"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// An attack is one way in which a repository makes git run its program when somebody looks at what has changed. Each is shown to
// work with the git that a user would call.
type attack struct {
	name    string
	prepare func(w *world)
	trigger []string // of git; none: diff HEAD
}

func config(args ...string) func(w *world) {
	return func(w *world) {
		for i := 0; i < len(args); i += 2 {
			w.git(w.dir, "config", "--replace-all", args[i], strings.ReplaceAll(args[i+1], "TOUCH", w.touch()))
		}
	}
}

func driven(attributes string, args ...string) func(w *world) {
	return func(w *world) {
		w.write(".gitattributes", attributes)
		config(args...)(w)
	}
}

// lazily makes the repository a partial clone that lacks an object, the old content of a file, and fetches it by the given means.
func lazily(args ...string) func(w *world) { return lacking("HEAD:a.txt", args...) }

func lacking(object string, args ...string) func(w *world) {
	return func(w *world) {
		config("core.repositoryformatversion", "1", "extensions.partialclone", "o", "remote.o.promisor", "true", "remote.o.partialclonefilter", "blob:none")(w)
		config(args...)(w)
		id := strings.TrimSpace(w.git(w.dir, "rev-parse", object))
		w.must(os.Remove(w.dir + "/.git/objects/" + id[:2] + "/" + id[2:]))
	}
}

var attacks = []attack{
	{"fsmonitor", config("core.fsmonitor", "TOUCH; false"), nil},
	{"fsmonitor of an included file", func(w *world) {
		w.write("x.inc", "[core]\nfsmonitor = \""+w.touch()+"; false\"\n")
		config("include.path", "../x.inc")(w)
	}, nil},
	{"fsmonitor of the work tree's configuration", func(w *world) {
		config("extensions.worktreeConfig", "true")(w)
		w.git(w.dir, "config", "--worktree", "core.fsmonitor", w.touch()+"; false")
	}, nil},
	{"external diff", config("diff.external", "TOUCH;"), nil},
	{"diff driver", driven("*.txt diff=x\n", "diff.x.command", "TOUCH;"), nil},
	{"textconv", driven("*.txt diff=x\n", "diff.x.textconv", "TOUCH; cat"), nil},
	{"textconv by info/attributes", func(w *world) {
		w.write(".git/info/attributes", "*.txt diff=x\n")
		config("diff.x.textconv", "TOUCH; cat")(w)
	}, nil},
	{"textconv by core.attributesFile", func(w *world) {
		w.write(w.root+"/attributes", "*.txt diff=x\n")
		config("core.attributesFile", w.root+"/attributes", "diff.x.textconv", "TOUCH; cat")(w)
	}, nil},
	{"clean filter", driven("*.txt filter=x\n", "filter.x.clean", "TOUCH; cat"), nil},
	{"required clean filter", driven("*.txt filter=x\n", "filter.x.clean", "TOUCH; cat", "filter.x.required", "true"), nil},
	{"filter process", driven("*.txt filter=x\n", "filter.x.process", "TOUCH; false"), nil},
	{"hook when the index is written", func(w *world) {
		w.write(".git/hooks/post-index-change", "#!/bin/sh\n"+w.touch()+"\n")
		w.must(os.Chmod(w.dir+"/.git/hooks/post-index-change", 0o755))
	}, []string{"add", "a.txt"}},
	{"hooks path", func(w *world) {
		w.write("hooks/post-index-change", "#!/bin/sh\n"+w.touch()+"\n")
		w.must(os.Chmod(w.dir+"/hooks/post-index-change", 0o755))
		config("core.hooksPath", w.dir+"/hooks")(w)
	}, []string{"add", "a.txt"}},
	{"fsmonitor of a submodule", func(w *world) {
		w.repo(w.root + "/sub")
		w.git(w.dir, "submodule", "add", "-q", w.root+"/sub", "sub")
		w.git(w.dir, "commit", "-q", "-am", "sub")
		w.git(w.dir+"/sub", "config", "core.fsmonitor", w.touch()+"; false")
		w.write("sub/a.txt", "x\n")
	}, nil},
	{"missing object by ext::", func(w *world) { lazily("protocol.ext.allow", "always", "remote.o.url", "ext::touch "+w.marker)(w) }, nil},
	{"missing object, a commit", func(w *world) {
		w.git(w.dir, "commit", "-q", "--allow-empty", "-m", "second")
		lacking("HEAD~1", "protocol.ext.allow", "always", "remote.o.url", "ext::touch "+w.marker)(w)
	}, []string{"merge-base", "HEAD~1", "HEAD"}},
	{"missing object by ssh", lazily("core.sshCommand", "TOUCH; false", "remote.o.url", "ssh://h/x"), nil},
	{"missing object by upload-pack", lazily("remote.o.url", "/", "remote.o.uploadpack", "TOUCH;"), nil},
	{"missing object by a proxy", func(w *world) {
		w.write(w.root+"/proxy", "#!/bin/sh\n"+w.touch()+"\n")
		w.must(os.Chmod(w.root+"/proxy", 0o755))
		lazily("core.gitProxy", w.root+"/proxy", "remote.o.url", "git://h/x")(w)
	}, nil},
}

func TestNothingOfTheRepositoryRuns(t *testing.T) {
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			a.prepare(w)
			w.write("a.txt", "one\nTWO\nthree\n")
			w.fired()
			if a.trigger == nil {
				a.trigger = []string{"diff", "HEAD"}
			}
			if out, err := w.tryGit(w.dir, a.trigger...); !w.fired() {
				t.Fatalf("the attack does not work, so the test proves nothing: %v: %s", err, out)
			}
			w.write("a.txt", "one\nZWEI\nthree\n")
			c, err := w.collect(w.options())
			if w.fired() {
				t.Error("the repository's program ran")
			}
			if _, text := shown(c); !strings.HasPrefix(a.name, "missing object") && (err != nil || !strings.Contains(text, "+ZWEI")) {
				t.Errorf("%v: %s", err, text)
			} else if strings.HasPrefix(a.name, "missing object by") && err == nil {
				t.Error("what is missing was shown")
			}
			for _, choice := range []Options{{Base: "HEAD"}, {Base: "main@{upstream}"}, {Staged: true}, {Commit: "HEAD"}, {Paths: []string{w.dir}}} {
				o := w.options()
				o.Base, o.Staged, o.Commit, o.Paths = choice.Base, choice.Staged, choice.Commit, choice.Paths
				if w.collect(o); w.fired() {
					t.Errorf("the repository's program ran for %+v", choice)
				}
			}
		})
	}
}

// What cannot be read to its end is not waited for.
func TestPipesAreNotWaitedFor(t *testing.T) {
	for _, name := range []string{".gitattributes", ".git/x.inc"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			config("include.path", "x.inc")(w)
			w.write("a.txt", "x\n")
			w.must(syscall.Mkfifo(w.dir+"/"+name, 0o644))
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			began := time.Now()
			if _, err := Collect(ctx, w.options()); err == nil || time.Since(began) > 5*time.Second {
				t.Errorf("%v after %v", err, time.Since(began))
			}
		})
	}
	t.Run("in place of the index", func(t *testing.T) {
		w := newWorld(t)
		w.must(os.Remove(w.dir + "/.git/index"))
		w.must(syscall.Mkfifo(w.dir+"/.git/index", 0o644))
		if _, err := w.collect(w.options()); err == nil || !strings.Contains(err.Error(), "no regular file") {
			t.Error(err)
		}
	})
}

// The cage is the second line: what runs all the same can write nothing.
func TestTheKernelHoldsWhatGitWouldRun(t *testing.T) {
	t.Setenv("OC_DELEGATE_TEST_ONLY_NO_LANDLOCK", "")
	w := newWorld(t)
	w.write("a.txt", "x\n")
	r, err := open(t.Context(), w.options())
	w.must(err)
	defer r.close()
	var text []byte
	status := []string{"--no-pager", "-c", "core.fsmonitor=" + w.touch() + " && echo ran >&2; false", "-c", "x.y=z", "-c", "x.y=z", "status", "--short"}
	err = r.run(t.Context(), append(r.env, "GIT_DIR="+r.gitDir, "GIT_WORK_TREE="+r.top), status, func(out io.Reader) error {
		text, err = io.ReadAll(out)
		return err
	})
	if err != nil || !strings.Contains(string(text), "a.txt") {
		t.Fatalf("%v: %s", err, text)
	}
	if w.fired() {
		t.Error("it was written outside of the cage")
	}
	c := w.mustCollect(w.options())
	if paths, _ := shown(c); paths != "a.txt" {
		t.Errorf("in the cage %q is shown", paths)
	}
}
