package verify

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/tree"
)

func usage(err error) bool { return err != nil && fault.Of(err).Kind == fault.Usage }

// TestLogKeepsHeadAndTail: for random writes against the plain meaning: the first and the last bytes, and a count.
func TestLogKeepsHeadAndTail(t *testing.T) {
	seed := rand.Uint64()
	rnd := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	for i := range 400 {
		limit := 2 + rnd.IntN(60)
		path := filepath.Join(t.TempDir(), fmt.Sprint(i))
		l, err := createLog(path, limit)
		if err != nil {
			t.Fatal(err)
		}
		var all []byte
		for range rnd.IntN(12) {
			p := make([]byte, rnd.IntN(50))
			for j := range p {
				p[j] = byte('a' + (len(all)+j)%26)
			}
			all = append(all, p...)
			if n, err := l.Write(p); n != len(p) || err != nil {
				t.Fatal(n, err)
			}
		}
		if err := l.close(); err != nil {
			t.Fatal(err)
		}
		want := string(all)
		if over := len(all) - limit; over > 0 {
			tail := limit / 2
			want = fmt.Sprintf("%s\n[%d bytes left out]\n%s", all[:limit-tail], over, all[len(all)-tail:])
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != want || l.all != int64(len(all)) || l.kept != int64(min(limit, len(all))) {
			t.Fatalf("limit %d, %d bytes: %q, want %q (%d, %d)", limit, len(all), got, want, l.all, l.kept)
		}
	}
}

func TestGlobs(t *testing.T) {
	for _, c := range []struct {
		glob, path string
		want       bool
	}{
		{"*.go", "a.go", true}, {"*.go", "x/y/a.go", true}, {"*.go", "a.go/x", true}, {"*.go", "a.gox", false},
		{"/a.go", "a.go", true}, {"/a.go", "x/a.go", false}, {"src/*.go", "src/a.go", true}, {"src/*.go", "x/src/a.go", false}, {"src/*.go", "src/x/a.go", false},
		{"src/**/*.go", "src/x/y/a.go", true}, {"src/**/*.go", "src/a.go", true}, {"src/", "src/x/y", true}, {"src", "src/x/y", true}, {"src", "x/src/y", true},
		{"tests/", "a/tests/b/c", true}, {"tests/", "tests", true}, {"test", "tests/a", false}, {"{a,b}.txt", "x/b.txt", true}, {"[ab].txt", "c.txt", false},
		{"**", "anything/at all", true}, {"*", ".hidden", true}, {"./x", "x", true}, {"a?c", "abc", true}, {"Makefile", "makefile", false}, {"ü*", "x/über", true}, {`\!x`, "a/!x", true}, {"x!", "x!", true},
	} {
		g, err := ParseGlobs("--protect", []string{c.glob})
		if err != nil {
			t.Errorf("%s: %v", c.glob, err)
			continue
		}
		if _, got := g.find(c.path, false); got != c.want {
			t.Errorf("%s against %s: %v", c.glob, c.path, got)
		}
	}
	g, err := ParseGlobs("--protect", []string{"Make*"})
	if _, ok := g.find("sub/mAKEFILE", true); !ok || err != nil {
		t.Error("case counts where it must not")
	}
	for _, bad := range []string{"", "/", ".", "..", "../x", "[", "{a", "a[b", strings.Repeat("a", 600), "a\nb", "a\x00", "!x", "!**/x"} {
		if _, err := ParseGlobs("--forbid-path", []string{bad}); !usage(err) || !strings.Contains(err.Error(), "--forbid-path") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestPaths(t *testing.T) {
	changes := []tree.Change{{Path: "src/a.go", Kind: tree.Modified}, {Path: "docs/new.md", From: "secret/old.md", Kind: tree.Renamed}, {Path: "src/b.go", Kind: tree.Deleted}}
	globs := func(list ...string) Globs {
		g, err := ParseGlobs("x", list)
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	for _, c := range []struct {
		allow  []Globs
		forbid Globs
		want   []string
	}{
		{nil, nil, nil},
		{[]Globs{globs("src/", "docs/")}, nil, []string{"secret/old.md"}},
		{[]Globs{globs("src/")}, nil, []string{"docs/new.md", "secret/old.md"}},
		{[]Globs{globs("src/", "docs/"), globs("**/*.go", "old.md")}, nil, []string{"docs/new.md", "secret/old.md"}},
		{nil, globs("b.go"), []string{"src/b.go"}},
		{[]Globs{globs("**")}, globs("secret"), []string{"secret/old.md"}},
		{[]Globs{globs("nothing")}, globs("src"), []string{"docs/new.md", "secret/old.md", "src/a.go", "src/b.go"}},
	} {
		if got := Paths(c.allow, c.forbid, changes); !slices.Equal(got, c.want) {
			t.Errorf("%v %v: %v, want %v", c.allow, c.forbid, got, c.want)
		}
	}
}

func TestMaxDiff(t *testing.T) {
	three, four := 3, 4
	for _, c := range []struct {
		limit   int
		changes tree.Changes
		lines   int
		ok      bool
	}{
		{7, tree.Changes{Known: true, Insertions: &three, Deletions: &four}, 7, true},
		{6, tree.Changes{Known: true, Insertions: &three, Deletions: &four}, 7, false},
		{6, tree.Changes{Known: true, Insertions: &three}, 0, false},
		{6, tree.Changes{Insertions: &three, Deletions: &four}, 0, false},
	} {
		if lines, ok := MaxDiff(c.limit, c.changes); lines != c.lines || ok != c.ok {
			t.Errorf("%+v: %d, %v", c, lines, ok)
		}
	}
}

func TestExpectFile(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	for path, text := range map[string]string{
		filepath.Join(dir, "full"): "x", filepath.Join(dir, "empty"): "", filepath.Join(dir, "sub/deep"): "x", filepath.Join(outside, "full"): "x",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"inner": "full", "outer": filepath.Join(outside, "full"), "up": "../" + filepath.Base(outside) + "/full", "outdir": outside, "dangling": "none", "loop": "loop"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		"full": "", "sub/deep": "", "./full": "", "inner": "", "empty": "is empty", "sub": "no regular file", "none": "is not there", "none/none": "is not there", "dangling": "is not there",
		"outer": "leads out", "up": "leads out", "outdir/full": "leads out", "../x": "inside the project", "/etc/passwd": "inside the project", "": "inside the project", ".": "inside the project",
	} {
		if got := ExpectFile(dir, path); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if got := ExpectFile(dir, "loop"); got == "" {
		t.Error("a link to itself is a file")
	}
}

func TestProject(t *testing.T) {
	p, err := ParseProject([]byte(`{"verify":["make test"],"protect":["*.snap"],"allow_path":["src/"],"forbid_path":["*.lock"]}`))
	if err != nil || p.Verify[0] != "make test" || p.Protect[0] != "*.snap" || p.AllowPath[0] != "src/" || p.ForbidPath[0] != "*.lock" {
		t.Errorf("%+v, %v", p, err)
	}
	if p, err := ParseProject([]byte("{}")); err != nil || len(p.Verify) > 0 {
		t.Errorf("%+v, %v", p, err)
	}
	for _, bad := range []string{
		"", "null", "[]", `"x"`, "{", "{} {}", `{"verify":"make"}`, `{"verify":[1]}`, `{"verfy":[]}`, `{"Verify":[]}`, `{"verify":[],"verify":["x"]}`, `{"verify":[""]}`,
		`{"verify":["a\u0000b"]}`, `{"protect":["["]}`, `{"allow_path":["../x"]}`, `{"forbid_path":[""]}`, "{\"verify\":[\"\xff\"]}",
		`{"protect":[` + strings.Repeat(`"a",`, 64) + `"a"]}`, `{"verify":["` + strings.Repeat("x", CommandLimit+1) + `"]}`, "{}" + strings.Repeat(" ", ProjectLimit),
	} {
		if p, err := ParseProject([]byte(bad)); !usage(err) || !strings.Contains(err.Error(), ProjectFile) {
			t.Errorf("%.60q: %+v, %v", bad, p, err)
		}
	}
}

func TestTrust(t *testing.T) {
	store := filepath.Join(t.TempDir(), "trust")
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	one, two := Hash([]byte("one")), Hash([]byte("two"))
	is := func(root, hash string, want bool) {
		t.Helper()
		if got := Trusted(store, root, hash); got != want {
			t.Errorf("%s %.8s: %v", root, hash, got)
		}
	}
	is("/repo", one, false)
	if err := Trust(store, "/repo", one, now); err != nil {
		t.Fatal(err)
	}
	is("/repo", one, true)
	is("/repo", two, false)
	is("/repo2", one, false)
	dir, file, _ := place(store, "/repo", one)
	for path, mode := range map[string]os.FileMode{store: 0o700 | os.ModeDir, dir: 0o700 | os.ModeDir, file: 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode() != mode {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
	// A file under the name of another content, or of another repository, gives nothing.
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, other, _ := place(store, "/repo", two)
	elsewhere, _, _ := place(store, "/repo2", one)
	if err := os.Mkdir(elsewhere, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{other, filepath.Join(elsewhere, one+".json")} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	is("/repo", two, false)
	is("/repo2", one, false)
	for range 2 {
		if err := Trust(store, "/repo", two, now.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	is("/repo", two, true)
	if had, err := Untrust(store, "/repo"); !had || err != nil {
		t.Error(had, err)
	}
	is("/repo", one, false)
	is("/repo", two, false)
	if had, err := Untrust(store, "/repo"); had || err != nil {
		t.Error(had, err)
	}
	for _, bad := range [][2]string{{"repo", one}, {"/repo/../x", one}, {"/repo", "../../x"}, {"/repo", ""}, {"/repo", one[:63] + "/"}} {
		if err := Trust(store, bad[0], bad[1], now); err == nil || Trusted(store, bad[0], bad[1]) {
			t.Errorf("%q is trusted", bad)
		}
	}
	// The store is bounded, and the newest stays even when clocks run backwards.
	for i := range trustMost + 10 {
		if err := Trust(store, "/many", Hash([]byte{byte(i)}), now.Add(-time.Duration(i)*time.Hour)); err != nil {
			t.Fatal(err)
		}
		is("/many", Hash([]byte{byte(i)}), true)
	}
	many, _, _ := place(store, "/many", one)
	if entries, err := os.ReadDir(many); err != nil || len(entries) != trustMost {
		t.Errorf("%d entries, %v", len(entries), err)
	}
	is("/many", Hash([]byte{0}), true) // the oldest by its number, and the newest by its time
}

func TestCheckCommand(t *testing.T) {
	for _, bad := range []string{"", " \n", "a\x00", "\xff", strings.Repeat("x", CommandLimit+1)} {
		if err := CheckCommand(bad); !usage(err) {
			t.Errorf("%.20q: %v", bad, err)
		}
	}
	if err := CheckCommand("go test ./... | tee /dev/null"); err != nil {
		t.Error(err)
	}
}

func TestCheckEnv(t *testing.T) {
	dir := t.TempDir()
	inside, outside := filepath.Join(dir, "tree"), filepath.Join(dir, "bin")
	for _, d := range []string{inside, outside} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(inside, link); err != nil {
		t.Fatal(err)
	}
	real, err := filepath.EvalSymlinks(inside)
	if err != nil {
		t.Fatal(err)
	}
	at := strings.NewReplacer("@", inside, "%", outside, "^", link).Replace
	for in, want := range map[string]string{
		"PATH=%:@/bin::.:bin:^/bin:@:%": "PATH=%:%", "PATH=@": "PATH=", "HOME=@": "HOME=@", "LD_PRELOAD=@/x.so": "", "LD_PRELOAD=%/x.so": "LD_PRELOAD=%/x.so",
		"BASH_ENV=@/rc": "", "ENV=^/rc": "", "NODE_OPTIONS=--require @/x.js": "", "NODE_OPTIONS=--max-old-space-size=4096": "NODE_OPTIONS=--max-old-space-size=4096",
		"NODE_OPTIONS=--require=./x.js": "", "NODE_PATH=%:@": "", "PYTHONPATH=.": "", "PYTHONPATH=%": "PYTHONPATH=%", "CFLAGS=-I@/include": "", "CFLAGS=-O2 -I%": "CFLAGS=-O2 -I%",
		"GOFLAGS=-modfile=@/go.mod": "", "GOFLAGS=-buildvcs=false": "GOFLAGS=-buildvcs=false", "GOPROXY=file://@/p,direct": "", "GIT_DIR=%": "", "GIT_SSH_COMMAND=ssh -v": "GIT_SSH_COMMAND=ssh -v",
		"GIT_CONFIG_GLOBAL=@/c": "", "npm_config_prefix=@": "", "CARGO_HOME=%": "CARGO_HOME=%", "MAKEFLAGS=-j4": "MAKEFLAGS=-j4", "MAKEFLAGS=-f ../x": "", "RUSTC_WRAPPER=^/w": "",
		"PYTHONPATH=@x": "PYTHONPATH=@x",
	} {
		var expected []string
		if want != "" {
			expected = []string{at(want)}
		}
		if got := CheckEnv([]string{at(in)}, []string{real}); !slices.Equal(got, expected) {
			t.Errorf("%s: %v, want %v", in, got, expected)
		}
	}
}

func TestSchema(t *testing.T) {
	s, err := ParseSchema("s.json", []byte(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","required":["ok","items"],"properties":{"ok":{"const":true},"items":{"type":"array","items":{"$ref":"#/$defs/i"}}},"$defs":{"i":{"type":"string","pattern":"^[a-z]+$"}},"additionalProperties":false}`))
	if err != nil {
		t.Fatal(err)
	}
	const good = `{"ok":true,"items":["a","bc"]}`
	for text, want := range map[string]string{
		good: "", " \n" + good + "\n": "", "```json\n" + good + "\n```": "", "\n```\n" + good + "```\n": "", "```JSON\r\n" + good + "\n```": "",
		"Here it is:\n```json\n" + good + "\n```": "no JSON", good + good: "follows", "": "there is nothing", "```json\n```": "there is nothing", "```python\n" + good + "\n```": "no JSON",
		`{"ok":true}`: "items", `{"ok":false,"items":[]}`: "match", `{"ok":true,"items":["A"]}`: "match", `{"ok":true,"items":[],"more":1}`: "match", "[]": "match", "null": "match",
		strings.Repeat("[", 200) + strings.Repeat("]", 200): "nested", `{"ok":true,`: "no JSON", "NaN": "no JSON",
	} {
		if got := s.Expect(text); (got == "") != (want == "") || !strings.Contains(got, want) || strings.Contains(got, "\n") {
			t.Errorf("%.80q: %q, want %q", text, got, want)
		}
	}
	if got := s.Expect(strings.Repeat(" ", answerLimit+1)); !strings.Contains(got, "bytes") {
		t.Error(got)
	}
	if s, err := ParseSchema("s", []byte(`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"integer"}],"definitions":{"a":true}}`)); err != nil || s.Expect("[1]") != "" || s.Expect(`["x"]`) == "" {
		t.Error("draft-07:", err)
	}
	if s, err := ParseSchema("s", []byte(`{"properties":{"left":{"$ref":"#"},"right":{"$ref":"#"},"v":{"type":"integer"}}}`)); err != nil || s.Expect(`{"left":{"right":{"v":1}}}`) != "" || s.Expect(`{"left":{"right":{"v":"x"}}}`) == "" {
		t.Error("recursive:", err)
	}
	if s, err := ParseSchema("s", []byte("true")); err != nil || s.Expect("1") != "" {
		t.Error("true:", err)
	}
	if s, err := ParseSchema("s", []byte(`{"$ref":"#/$defs/a%20b","$defs":{"a b":{"enum":[{"$ref":"http://data"}]},"c":{"$ref":"#d"},"d":{"$anchor":"d","type":"null"}}}`)); err != nil || s.Expect("null") == "" {
		t.Error("references:", err)
	}
}

func TestBadSchemas(t *testing.T) {
	board := `{"$ref":"#/$defs/a0","$defs":{"a20":{"type":"null"}`
	for i := range 20 {
		board += fmt.Sprintf(`,"a%d":{"allOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]}`, i, i+1, i+1)
	}
	for text, want := range map[string]string{
		"": "nothing", "[]": "no JSON object", "1": "no JSON object", `{"type":"objct"}`: "objct", `{"type":["string","x"]}`: "none of", `{"type":5}`: "",
		`{"pattern":"("}`: "", `{"pattern":"(?=x)"}`: "", `{"patternProperties":{"[":{}}}`: "", `{"$ref":"http://example.com/s.json"}`: "nothing is fetched", `{"$ref":"other.json"}`: "nothing is fetched",
		`{"items":{"$ref":"file:///etc/passwd"}}`: "nothing is fetched", `{"$ref":"#/$defs/none"}`: "leads to nothing", `{"$ref":"#"}`: "back to itself", `{"anyOf":[{"not":{"$ref":"#"}}]}`: "back to itself",
		`{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"if":{"$ref":"#/$defs/a"}}}}`: "back to itself", `{"$dynamicRef":"#x","$dynamicAnchor":"x"}`: "back to itself",
		`{"$schema":"http://json-schema.org/draft-04/schema#"}`: "draft", `{"$schema":"https://example.com/own"}`: "draft", `{"$defs":{"a":{"$id":"x"}}}`: "$id",
		`{"$defs":{"a":{"$anchor":"x"},"b":{"$anchor":"x"}}}`: "twice", board + "}}": "more than", `{"a":1}{}`: "follows", `{"multipleOf":0.01}`: "not compared exactly", `{"items":{"maximum":9007199254740993}}`: "not compared exactly", `{"minimum":"x"}`: "", strings.Repeat(`{"not":`, 200) + "true" + strings.Repeat("}", 200): "nested",
		string(bytes.Repeat([]byte(" "), SchemaLimit+1)): "bytes",
	} {
		began := time.Now()
		if _, err := ParseSchema("bad.json", []byte(text)); !usage(err) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "--expect-schema bad.json") {
			t.Errorf("%.80q: %v, want %q", text, err, want)
		}
		if time.Since(began) > 5*time.Second {
			t.Errorf("%.80q took %s", text, time.Since(began))
		}
	}
}
