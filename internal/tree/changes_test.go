//go:build unix

package tree

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

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
