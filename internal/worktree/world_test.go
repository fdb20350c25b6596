package worktree

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A world is a home, a repository without a commit, and room for snapshots.
type world struct {
	t               *testing.T
	root, home, dir string
	n               int
}

func newWorld(t *testing.T) *world {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				os.Chmod(p, 0o700)
			}
			return nil
		})
	})
	w := &world{t: t, root: root, home: root + "/home", dir: root + "/a work"}
	w.write(w.home+"/.gitconfig", "[user]\nname = t\nemail = t@example.org\n[init]\ndefaultBranch = main\n")
	w.must(os.MkdirAll(w.dir, 0o755))
	w.git("init", "-q")
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(w.dir, name)
}

func (w *world) write(name, text string) {
	w.t.Helper()
	w.must(os.MkdirAll(filepath.Dir(w.path(name)), 0o755))
	w.must(os.WriteFile(w.path(name), []byte(text), 0o644))
}

func (w *world) read(name string) string {
	w.t.Helper()
	text, err := os.ReadFile(w.path(name))
	w.must(err)
	return string(text)
}

func (w *world) environ() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.home, "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C"}
}

// tryGit runs git as the user would.
func (w *world) tryGit(dir string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Env = dir, w.environ()
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (w *world) gitIn(dir string, args ...string) string {
	w.t.Helper()
	out, err := w.tryGit(dir, args...)
	if err != nil {
		w.t.Fatalf("git %q: %v: %s", args, err, out)
	}
	return out
}

func (w *world) git(args ...string) string {
	w.t.Helper()
	return w.gitIn(w.dir, args...)
}

func (w *world) commit() {
	w.t.Helper()
	w.git("add", "-A")
	w.git("commit", "-q", "--allow-empty", "-m", "first")
}

func (w *world) options() Options { return Options{Environ: w.environ()} }

func (w *world) store() string {
	w.n++
	return fmt.Sprintf("%s/store%d", w.root, w.n)
}

func (w *world) take() *Snapshot {
	w.t.Helper()
	s, err := Take(w.t.Context(), w.dir, w.store(), w.options())
	w.must(err)
	return s
}

func (w *world) end(s *Snapshot) {
	w.t.Helper()
	w.must(s.End(w.t.Context()))
}

func (w *world) restore(s *Snapshot, u Undo) Restored {
	w.t.Helper()
	s, err := Open(s.store) // as it would be days later
	w.must(err)
	done, err := s.Restore(w.t.Context(), u)
	w.must(err)
	return done
}

// look describes a directory with everything in it, a line for each path; whatever lies in a .git only when inGit says so.
func look(t *testing.T, dir string, inGit bool) string {
	t.Helper()
	var lines []string
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		if d.Name() == ".git" && !inGit {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		line := fmt.Sprintf("%q\t%v", rel, fi.Mode())
		switch fi.Mode().Type() {
		case 0:
			text, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			line += fmt.Sprintf("\t%d %x", len(text), sha256.Sum256(text))
		case fs.ModeSymlink:
			target, _ := os.Readlink(p)
			line = fmt.Sprintf("%q\tL\t%q", rel, target)
		}
		lines = append(lines, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

// differs names the lines that only one of two descriptions has.
func differs(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	var out []string
	for _, l := range x {
		if !slices.Contains(y, l) {
			out = append(out, "- "+l)
		}
	}
	for _, l := range y {
		if !slices.Contains(x, l) {
			out = append(out, "+ "+l)
		}
	}
	return strings.Join(out[:min(len(out), 20)], "\n")
}

// A chaos makes and changes trees at random.
type chaos struct {
	*world
	r *rand.Rand
}

var names = []string{"a", "b.txt", "with space", "ünï", "日本", "-dash", "tab\there", "new\nline", `back\slash`, `"quoted"`, ".hidden", "A.c", "x'y", "long-" + strings.Repeat("n", 100), "*", "#", "!x", ".env"}

func (c *chaos) name() string {
	n := ""
	for range 1 + c.r.IntN(3) {
		n = filepath.Join(n, names[c.r.IntN(len(names))])
	}
	return n
}

func (c *chaos) content() string {
	switch c.r.IntN(6) {
	case 0:
		return ""
	case 1:
		return "one\r\ntwo\r\n" + fmt.Sprint(c.r.IntN(50)) + "\r\n"
	case 2:
		b := make([]byte, c.r.IntN(5000))
		for i := range b {
			b[i] = byte(c.r.Uint32())
		}
		return string(b)
	case 3:
		return strings.Repeat("no newline ", c.r.IntN(300))
	}
	var b strings.Builder
	for range c.r.IntN(60) {
		fmt.Fprintf(&b, "line %d\n", c.r.IntN(9))
	}
	return b.String()
}

// put places a file or link at a path, whatever is there or above it. No link is its own target: git apply cannot put a directory in
// the place of one that is.
func (c *chaos) put(name string) {
	full := c.path(name)
	for up := filepath.Dir(full); len(up) > len(c.dir); up = filepath.Dir(up) {
		if fi, err := os.Lstat(up); err == nil && !fi.IsDir() {
			c.must(os.Remove(up))
		}
	}
	c.must(os.MkdirAll(filepath.Dir(full), 0o755))
	c.must(os.RemoveAll(full))
	if c.r.IntN(6) == 0 {
		c.must(os.Symlink([]string{"no/target", "../b.txt", "/nowhere", "zzz/nothing here"}[c.r.IntN(4)], full))
		return
	}
	c.must(os.WriteFile(full, []byte(c.content()), 0o644))
	c.must(os.Chmod(full, []fs.FileMode{0o644, 0o755, 0o600, 0o444, 0o644}[c.r.IntN(5)]))
}

// paths are all that there is, but for .git.
func (c *chaos) paths() []string {
	var all []string
	filepath.WalkDir(c.dir, func(p string, d fs.DirEntry, err error) error {
		if d.Name() == ".git" {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if p != c.dir {
			all = append(all, p)
		}
		return nil
	})
	return all
}

func (c *chaos) edit() {
	all := c.paths()
	if len(all) == 0 {
		c.put(c.name())
		return
	}
	p := all[c.r.IntN(len(all))]
	fi, err := os.Lstat(p)
	c.must(err)
	switch c.r.IntN(8) {
	case 0, 1:
		c.put(c.name())
	case 2:
		c.must(os.RemoveAll(p))
	case 3: // a directory becomes a file, a file a directory
		c.must(os.RemoveAll(p))
		if fi.IsDir() {
			c.put(strings.TrimPrefix(p, c.dir+"/"))
		} else {
			c.put(strings.TrimPrefix(p, c.dir+"/") + "/inner")
		}
	case 4: // renamed, with an edit at times
		if to := p + "-moved"; len(filepath.Base(to)) < 200 {
			if _, err := os.Lstat(to); err != nil {
				c.must(os.Rename(p, to))
			}
		}
	case 5:
		if fi.Mode()&fs.ModeSymlink == 0 {
			c.must(os.Chmod(p, fi.Mode().Perm()^[]fs.FileMode{0o111, 0o022}[c.r.IntN(2)]&0o077|0o400|fi.Mode().Perm()&0o700))
		}
	case 6:
		p := c.path("empty " + fmt.Sprint(c.r.IntN(5)))
		c.must(os.RemoveAll(p))
		c.must(os.MkdirAll(p+"/deep", 0o750))
	case 7:
		if fi.Mode().IsRegular() {
			text := c.read(p)
			c.must(os.Chmod(p, 0o600))
			c.must(os.WriteFile(p, []byte(text+"more\n"), 0o600))
			c.must(os.Chmod(p, fi.Mode()))
		}
	}
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// cases calls f with worlds of fresh seeds, which a failure prints. WORKTREE_CASES says how many, WORKTREE_SEED which one.
func cases(t *testing.T, n int, f func(c *chaos)) {
	first := rand.Uint64()
	if s := os.Getenv("WORKTREE_CASES"); s != "" {
		fmt.Sscan(s, &n)
	}
	if s := os.Getenv("WORKTREE_SEED"); s != "" {
		fmt.Sscan(s, &first)
		n = 1
	}
	for i := range uint64(n) {
		seed := first + i
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			defer func() {
				if t.Failed() {
					t.Logf("again with WORKTREE_SEED=%d", seed)
				}
			}()
			f(&chaos{newWorld(t), newRand(seed)})
		})
	}
}
