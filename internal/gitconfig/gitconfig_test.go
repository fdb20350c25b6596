package gitconfig

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// corpus holds files in the forms that git accepts and refuses; FuzzParse starts from it too.
var corpus = []string{
	"",
	"\n\n# only a comment",
	"[core]\n\tbare = false\n",
	"[core] bare = false\n[core] editor = vi ; comment\n",
	"[core]bare\n",
	"[core]\nbare",
	"[Core]\n\tEditor = \"a b\" c # x\n",
	"[branch \"Main\"]\n\tremote = origin\n\tMERGE = refs/heads/main\n",
	"[branch.Main]\n\tremote = origin\n",
	"[branch \"a\\\"b\\\\c\\d\"]\n\tremote = x\n",
	"[a.b \"c.d\"]\nx = 1\n",
	"[alias]\n\tx = !sh -c \\\n\t\t'echo hi' \\\n  # not a comment in git? \n",
	"[alias]\n\tx = \"a;b#c\" ; gone\n\ty = a\\tb\\nc\\bd\\\\e\\\"f\n",
	"[x]\n a = \"open\n",
	"[x]\n a = bad \\q escape\n",
	"[x\n",
	"[x \"y\"\n",
	"[x y]\n",
	"[x \"y\" ]\n",
	"[x\t \"y\"]\na=1\n",
	"[]\na = 1\n",
	"a = 1\n",
	"[x]\n1a = 1\n",
	"[x]\n-a = 1\n",
	"[x]\na-1 = 1\n",
	"[x]\na_b = 1\n",
	"[x]\na b = 1\n",
	"[x]\na\n=1\n",
	"[x]\na=\n",
	"[x]\na=\"\"\nb = \" s \" \n",
	"[x]\r\na = 1\r\nb = 2 \\\r\n 3\r\n",
	"[x]\na = 1\rb\n",
	"[x]\r[y]\ra = 1",
	"\xef\xbb\xbf[x]\na = 1\n",
	"\xef\xbb[x]\na = 1\n",
	"[x]\na = trailing\\",
	"[x]\na = trailing \\\n",
	"[x]\na = c # \\\nb = 2\n",
	"[x]\na = 1\n[x]\na = 2\n[X]\nA = 3\n",
	"[x]\na = \xff\xfe\n",
	"[x \"\xff\"]\na = 1\n",
	"[x]\na = 1 [y] b = 2\n",
	"[x] [y] b = 2\n",
	"[x][y \"z\"]b=2\n",
	"[include]path=a\n[includeIf \"gitdir:~/x/\"]\npath = b\n",
	"]\n",
	"[x]\n\x0ca = 1\n",
	"[x]\na\x0b = 1\n",
	"[\"x\"]\na = 1\n",
	"[x \"\"]\na = 1\n",
	"[ \"x\"]\na = 1\n",
	"[.]\na = 1\n",
	"[x.]\na = 1\n",
	"[.x]\na = 1\n",
	"[x]\n; c\\\na=1",
	"[x]a=1 \\\n\\\n2",
	"[x]\na = \"a\" \"b\"\n",
	"[x]\na = \"a\\\nb\"\n",
}

// gitList is what git itself reads from a text, or false where git refuses it.
func gitList(t testing.TB, text []byte) (string, bool) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("git", "config", "--file", file, "--no-includes", "-z", "--list")
	cmd.Dir = filepath.Dir(file)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CEILING_DIRECTORIES=/", "LC_ALL=C")
	out, err := cmd.Output()
	return string(out), err == nil
}

// ourList renders entries as `git config -z --list` does.
func ourList(f *File) string {
	var b strings.Builder
	for _, e := range f.Entries {
		b.WriteString(e.Key)
		if !e.Implicit {
			b.WriteString("\n" + e.Value)
		}
		b.WriteByte(0)
	}
	return b.String()
}

// flat hides the one difference between versions of git: white space within a value, before and after 2.45.
func flat(s string) string { return strings.NewReplacer("\t", " ", "\r", " ").Replace(s) }

