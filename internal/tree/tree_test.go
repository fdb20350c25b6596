//go:build unix

package tree

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A place is a directory to work in, with real git beside it.
type place struct {
	t    *testing.T
	home string
	dir  string
}

func newPlace(t *testing.T) *place {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &place{t, root + "/home", root + "/work"}
	for _, d := range []string{p.home, p.dir} {
		p.must(os.Mkdir(d, 0o755))
	}
	return p
}

func (p *place) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) write(name, text string) {
	p.t.Helper()
	path := filepath.Join(p.dir, name)
	p.must(os.MkdirAll(filepath.Dir(path), 0o755))
	p.must(os.WriteFile(path, []byte(text), 0o644))
}

func (p *place) git(args ...string) {
	p.t.Helper()
	p.gitIn(p.dir, args...)
}

func (p *place) gitIn(dir string, args ...string) {
	p.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "protocol.file.allow=always"}, args...)...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.home, "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b"}
	if out, err := cmd.CombinedOutput(); err != nil {
		p.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func (p *place) repo() {
	p.t.Helper()
	p.git("init", "-q", "-b", "main")
	p.git("add", "-A")
	p.git("commit", "-q", "--allow-empty", "-m", "first")
}

func take(t testing.TB, dir string, o Options) *Snapshot {
	t.Helper()
	s, err := Take(context.Background(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// run returns what changes, and proves that reading everything again gives the same answer as Since.
func (p *place) run(o Options, do func()) Changes {
	p.t.Helper()
	before := take(p.t, p.dir, o)
	if c := Compare(context.Background(), before, before); !c.Known || len(c.Files) != 0 {
		p.t.Fatalf("without a run: %+v", c)
	}
	do()
	fresh := Compare(context.Background(), before, take(p.t, p.dir, o))
	o.Since = before
	c := Compare(context.Background(), before, take(p.t, p.dir, o))
	if !reflect.DeepEqual(c, fresh) {
		p.t.Errorf("with Since %s\nwithout    %s", show(c), show(fresh))
	}
	return c
}

// show renders changes on one line: "added a b; modified c; +1 -2".
func show(c Changes) string {
	if !c.Known {
		return "unknown: " + c.Reason
	}
	var b strings.Builder
	for _, f := range c.Files {
		fmt.Fprintf(&b, "%s %q", f.Kind, f.Path)
		if f.From != "" {
			fmt.Fprintf(&b, " from %q", f.From)
		}
		b.WriteString("; ")
	}
	if c.Insertions == nil || c.Deletions == nil {
		return b.String() + "lines unknown"
	}
	return b.String() + fmt.Sprintf("+%d -%d", *c.Insertions, *c.Deletions)
}

func TestUnknownIsNeverAnEmptyList(t *testing.T) {
	p := newPlace(t)
	for i := range 20 {
		p.write(fmt.Sprintf("f%d", i), "x")
	}
	deep := p.dir
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	whole := take(t, p.dir, Options{})
	small := take(t, p.dir, Options{MaxEntries: 10})
	stopped, err := Take(cancelled, p.dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	other := take(t, p.home, Options{})
	for range maxDepth + 2 {
		deep += "/d"
	}
	p.must(os.MkdirAll(deep, 0o755))
	tooDeep := take(t, p.dir, Options{})
	closed := *whole
	closed.closed = []string{"x"}
	for name, c := range map[string]Changes{
		"no before": Compare(context.Background(), nil, whole), "no after": Compare(context.Background(), whole, nil),
		"limit": Compare(context.Background(), small, whole), "limit after": Compare(context.Background(), whole, small),
		"cancelled": Compare(context.Background(), whole, stopped), "other directory": Compare(context.Background(), whole, other),
		"closed":   Compare(context.Background(), &closed, whole),
		"too deep": Compare(context.Background(), whole, tooDeep),
	} {
		b, err := json.Marshal(c)
		if err != nil || c.Known || c.Reason == "" || c.Files != nil || !bytes.Contains(b, []byte(`"known":false,`)) || !bytes.Contains(b, []byte(`"files":null,"insertions":null,"deletions":null`)) {
			t.Errorf("%s: %s %v", name, b, err)
		}
	}
	if _, err := Take(context.Background(), p.dir+"/missing", Options{}); err == nil {
		t.Error("a directory that is not there was taken")
	}
	if _, err := Take(context.Background(), p.dir+"/f1", Options{}); err == nil {
		t.Error("a file was taken")
	}
}

func TestManyUntrackedFiles(t *testing.T) {
	dir := manyFiles(t, 3000)
	p := &place{t, t.TempDir(), dir}
	before := take(t, t.TempDir(), Options{})
	before.dir = dir
	p.repo()
	if c := Compare(context.Background(), before, take(t, dir, Options{})); !c.Known || len(c.Files) != 3000 || c.Insertions == nil {
		t.Errorf("%v %d", c.Known, len(c.Files))
	}
}

// What cannot be looked into is not said to be unchanged. root reads everything, so root runs this as another user.
func TestUnreadable(t *testing.T) {
	if os.Getenv("TREE_TEST_AS_USER") == "" && os.Geteuid() == 0 {
		dir, err := os.MkdirTemp("/tmp", "tree-user-*")
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
			err = errors.Join(os.WriteFile(dir+"/test", exe, 0o755), os.Chmod(dir, 0o777), os.Mkdir(dir+"/work", 0o777), os.Chmod(dir+"/work", 0o777),
				os.MkdirAll(dir+"/work/roots", 0o755), os.WriteFile(dir+"/work/roots/x", nil, 0o600), os.Chmod(dir+"/work/roots", 0o700))
		}
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(dir+"/test", "-test.run", "^TestUnreadable$", "-test.v")
		cmd.Env = []string{"TREE_TEST_AS_USER=" + dir + "/work", "TMPDIR=" + dir, "PATH=" + os.Getenv("PATH")}
		cmd.Dir = dir
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestUnreadable") {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	p := newPlace(t)
	if dir := os.Getenv("TREE_TEST_AS_USER"); dir != "" {
		p.dir = dir // holds a directory of root's, which neither we nor a run can look into
	}
	p.write("secret", "1\n")
	p.must(os.Chmod(p.dir+"/secret", 0))
	p.write("shut/x", "1\n")
	if got := show(p.run(Options{}, func() { p.write("new", "1\n") })); got != `added "new"; +1 -0` {
		t.Error(got)
	}
	for _, mode := range []os.FileMode{0, 0o300} {
		before := take(t, p.dir, Options{})
		p.must(os.Chmod(p.dir+"/shut", mode))
		c := Compare(context.Background(), before, take(t, p.dir, Options{Since: before}))
		p.must(os.Chmod(p.dir+"/shut", 0o755))
		if c.Known || !strings.Contains(c.Reason, "shut: permission denied") {
			t.Errorf("mode %o: %s", mode, show(c))
		}
	}
}

// A file that changed within a tick of the snapshot looks the same to stat; its content is read again.
func TestRacy(t *testing.T) {
	p := newPlace(t)
	p.write("a", "1\n")
	before := take(t, p.dir, Options{})
	p.write("a", "2\n")
	fi, err := os.Lstat(p.dir + "/a")
	p.must(err)
	now := newEntry("a", fi)
	now.content = before.entries[0].content
	before.entries[0] = now
	before.taken = time.Unix(0, now.ctime).Add(tick / 2)
	if got := show(Compare(context.Background(), before, take(t, p.dir, Options{Since: before}))); got != `modified "a"; +1 -1` {
		t.Error(got)
	}
}

// An inode that was used again is no rename when the contents are known to differ.
func TestInodeUsedAgain(t *testing.T) {
	b, a := entry{path: "b", ino: 7, size: 2, mtime: 1, content: newContent([]byte("1\n"))}, entry{path: "a", ino: 7, size: 2, mtime: 1, content: newContent([]byte("2\n"))}
	pairs := rename([]pair{{Change{Path: "b", Kind: Deleted}, &b, nil}, {Change{Path: "a", Kind: Added}, nil, &a}})
	if len(pairs) != 2 {
		t.Errorf("%+v", pairs)
	}
}
