package gitdiff

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/proc"
	"opencode-delegate/internal/sandbox"
)

// TestMain is guardian and cage. The kernel's sandbox is off unless a test asks for it: what is proved here has to hold without.
func TestMain(m *testing.M) {
	if code, ok := proc.Main(os.Args); ok {
		os.Exit(code)
	}
	if code, ok := sandbox.Main(os.Args); ok {
		os.Exit(code)
	}
	os.Setenv(sandbox.NoLandlockEnv, "1")
	os.Exit(m.Run())
}

// A world is a home, a repository with one commit, and a file that a program of the repository's would make.
type world struct {
	t                       *testing.T
	root, home, dir, marker string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, root: root, home: root + "/home", dir: root + "/work", marker: root + "/marker"}
	w.write(w.home+"/.gitconfig", "[user]\nname = t\nemail = t@example.org\n[init]\ndefaultBranch = main\n[protocol \"file\"]\nallow = always\n")
	w.repo(w.dir)
	return w
}

// repo makes a repository with one commit.
func (w *world) repo(dir string, more ...string) {
	w.t.Helper()
	w.write(dir+"/a.txt", "one\ntwo\nthree\n")
	w.git(dir, append([]string{"init", "-q"}, more...)...)
	w.git(dir, "add", "-A")
	w.git(dir, "commit", "-q", "-m", "first")
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) write(path, text string) {
	w.t.Helper()
	if !filepath.IsAbs(path) {
		path = filepath.Join(w.dir, path)
	}
	w.must(os.MkdirAll(filepath.Dir(path), 0o755))
	w.must(os.WriteFile(path, []byte(text), 0o644))
}

func (w *world) environ() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.home, "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C"}
}

// tryGit runs git as the user would.
func (w *world) tryGit(dir string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Env = dir, w.environ()
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (w *world) git(dir string, args ...string) string {
	w.t.Helper()
	out, err := w.tryGit(dir, args...)
	if err != nil {
		w.t.Fatalf("git %q: %v: %s", args, err, out)
	}
	return out
}

// touch is a command that leaves the marker.
func (w *world) touch() string { return "touch '" + w.marker + "'" }

// fired reports whether the marker was there, and takes it away.
func (w *world) fired() bool { return os.Remove(w.marker) == nil }

func (w *world) options() Options {
	self, err := os.Executable()
	w.must(err)
	return Options{Dir: w.dir, Limit: 200_000, Self: self, Home: w.home, StateRoot: w.root + "/state", Environ: w.environ()}
}

func (w *world) collect(o Options) (Change, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return Collect(ctx, o)
}

func (w *world) mustCollect(o Options) Change {
	w.t.Helper()
	c, err := w.collect(o)
	w.must(err)
	return c
}

// refused checks that there is nothing to show, and why.
func (w *world) refused(o Options, want string) {
	w.t.Helper()
	c, err := w.collect(o)
	if f := (*fault.Error)(nil); !errors.As(err, &f) || f.Kind != fault.Usage || !strings.Contains(f.Reason, want) {
		w.t.Errorf("%+v: %v, want a USAGE that says %q", c, err, want)
	}
}

// selected is the change of a selection.
func selected(s *selection) (c Change) {
	s.fill(&c)
	return c
}

// shown joins the paths and the texts of a change.
func shown(c Change) (paths, texts string) {
	var p, b []string
	for _, f := range c.Shown {
		p, b = append(p, f.Path), append(b, f.Text)
	}
	for _, f := range c.Named {
		p = append(p, f.Path+" ("+f.Why+")")
	}
	return strings.Join(p, " "), strings.Join(b, "")
}