func checkAgainstGit(t testing.TB, text []byte) {
	t.Helper()
	want, ok := gitList(t, text)
	f, err := Parse(text)
	if ok != (err == nil) {
		t.Fatalf("git accepts %q: %v; Parse says %v", text, ok, err)
	}
	if ok && flat(ourList(f)) != flat(want) {
		t.Fatalf("%q\n git reads %q\n we read  %q", text, want, ourList(f))
	}
}

func TestParseReadsAsGitDoes(t *testing.T) {
	for _, text := range corpus {
		checkAgainstGit(t, []byte(text))
	}
}

func TestParseRefusesWhatNoGitWrites(t *testing.T) {
	for name, text := range map[string][]byte{"NUL": []byte("[x]\n# \x00\na = 1\n"), "size": bytes.Repeat([]byte("#"), MaxSize+1)} {
		if _, err := Parse(text); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestReplaceKeepsEveryOtherEntryAndByte(t *testing.T) {
	const text = "# mine\n[core]\n\tbare = false ; keep\n\teditor = vi\n[alias] x = y\n\tlast = a \\\n\t\tb\n[remote \"o\"]\n\turl = u\n"
	f, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	got := f.Replace(map[string]bool{"core.editor": true, "alias.x": true, "alias.last": true, "remote.o.url": true}, []Entry{
		{Key: "remote.o.url", Value: "a \"b\"\\\n#;"}, {Key: "remote.o.prune", Implicit: true}, {Key: "core.x", Value: ""}, {Key: "nosection", Value: "1"},
	})
	want := "# mine\n[core]\n\tbare = false ; keep\n[alias] \n[remote \"o\"]\n[remote \"o\"]\n\turl = \"a \\\"b\\\"\\\\\\n#;\"\n\tprune\n[core]\n\tx = \"\"\n"
	if string(got) != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	checkAgainstGit(t, got)
}

// Whatever a file holds, replacing any key leaves every other entry, and the new ones read back as given.
func checkReplace(t testing.TB, f *File) {
	t.Helper()
	keys := f.Keys()
	for i, key := range keys {
		if i > 8 {
			break
		}
		var with, rest []Entry
		for _, e := range f.Entries {
			if e.Key != key {
				rest = append(rest, e)
			} else if strings.Contains(key, ".") && !strings.HasPrefix(key, ".") {
				with = append(with, Entry{Key: key, Value: e.Value + " #\"\\\n\t\b;"})
			}
		}
		out := f.Replace(map[string]bool{key: true}, with)
		g, err := Parse(out)
		if err != nil {
			t.Fatalf("Replace made %q of %q: %v", out, f.text, err)
		}
		want := &File{Entries: append(rest, with...)}
		if ourList(g) != ourList(want) {
			t.Fatalf("replacing %q in %q gave %q", key, f.text, out)
		}
	}
}

func TestReplaceOverTheCorpus(t *testing.T) {
	for _, text := range corpus {
		if f, err := Parse([]byte(text)); err == nil {
			checkReplace(t, f)
		}
	}
}

func TestSplit(t *testing.T) {
	for key, want := range map[string][3]string{
		"a.b": {"a", "", "b"}, "a.b.c": {"a", "b", "c"}, "a.b.c.d": {"a", "b.c", "d"}, "a": {"", "", "a"}, "a..b": {"a", "", "b"},
	} {
		s, u, v := Split(key)
		if [3]string{s, u, v} != want {
			t.Errorf("Split(%q) = %q %q %q", key, s, u, v)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range corpus {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := Parse(text)
		if err != nil {
			return
		}
		for _, e := range file.Entries {
			if e.start < 0 || e.start >= e.end || e.end > len(text) {
				t.Fatalf("entry %q of %q stands at %d..%d", e.Key, text, e.start, e.end)
			}
		}
		checkReplace(t, file)
	})
}

// FuzzAgainstGit compares with the installed git; it starts a process for each input.
func FuzzAgainstGit(f *testing.F) {
	for _, text := range corpus {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > MaxSize || bytes.IndexByte(text, 0) >= 0 {
			return
		}
		checkAgainstGit(t, text)
	})
}
