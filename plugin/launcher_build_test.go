package plugin_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// fakeGo builds programs that say with which environment they were built. It reads all of its stdin, as a program may.
const fakeGo = `if [ "$1" = env ]; then echo "host-$2"; exit; fi
echo built >>"$GO_LOG"
cat >>"$GO_LOG"
if [ -n "$GO_SAYS" ]; then printf '%s\n' "$GO_SAYS" >&2; exit 1; fi
[ -z "$GO_TAKES" ] || sleep "$GO_TAKES"
while [ "$1" != -o ]; do shift; done
for name in oc-delegate oc-job; do
	{ echo '#!/bin/sh'; echo "echo '$name of $PWD: $GO111MODULE $GOFLAGS $GOWORK $CGO_ENABLED $GOOS $GOARCH'; cat; exit 7"; } >"$2$name"
	chmod 755 "$2$name"
done
`

// checkout turns a shelf into a checkout of the source, with a stand-in for Go on PATH and a home with nothing in it.
func checkout(s *shelf) {
	s.t.Helper()
	s.write("scripts/build-once", fromCheckout(s.t, "scripts/build-once"), 0o644)
	s.write("plugin.json", "{\n  \"name\": \"opencode\",\n  \"version\": \"0.1.0\",\n  \"other\": {\"version\": \"9\"}\n}\n", 0o644)
	for _, name := range []string{"go.mod", "go.sum", "cmd/oc-job/main.go", "internal/x/x.go", "plugin/plugin.go", "plugin/plugin_test.go"} {
		s.write(name, "source\n", 0o644)
	}
	s.age(-time.Hour, ".")
	s.program("fake/go", fakeGo)
	// All that the launchers use: the machine's Go may lie beside it.
	for _, name := range []string{"cat", "find", "mkdir", "mktemp", "mv", "rm", "sleep", "tr", "chmod", "sh"} {
		path, err := exec.LookPath(name)
		if err == nil {
			err = os.MkdirAll(s.path("tools"), 0o755)
		}
		if err == nil {
			err = os.Symlink(path, s.path("tools/"+name))
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}
	s.env = []string{"PATH=" + s.path("fake") + ":" + s.path("tools"), "HOME=" + s.path("home"), "GO_LOG=" + s.path("log")}
}

// age gives everything below a path a time of change.
func (s *shelf) age(by time.Duration, name string) {
	s.t.Helper()
	at := time.Now().Add(by)
	err := filepath.WalkDir(s.path(name), func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(path, at, at)
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *shelf) builds() int {
	text, _ := os.ReadFile(s.path("log")) // none: not built
	return strings.Count(string(text), "built\n")
}

// TestBuildsOnce: at the first call, for both programs, with a line on stderr, untouched by what the user has set for other work; then again when the source has
// changed, and only then.
func TestBuildsOnce(t *testing.T) {
	eachShell(t, "a \"checkout\"\n", func(t *testing.T, s *shelf) {
		checkout(s)
		s.env = append(s.env, "GOFLAGS=-tags=evil", "GOWORK=/elsewhere/go.work", "CGO_ENABLED=1", "GOOS=plan9", "GOARCH=mips", "GO111MODULE=off")
		want := func(name string, builds int) {
			t.Helper()
			got := s.call("/", "input\n", s.path("bin/"+name), "a task")
			out := name + " of " + s.dir + ": on -mod=readonly off 0 host-GOHOSTOS host-GOHOSTARCH\ninput\n"
			if got.exit != 7 || got.stdout != out {
				t.Errorf("%+v, want %q", got, out)
			}
			if n := s.builds(); n != builds || lineCount(got.stderr) > 1 || (got.stderr != "") != strings.Contains(got.stderr, name+": building once") {
				t.Errorf("built %d times, want %d; %q", n, builds, got.stderr)
			}
		}
		want("oc-delegate", 1)
		want("oc-job", 1)
		if text, _ := os.ReadFile(s.path("log")); string(text) != "built\n" {
			t.Errorf("Go was given the caller's stdin: %q", text)
		}
		s.age(time.Hour, "plugin/plugin_test.go")
		s.age(time.Hour, "plugin.json")
		want("oc-job", 1)
		for n, name := range []string{"internal/x/x.go", "go.mod", "plugin/plugin.go"} {
			s.age(-time.Hour, ".")
			s.age(time.Second, name)
			want("oc-job", n+2)
			s.age(-time.Hour, name)
		}
		want("oc-delegate", 4)
		s.write("plugin.json", `{"version":"0.2.0"}`, 0o644)
		want("oc-delegate", 5)
		// The rest of the cache is only the user's to read.
		for _, dir := range []string{"home/.cache/opencode-delegate", "home/.cache/opencode-delegate/build"} {
			if info, err := os.Stat(s.path(dir)); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("%s: %v, %v", dir, info.Mode(), err)
			}
		}
		s.leavesNothing()
		// A call of a hook takes what there is, and a machine that has lost its Go as well.
		s.age(time.Hour, "internal/x/x.go")
		if got := s.run("oc-job", "hook", "UserPromptSubmit"); !strings.HasPrefix(got.stdout, "oc-job of ") || s.builds() != 5 {
			t.Errorf("hook: %+v, built %d times", got, s.builds())
		}
		os.Remove(s.path("fake/go"))
		want("oc-job", 5)
	})
}

// leavesNothing: of a build nothing but the programs is left.
func (s *shelf) leavesNothing() {
	s.t.Helper()
	err := filepath.WalkDir(s.path("home"), func(path string, d os.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(d.Name(), "new.") {
			s.t.Errorf("left behind: %s", path)
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// TestHooksNeverBuild: the first of a session names what does.
func TestHooksNeverBuild(t *testing.T) {
	eachShell(t, "checkout", func(t *testing.T, s *shelf) {
		checkout(s)
		for _, event := range []string{"SessionStart", "SessionEnd", "UserPromptSubmit", "UserPromptExpansion", "PreToolUse", "Watch"} {
			got := s.call(s.dir, byConductor, s.path("bin/oc-job"), "hook", event)
			if got.exit != 0 || got.stderr != "" || (event == "SessionStart") != strings.Contains(got.stdout, "/opencode:setup builds it") || event != "SessionStart" && got.stdout != "" {
				t.Errorf("%s: %+v", event, got)
			}
		}
		if got := s.call(s.dir, bySubagent, s.path("bin/oc-job"), "hook", "PreToolUse"); got.exit != 2 || s.builds() != 0 {
			t.Errorf("the subagent: %+v, built %d times", got, s.builds())
		}
		// Behind "!" the answer comes first.
		if got := s.run("oc-job", "setup"); got.stderr != "" || !strings.HasPrefix(got.stdout, "oc-job of ") || s.builds() != 1 {
			t.Errorf("setup: %+v, built %d times", got, s.builds())
		}
		os.RemoveAll(s.path("home"))
		os.Remove(s.path("fake/go"))
		if got := s.run("oc-job", "hook", "SessionStart"); !strings.Contains(got.stdout, "install Go 1.26") {
			t.Errorf("without Go: %+v", got)
		}
	})
}

// TestBuildThatCannotBe is told in one line, with what Go said last, and leaves nothing behind.
func TestBuildThatCannotBe(t *testing.T) {
	eachShell(t, "checkout", func(t *testing.T, s *shelf) {
		checkout(s)
		all := s.env
		s.write("file", "", 0o644)
		foreign := notMine(t, s)
		for _, c := range []struct {
			what string
			env  []string
			want string
		}{
			{"no Go", []string{"PATH=" + s.path("tools")}, "there is no Go to build it: install Go 1.26"},
			{"Go fails", []string{"GO_SAYS=# package\nx.go:1:1: \"undefined\"\\n"}, "failed: x.go:1:1: \"undefined\"\\n"},
			{"no home", []string{"HOME="}, "HOME is not set"},
			{"a relative cache and no home", []string{"HOME=", "XDG_CACHE_HOME=cache"}, "HOME is not set"},
			{"a cache that is a file", []string{"XDG_CACHE_HOME=" + s.path("file")}, "cannot be written"},
			{"another's cache", []string{"XDG_CACHE_HOME=" + foreign}, "belongs to another user"},
		} {
			s.env = append(all[:len(all):len(all)], c.env...)
			got := s.run("oc-delegate", "x")
			told, signal, _ := strings.Cut(strings.TrimPrefix(got.stderr, "oc-delegate: building once with Go, which can take a minute\n"), "\n")
			if got.exit != 1 || got.stdout != "" || !strings.HasPrefix(told, "oc-delegate: ") || !strings.Contains(told, c.want) {
				t.Errorf("%s: %+v", c.what, got)
			}
			checkSignal(t, signal, "USAGE", 1)
			if got := s.run("oc-job", "setup"); got.exit != 0 || got.stderr != "" || lineCount(got.stdout) != 1 || !strings.Contains(got.stdout, c.want) {
				t.Errorf("%s: %+v", c.what, got)
			}
			if got := s.run("oc-job", "hook", "SessionStart"); got.exit != 0 || !strings.HasPrefix(got.stdout, `{"systemMessage":`) || got.stderr != "" {
				t.Errorf("%s: %+v", c.what, got)
			}
		}
		if _, err := os.Stat(s.path("cache")); err == nil {
			t.Error("a relative cache directory was used")
		}
		s.leavesNothing()
	})
}

// notMine is a cache directory in which another user has put programs for this checkout.
func notMine(t *testing.T, s *shelf) string {
	t.Helper()
	place := "foreign/opencode-delegate/build/0.1.0" + s.dir + ".bin"
	s.program(place+"/oc-delegate", "echo evil\n")
	s.program(place+"/oc-job", "echo evil\n")
	if os.Geteuid() == 0 {
		if err := os.Lchown(s.path(place+"/oc-delegate"), 54321, 54321); err != nil {
			t.Fatal(err)
		}
		if err := os.Lchown(s.path(place+"/oc-job"), 54321, 54321); err != nil {
			t.Fatal(err)
		}
		return s.path("foreign")
	}
	// The root of the file system is another's to whoever is not root.
	if err := os.RemoveAll(s.path("foreign/opencode-delegate")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/", s.path("foreign/opencode-delegate")); err != nil {
		t.Fatal(err)
	}
	return s.path("foreign")
}

// TestBuildsAtOnce: several first calls at a time come to the same, and one that is interrupted says so.
func TestBuildsAtOnce(t *testing.T) {
	eachShell(t, "checkout", func(t *testing.T, s *shelf) {
		checkout(s)
		s.env = append(s.env, "GO_TAKES=0.2")
		var all sync.WaitGroup
		for i := range 6 {
			all.Go(func() {
				name := []string{"oc-job", "oc-delegate"}[i%2]
				if got := s.run(name); got.exit != 7 || !strings.HasPrefix(got.stdout, name+" of ") {
					t.Errorf("%+v", got)
				}
			})
		}
		all.Wait()
		s.leavesNothing()

		os.RemoveAll(s.path("home"))
		os.Remove(s.path("log"))
		cmd := exec.Command(s.path("bin/oc-delegate"), "x")
		cmd.Env = append(s.env, "GO_TAKES=1")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(10 * time.Second); s.builds() == 0 && time.Now().Before(deadline); {
			time.Sleep(5 * time.Millisecond)
		}
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		err := cmd.Wait()
		told := strings.SplitAfter(stderr.String(), "\n")
		if cmd.ProcessState.ExitCode() != 130 || len(told) != 4 || !strings.Contains(told[1], "interrupted") {
			t.Fatalf("%v: %q", err, stderr.String())
		}
		checkSignal(t, told[2], "INTERRUPTED", 130)
		s.leavesNothing()
	})
}

// TestBuildsForReal: the source as git tracks it, the real Go, and a directory with an inconvenient name.
func TestBuildsForReal(t *testing.T) {
	s := newShelf(t, "#!/bin/sh", "it's \"here\"")
	cache, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	dirs := strings.Split(string(cache), "\n")
	copied := exec.Command("sh", "-c", `git ls-files -z --cached --others --exclude-standard -- go.mod go.sum plugin.json bin scripts cmd internal plugin | tar -c --null -T - -f - | tar -x -C "$1" -f -`, "sh", s.dir)
	copied.Dir = ".."
	if out, err := copied.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s.write(".git/HEAD", "which git does not read, as it does not when the checkout is another user's\n", 0o644)
	s.env = append(s.env, "HOME="+s.path("home"), "XDG_CACHE_HOME="+s.path("cache"), "GOCACHE="+dirs[0], "GOMODCACHE="+dirs[1], "GOFLAGS=-nonsense", "GOOS=plan9")
	for i, name := range []string{"oc-job", "oc-delegate"} {
		began := time.Now()
		got := s.run(name, "--version")
		t.Logf("%s: %v", name, time.Since(began))
		if got.exit != 0 || !strings.HasPrefix(got.stdout, fmt.Sprintf("%s 0.1.0 ", name)) || lineCount(got.stderr) != 1-i {
			t.Errorf("%+v", got)
		}
	}
	got := s.call(s.dir, bySubagent, s.path("bin/oc-job"), "hook", "PreToolUse")
	if got.exit != 0 || !strings.Contains(got.stdout, `"permissionDecision":"deny"`) || got.stderr != "" {
		t.Errorf("the guard: %+v", got)
	}
}
