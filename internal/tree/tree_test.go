//go:build unix

package tree

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
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

func TestChanges(t *testing.T) {
	const lines = "1\n2\n3\n4\n"
	for _, test := range []struct {
		name    string
		options Options
		prepare func(p *place)
		run     func(p *place)
		want    string
	}{
		{name: "no git", prepare: func(p *place) { p.write("a", lines); p.write("b/c", "x"); p.write("gone", "1\n2") }, run: func(p *place) {
			p.write("a", "1\n3\n4\n5\n6")
			p.write("d/e/f", "new\n")
			p.must(os.Remove(p.dir + "/gone"))
		}, want: `modified "a"; added "d/e/f"; deleted "gone"; +3 -3`},
		{name: "no git, nothing held", options: Options{KeepBytes: -1}, prepare: func(p *place) { p.write("a", lines) },
			run: func(p *place) { p.write("a", "x") }, want: `modified "a"; lines unknown`},
		{name: "clean file of a repository, old content from its objects", options: Options{KeepBytes: -1}, prepare: func(p *place) { p.write("a", lines); p.repo() },
			run: func(p *place) { p.write("a", "1\n2\nx\n4\n") }, want: `modified "a"; +1 -1`},
		{name: "dirty files before", prepare: func(p *place) {
			p.write("dirty", "1\n")
			p.write("again", "1\n")
			p.repo()
			p.write("dirty", "2\n")
			p.write("again", "2\n")
			p.write("untracked", "2\n")
		}, run: func(p *place) { p.write("again", "3\n4\n") }, want: `modified "again"; +2 -1`},
		{name: "a dirty file reset to the commit is a change", prepare: func(p *place) { p.write("a", "1\n"); p.repo(); p.write("a", "2\n") },
			run: func(p *place) { p.git("reset", "-q", "--hard") }, want: `modified "a"; +1 -1`},
		{name: "stash and pop leave no change", prepare: func(p *place) { p.write("a", "1\n"); p.repo(); p.write("a", "2\n") },
			run: func(p *place) { p.git("stash", "-q"); p.git("stash", "pop", "-q") }, want: `+0 -0`},
		{name: "stash is a change", prepare: func(p *place) { p.write("a", "1\n"); p.repo(); p.write("a", "2\n") },
			run: func(p *place) { p.git("stash", "-q") }, want: `modified "a"; +1 -1`},
		{name: "ignored files", prepare: func(p *place) { p.write(".gitignore", "out/\n*.log\n"); p.repo() }, run: func(p *place) { p.write("out/x", "1\n"); p.write("b.log", "2\n") },
			want: `added "b.log"; added "out/x"; +2 -0`},
		{name: "ignored by the run itself", prepare: func(p *place) { p.repo() }, run: func(p *place) { p.write(".git/info/exclude", "*\n"); p.write("x", "1\n") },
			want: `added "x"; +1 -0`},
		{name: "committed during the run", prepare: func(p *place) { p.write("a", "1\n"); p.repo() }, run: func(p *place) {
			p.write("a", "2\n")
			p.write("b", "3\n")
			p.git("add", "-A")
			p.git("commit", "-qm", "x")
		}, want: `modified "a"; added "b"; +2 -1`},
		{name: "an index that lies", prepare: func(p *place) { p.write("a", "1\n"); p.repo() }, run: func(p *place) { p.write("a", "2\n"); p.git("update-index", "--assume-unchanged", "a") },
			want: `modified "a"; +1 -1`},
		{name: "commit without a change of files", prepare: func(p *place) { p.repo(); p.write("a", "1\n") }, run: func(p *place) { p.git("add", "-A"); p.git("commit", "-qm", "x") }, want: `+0 -0`},
		{name: "git init", prepare: func(p *place) { p.write("a", "1\n") }, run: func(p *place) { p.repo() }, want: `+0 -0`},
		{name: "submodule", prepare: func(p *place) {
			sub := filepath.Dir(p.dir) + "/sub"
			p.must(os.Mkdir(sub, 0o755))
			p.must(os.WriteFile(sub+"/s", []byte("1\n2\n"), 0o644))
			p.gitIn(sub, "init", "-q", "-b", "main")
			p.gitIn(sub, "add", "-A")
			p.gitIn(sub, "commit", "-qm", "s")
			p.repo()
			p.git("submodule", "add", "-q", sub, "sub")
			p.git("commit", "-qm", "sub")
		}, options: Options{KeepBytes: -1}, run: func(p *place) { p.write("sub/s", "1\n3\n"); p.write("sub/t", "1\n") }, want: `modified "sub/s"; added "sub/t"; +2 -1`},
		{name: "linked worktree", prepare: func(p *place) {
			main := filepath.Dir(p.dir) + "/main"
			p.must(os.Mkdir(main, 0o755))
			p.must(os.WriteFile(main+"/m", []byte("1\n2\n"), 0o644))
			p.gitIn(main, "init", "-q")
			p.gitIn(main, "add", "-A")
			p.gitIn(main, "commit", "-qm", "s")
			p.must(os.Remove(p.dir))
			p.gitIn(main, "worktree", "add", "-q", p.dir)
		}, options: Options{KeepBytes: -1}, run: func(p *place) { p.write("m", "1\n3\n"); p.must(os.Remove(p.dir + "/.git")) }, want: `modified "m"; +1 -1`},
		{name: "odd names", prepare: func(p *place) { p.repo() }, run: func(p *place) {
			for _, name := range []string{"with space", "tab\there", "new\nline", `quo"te`, "ünïcode", "日本", `back\slash`, "-dash", "\"", "bad\xffbyte"} {
				p.write(name, "1\n")
			}
		}, want: `added "\""; added "-dash"; added "back\\slash"; added "bad\xffbyte"; added "new\nline"; added "quo\"te"; added "tab\there"; ` +
			`added "with space"; added "ünïcode"; added "日本"; +10 -0`},
		{name: "binary files", prepare: func(p *place) { p.write("bin", "a\x00b\n\n"); p.write("bin2", "a\x00b\n"); p.repo() },
			run: func(p *place) {
				p.write("bin", "a\x00c\n\n\n")
				p.write("new", "\x00\n\n")
				p.must(os.Remove(p.dir + "/bin2"))
			},
			want: `modified "bin"; deleted "bin2"; added "new"; +0 -0`},
		{name: "modes", prepare: func(p *place) { p.write("a", "1\n"); p.write("b", "1\n"); p.write("d/x", "1\n"); p.repo() }, run: func(p *place) {
			p.must(os.Chmod(p.dir+"/a", 0o755))
			p.must(os.Chmod(p.dir+"/b", 0o644))
			p.must(os.Chmod(p.dir+"/d", 0o700))
		}, want: `mode "a"; mode "d"; +0 -0`},
		{name: "mode and content", prepare: func(p *place) { p.write("a", "1\n"); p.repo() }, run: func(p *place) { p.write("a", "2\n"); p.must(os.Chmod(p.dir+"/a", 0o755)) },
			want: `modified "a"; +1 -1`},
		{name: "links", prepare: func(p *place) {
			p.write("t/x", "1\n")
			p.must(os.Symlink("t", p.dir+"/same"))
			p.must(os.Symlink("t", p.dir+"/other"))
			p.must(os.Symlink("nowhere", p.dir+"/gone"))
		}, run: func(p *place) {
			p.must(os.Remove(p.dir + "/other"))
			p.must(os.Symlink("u", p.dir+"/other"))
			p.must(os.Remove(p.dir + "/gone"))
			p.must(os.Remove(p.dir + "/same"))
			p.must(os.Symlink("t", p.dir+"/same"))
			p.must(os.Symlink("/etc", p.dir+"/new"))
			p.write("t/x", "2\n")
		}, want: `deleted "gone"; added "new"; modified "other"; modified "t/x"; +3 -3`},
		{name: "renames", prepare: func(p *place) {
			p.write("a", lines)
			p.write("b", "b\n")
			p.write("c", "same\n")
			p.write("d", "same\n")
			p.write("e", "")
			p.repo()
		}, run: func(p *place) {
			p.must(os.Mkdir(p.dir+"/n", 0o755))
			p.must(os.Rename(p.dir+"/a", p.dir+"/n/a"))
			p.must(os.Remove(p.dir + "/b"))
			p.write("b2", "b\n")
			p.must(os.Remove(p.dir + "/c"))
			p.must(os.Remove(p.dir + "/d"))
			p.write("c2", "same\n")
			p.write("d2", "same\n")
			p.must(os.Remove(p.dir + "/e"))
			p.write("f", "")
		}, want: `renamed "b2" from "b"; deleted "c"; added "c2"; deleted "d"; added "d2"; deleted "e"; added "f"; renamed "n/a" from "a"; +2 -2`},
		{name: "rename of a file too large to read", options: Options{HashBytes: -1}, prepare: func(p *place) { p.write("a", "x") },
			run: func(p *place) { p.must(os.Rename(p.dir+"/a", p.dir+"/b")) }, want: `renamed "b" from "a"; +0 -0`},
		{name: "empty directories are no files", prepare: func(p *place) { p.must(os.Mkdir(p.dir+"/old", 0o755)) },
			run: func(p *place) { p.must(os.Mkdir(p.dir+"/new", 0o755)); p.must(os.Remove(p.dir + "/old")) }, want: `+0 -0`},
		{name: "file and directory change places", prepare: func(p *place) { p.write("a", "1\n"); p.write("d/x", "2\n") }, run: func(p *place) {
			p.must(os.Remove(p.dir + "/a"))
			p.write("a/y", "3\n")
			p.must(os.RemoveAll(p.dir + "/d"))
			p.write("d", "4\n")
		}, want: `deleted "a"; added "a/y"; added "d"; deleted "d/x"; +2 -2`},
		{name: "special files", prepare: func(p *place) { p.write("f", "1\n"); p.must(syscall.Mkfifo(p.dir+"/old", 0o644)) }, run: func(p *place) {
			p.must(os.Remove(p.dir + "/f"))
			p.must(syscall.Mkfifo(p.dir+"/f", 0o644))
			p.must(syscall.Mkfifo(p.dir+"/new", 0o644))
		}, want: `modified "f"; added "new"; +0 -1`},
		{name: "same size and times set back", prepare: func(p *place) { p.write("a", "1\n") }, run: func(p *place) {
			fi, err := os.Stat(p.dir + "/a")
			p.must(err)
			p.write("a", "2\n")
			p.must(os.Chtimes(p.dir+"/a", fi.ModTime(), fi.ModTime()))
		}, want: `modified "a"; +1 -1`},
		{name: "same size and times set back, content not read", options: Options{HashBytes: -1}, prepare: func(p *place) { p.write("a", "1\n"); time.Sleep(2 * tick) }, run: func(p *place) {
			fi, err := os.Stat(p.dir + "/a")
			p.must(err)
			p.write("a", "2\n")
			p.must(os.Chtimes(p.dir+"/a", fi.ModTime(), fi.ModTime()))
		}, want: `modified "a"; lines unknown`},
		{name: "touched and rewritten with the same bytes", prepare: func(p *place) { p.write("a", "1\n"); p.write("b", "1\n") }, run: func(p *place) {
			p.must(os.Chtimes(p.dir+"/a", time.Unix(1, 0), time.Unix(1, 0)))
			p.must(os.Remove(p.dir + "/b"))
			p.write("b", "1\n")
		}, want: `+0 -0`},
		{name: "touched, content not known", options: Options{HashBytes: -1}, prepare: func(p *place) { p.write("a", "1\n"); p.write("b", "1\n") },
			run: func(p *place) { p.must(os.Chtimes(p.dir+"/a", time.Unix(1, 0), time.Unix(1, 0))) }, want: `modified "a"; lines unknown`},
		{name: "no newline at the end", prepare: func(p *place) { p.write("a", "1\n2") }, run: func(p *place) { p.write("a", "1\n2\n"); p.write("b", "x") },
			want: `modified "a"; added "b"; +2 -1`},
		{options: Options{HashBytes: -1, KeepBytes: -1}, name: "opencode's own writes", prepare: func(p *place) {
			p.write("opencode.json", "{\n  \"share\": \"disabled\"\n}\n")
			p.write("opencode.jsonc", "{}")
			p.write(".opencode/opencode.jsonc", "\n {}\n")
			p.write(".opencode/package.json", `{"dependencies":{"left-pad":"1.3.0"}}`)
			p.repo()
		}, run: func(p *place) {
			p.write("opencode.json", "{\n  \"$schema\": \"https://opencode.ai/config.json\",\n  \"share\": \"disabled\"\n}\n")
			p.write("opencode.jsonc", "{\n  \"$schema\": \"https://opencode.ai/config.json\",}")
			p.write(".opencode/opencode.jsonc", "{\n  \"$schema\": \"https://opencode.ai/config.json\",}\n")
			p.write(".opencode/package.json", `{"dependencies":{"@opencode-ai/plugin":"1.18.33","left-pad":"1.3.0"}}`)
			p.write(".opencode/package-lock.json", "{}")
			p.write(".opencode/.gitignore", "node_modules\n")
			p.write(".opencode/node_modules/x/y.js", "1")
			p.write(".git/opencode", "970bd4")
		}, want: `+0 -0`},
		{name: "a new package.json of opencode's", prepare: func(p *place) { p.write(".opencode/x", "1") },
			run: func(p *place) {
				p.write(".opencode/package.json", `{"dependencies":{"@opencode-ai/plugin":"1.18.33"}}`)
			}, want: `+0 -0`},
		{name: "what looks like opencode's own writes", prepare: func(p *place) {
			p.write("opencode.json", "{\"share\": \"disabled\"}")
			p.write(".opencode/package.json", `{}`)
			p.write(".opencode/.gitignore", "x\n")
			p.write("opencode.jsonc", "{}")
		}, run: func(p *place) {
			p.write("opencode.json", "{\n  \"$schema\": \"https://opencode.ai/config.json\",\"share\": \"auto\"}")
			p.write(".opencode/package.json", `{"dependencies":{"@opencode-ai/plugin":"1.18.33","evil":"1"}}`)
			p.write(".opencode/.gitignore", "y\n")
			p.write("opencode.jsonc", "{\n  \"$schema\": \"https://opencode.ai/config.json\",}")
			p.must(os.Chmod(p.dir+"/opencode.jsonc", 0o666))
			p.write(".opencode/plugin/p.ts", "1\n")
			p.write("sub/.opencode/node_modules/x", "1\n")
		}, want: `modified ".opencode/.gitignore"; modified ".opencode/package.json"; added ".opencode/plugin/p.ts"; modified "opencode.json"; modified "opencode.jsonc"; added "sub/.opencode/node_modules/x"; +8 -4`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			test.prepare(p)
			if got := show(p.run(test.options, func() { test.run(p) })); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
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

func TestJSON(t *testing.T) {
	c := Changes{Known: true, Files: []Change{}}
	if b, _ := json.Marshal(c); string(b) != `{"known":true,"files":[],"insertions":null,"deletions":null}` {
		t.Errorf("%s", b)
	}
	for _, name := range []string{"a", "a b", "\"", "\"x\"", "\xff", "a\\\xffb\"", "é", "\n", "\x00\\377", ""} {
		in := Change{Path: name, Kind: Renamed, From: name + "2"}
		b, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		var out Change
		if err := json.Unmarshal(b, &out); err != nil || out != in {
			t.Errorf("%q became %s, then %q (%v)", name, b, out.Path, err)
		}
	}
	for _, bad := range []string{`"`, `"a`, `"a"`, `"\x"`, `"\37"`, `"\400"`, `"a"b\377"`} {
		if s, err := Unquote(bad); err == nil {
			t.Errorf("Unquote(%s) = %q", bad, s)
		}
	}
}

func FuzzQuote(f *testing.F) {
	f.Add("a\xff\"\\")
	f.Fuzz(func(t *testing.T, name string) {
		if got, err := Unquote(Quote(name)); err != nil || got != name {
			t.Fatalf("%q: %q %v", name, got, err)
		}
		_, _ = Unquote(name)
	})
}

func FuzzParseIndex(f *testing.F) {
	f.Add([]byte("DIRC\x00\x00\x00\x04\x00\x00\x00\x02"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if got := parseIndex(data, nil); len(got) > len(data)/20 {
			t.Fatalf("%d names in %d bytes", len(got), len(data))
		}
	})
}

// slowDiff is the textbook's longest common subsequence.
func slowDiff(a, b [][]byte) (ins, del int) {
	prev, next := make([]int, len(b)+1), make([]int, len(b)+1)
	for i := range a {
		for j := range b {
			if bytes.Equal(a[i], b[j]) {
				next[j+1] = prev[j] + 1
			} else {
				next[j+1] = max(prev[j+1], next[j])
			}
		}
		prev, next = next, prev
	}
	return len(b) - prev[len(b)], len(a) - prev[len(b)]
}

func checkDiff(t *testing.T, a, b []byte) {
	t.Helper()
	ins, del, ok := diffLines(a, b)
	wantIns, wantDel := slowDiff(splitLines(a), splitLines(b))
	if !ok || ins != wantIns || del != wantDel {
		t.Fatalf("%q -> %q: +%d -%d %v, want +%d -%d", a, b, ins, del, ok, wantIns, wantDel)
	}
}

func TestDiffLinesIsAShortestEdit(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	text := func() []byte {
		var b bytes.Buffer
		for range rnd.IntN(40) {
			fmt.Fprintf(&b, "%d\n", rnd.IntN(9))
		}
		if rnd.IntN(3) == 0 {
			b.WriteString("end")
		}
		return b.Bytes()
	}
	for range 3000 {
		checkDiff(t, text(), text())
	}
	checkDiff(t, nil, []byte("a\n"))
	checkDiff(t, []byte("a\nb"), nil)
}

// However two files differ, counting ends soon, and says so when it gave up.
func TestDiffLinesIsBounded(t *testing.T) {
	var a, b bytes.Buffer
	for i := range 200_000 {
		fmt.Fprintln(&a, i%1000)
		fmt.Fprintln(&b, (i*7)%1000)
	}
	start := time.Now()
	if _, _, ok := diffLines(a.Bytes(), b.Bytes()); ok {
		t.Error("two hard files were compared to the end")
	}
	var c bytes.Buffer
	for i := range 100_000 {
		fmt.Fprintln(&c, "new", i)
	}
	if ins, del, ok := diffLines(a.Bytes(), c.Bytes()); !ok || ins != 100_000 || del != 200_000 {
		t.Errorf("a rewritten file: +%d -%d %v", ins, del, ok)
	}
	if d := time.Since(start); d > 20*time.Second {
		t.Errorf("took %v", d)
	}
}

// Old contents come from git without a look at the repository's configuration.
func TestObjectsReadNoConfiguration(t *testing.T) {
	p := newPlace(t)
	marker := filepath.Dir(p.dir) + "/marker"
	p.write("a", "1\n")
	p.write(".gitattributes", "* filter=x diff=x\n")
	p.repo()
	before := take(t, p.dir, Options{KeepBytes: -1})
	p.write("a", "2\n")
	for _, key := range []string{"core.fsmonitor", "core.pager", "filter.x.clean", "filter.x.smudge", "filter.x.process", "diff.x.textconv", "diff.external", "core.sshCommand", "alias.cat-file"} {
		p.git("config", key, "touch '"+marker+"'; cat")
	}
	p.must(syscall.Mkfifo(p.dir+"/.git/fifo", 0o644))
	config, err := os.OpenFile(p.dir+"/.git/config", os.O_APPEND|os.O_WRONLY, 0)
	p.must(err)
	_, err = config.WriteString("[include]\n\tpath = fifo\n") // whoever reads the configuration waits for ever
	p.must(err)
	p.must(config.Close())
	os.Remove(marker)
	if got := show(Compare(context.Background(), before, take(t, p.dir, Options{Since: before}))); got != `modified "a"; +1 -1` {
		t.Error(got)
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("a program of the repository ran")
	}
}

// A missing git, a damaged object and an object that is not what it says cost the counts and nothing else.
func TestObjectsThatCannotBeHad(t *testing.T) {
	for name, damage := range map[string]func(p *place, o *Options){
		"no git":     func(_ *place, o *Options) { o.Git = "/nonexistent/git" },
		"no objects": func(p *place, _ *Options) { p.must(os.RemoveAll(p.dir + "/.git/objects")) },
		"fifo": func(p *place, _ *Options) {
			p.must(os.Chmod(p.dir+"/.git/objects/info", 0o755))
			p.must(syscall.Mkfifo(p.dir+"/.git/objects/info/alternates", 0o644))
		},
		"forged": func(_ *place, o *Options) {
			o.Git = filepath.Join(t.TempDir(), "git")
			if err := os.WriteFile(o.Git, []byte("#!/bin/sh\nread name\nprintf '%s blob 2\\n9\\n\\n' $name\n"), 0o755); err != nil {
				t.Fatal(err)
			}
		},
		"garbage": func(_ *place, o *Options) { o.Git = "/bin/yes" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.write("a", "1\n")
			p.repo()
			o := Options{KeepBytes: -1}
			damage(p, &o)
			before := take(t, p.dir, o)
			p.write("a", "2\n")
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second) // for the git that waits for ever
			defer cancel()
			if got := show(Compare(ctx, before, take(t, p.dir, o))); got != `modified "a"; lines unknown` {
				t.Error(got)
			}
		})
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

// What git's object store holds is not held a second time, whatever the version of the index.
func TestCleanFilesAreNotHeld(t *testing.T) {
	for version := 2; version <= 4; version++ {
		p := newPlace(t)
		p.write("a/long/directory/name", "0\n")
		for i := range 30 {
			p.write(fmt.Sprintf("a/%s", strings.Repeat("x", i+1)), fmt.Sprintf("%d\n", i))
		}
		p.repo()
		p.git("update-index", "--index-version", fmt.Sprint(version))
		p.write("new", "new\n")
		p.git("add", "--intent-to-add", "new") // an extended entry in version 3
		p.write("z", "dirty\n")
		s := take(t, p.dir, Options{})
		for _, name := range []string{"a/x", "a/" + strings.Repeat("x", 30), "a/long/directory/name"} {
			if s.find(name).content.text != nil {
				t.Errorf("version %d: %s is held", version, name)
			}
		}
		if string(s.find("z").content.text) != "dirty\n" {
			t.Errorf("version %d: the dirty file is not held", version)
		}
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

// Lines are those of the file that was listed, or none.
func TestFileThatChangesBehindTheSnapshot(t *testing.T) {
	p := newPlace(t)
	p.write("a", "1\n")
	before := take(t, p.dir, Options{})
	p.write("a", "2\n")
	after := take(t, p.dir, Options{KeepBytes: -1})
	p.write("a", "3\n")
	if got := show(Compare(context.Background(), before, after)); got != `modified "a"; lines unknown` {
		t.Error(got)
	}
}
