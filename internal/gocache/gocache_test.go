package gocache

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	if exit, ok := Main(os.Args); ok {
		os.Exit(exit)
	}
	os.Exit(m.Run())
}

func id(s string) []byte { sum := sha256.Sum256([]byte(s)); return sum[:] }

// talk sends requests, each with the body that follows it, and returns the answers but for the first one.
func talk(t *testing.T, l layers, requests ...any) []response {
	t.Helper()
	var in, out bytes.Buffer
	for _, r := range requests {
		if body, ok := r.(string); ok {
			in.WriteString(`"` + base64.StdEncoding.EncodeToString([]byte(body)) + "\"\n")
			continue
		}
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		in.Write(append(text, '\n', '\n'))
	}
	if err := serve(l, &in, &out); err != nil {
		t.Fatal(err)
	}
	var answers []response
	for d := json.NewDecoder(&out); ; {
		var r response
		if err := d.Decode(&r); err == io.EOF {
			return answers[1:]
		} else if err != nil {
			t.Fatal(err)
		}
		answers = append(answers, r)
	}
}

func TestLayers(t *testing.T) {
	lower, upper := t.TempDir(), t.TempDir()
	big := strings.Repeat("0123456789", 30_000)
	talk(t, layers{lower}, request{ID: 1, Command: "put", ActionID: id("a"), OutputID: id("A"), BodySize: 5}, "below")
	a := talk(t, layers{upper, lower},
		request{ID: 2, Command: "get", ActionID: id("a")},
		request{ID: 3, Command: "put", ActionID: id("b"), OutputID: id("B"), BodySize: int64(len(big))}, big,
		request{ID: 4, Command: "get", ActionID: id("b")},
		request{ID: 5, Command: "get", ActionID: id("c")},
		request{ID: 6, Command: "put", ActionID: id("e"), OutputID: id("E")},
		request{ID: 7, Command: "get", ActionID: id("e")},
		request{ID: 8, Command: "put", ActionID: id("a"), OutputID: id("A2"), BodySize: 5}, "above",
		request{ID: 9, Command: "get", ActionID: id("a")},
		request{ID: 10, Command: "nonsense"},
		request{ID: 11, Command: "get", ActionID: []byte("../../etc")},
		request{ID: 12, Command: "close"},
	)
	if len(a) != 11 {
		t.Fatalf("%d answers: %+v", len(a), a)
	}
	for i, want := range map[int]string{0: "below", 2: big, 5: "", 7: "above"} {
		got, err := os.ReadFile(a[i].DiskPath)
		if err != nil || string(got) != want || a[i].Size != int64(len(want)) || a[i].ID != int64(i+2) {
			t.Errorf("%+v: %d bytes, %v", a[i], len(got), err)
		}
	}
	if !strings.HasPrefix(a[0].DiskPath, lower) || !strings.HasPrefix(a[7].DiskPath, upper) || a[1].DiskPath != a[2].DiskPath {
		t.Errorf("%+v", a)
	}
	if !a[3].Miss || a[8].Err == "" || a[9].Err == "" {
		t.Errorf("%+v", a)
	}
	if below := talk(t, layers{lower}, request{Command: "get", ActionID: id("a")}); below[0].Size != 5 || !strings.HasPrefix(below[0].DiskPath, lower) {
		t.Errorf("the lower layer changed: %+v", below)
	}
}

// What is damaged is not there; a body of another size than was said is not kept.
func TestDamaged(t *testing.T) {
	l := layers{t.TempDir()}
	put := request{Command: "put", ActionID: id("a"), OutputID: id("A"), BodySize: 5}
	talk(t, l, put, "right")
	entry, output := file(l[0], id("a"), "a"), file(l[0], id("A"), "d")
	whole, err := os.ReadFile(entry)
	if err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func() error{
		"longer":  func() error { return os.WriteFile(entry, append(whole, '\n'), 0o600) },
		"shorter": func() error { return os.WriteFile(entry, whole[:50], 0o600) },
		"another": func() error { return os.WriteFile(entry, bytes.ReplaceAll(whole, []byte("v1 "), []byte("v2 ")), 0o600) },
		"size":    func() error { return os.WriteFile(output, []byte("wrong size"), 0o600) },
		"directory": func() error {
			return os.Mkdir(output, 0o700)
		},
	} {
		os.RemoveAll(output)
		if name != "directory" {
			talk(t, l, put, "right")
		}
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if a := talk(t, l, request{Command: "get", ActionID: id("a")}); !a[0].Miss {
			t.Errorf("%s: %+v", name, a[0])
		}
	}
	if a := talk(t, layers{t.TempDir()}, request{Command: "put", ActionID: id("a"), OutputID: id("A"), BodySize: 6}, "right"); a[0].Err == "" {
		t.Errorf("%+v", a[0])
	}
	var out bytes.Buffer
	if err := serve(l, strings.NewReader("{\"Command\":\"put\",\"BodySize\":5}\n\"AAA"), &out); err == nil {
		t.Error("a body that breaks off is taken")
	}
	q := &quoted{in: bufio.NewReader(strings.NewReader(`"`))}
	if n, err := q.Read(make([]byte, 8)); n != 0 || err != io.EOF {
		t.Error(n, err)
	}
}

func TestCommand(t *testing.T) {
	if got, err := Command("/a b/self", "/up'per", "/low"); err != nil || got != `'/a b/self' '__gocache' "/up'per" '/low'` {
		t.Errorf("%s, %v", got, err)
	}
	for _, bad := range [][]string{{"self", "/u"}, {"/s", "u"}, {"/s", "/u", "l"}, {"/s", `/'"`}} {
		if got, err := Command(bad[0], bad[1], bad[2:]...); err == nil {
			t.Errorf("%q: %s", bad, got)
		}
	}
}

// TestRealGo: what one build has put, another finds, in a layer that it cannot write; and what it puts itself goes above.
func TestRealGo(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module m\ngo 1.24\n", "m.go": "package m\n\nfunc One() int { return 1 }\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	build := func(upper string, lower ...string) string {
		t.Helper()
		prog, err := Command(self, upper, lower...)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("go", "build", "-x", "./...")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOCACHE="+filepath.Join(t.TempDir(), "plain"), "GOCACHEPROG="+prog, "GOFLAGS=-buildvcs=false", "GO111MODULE=on", "GOWORK=off")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	const compiles = "/compile -o "
	base := t.TempDir()
	if out := build(base); !strings.Contains(out, compiles) {
		t.Errorf("nothing was compiled:\n%s", out)
	}
	above := t.TempDir()
	if out := build(above, base); strings.Contains(out, compiles) {
		t.Errorf("compiled again:\n%s", out)
	}
	if err := os.WriteFile(filepath.Join(dir, "m.go"), []byte("package m\n\nfunc One() int { return 2 }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	count := func() int { files, _ := filepath.Glob(filepath.Join(base, "*", "*")); return len(files) }
	before := count()
	if out := build(above, base); !strings.Contains(out, compiles) {
		t.Errorf("the change was not compiled:\n%s", out)
	}
	if files, _ := filepath.Glob(filepath.Join(above, "*", "*-d")); len(files) == 0 || count() != before {
		t.Errorf("%d files above, %d below, before %d", len(files), count(), before)
	}
}
