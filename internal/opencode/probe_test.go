package opencode

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"opencode-delegate/internal/fault"
)

// answers is a Runner that plays a program.
type answers struct {
	mu      sync.Mutex
	asked   []string
	version Reply
	help    Reply
	err     error
}

func (a *answers) run(_ context.Context, q Query) (Reply, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, strings.Join(q.Argv[1:], " "))
	if q.Dir != "" {
		return Reply{}, errors.New("a probe in a directory of its own choice")
	}
	if q.Argv[1] == "--version" {
		return a.version, a.err
	}
	return a.help, a.err
}

func program(t *testing.T) string {
	t.Helper()
	p := filepath.Join(t.TempDir(), "opencode")
	if err := os.WriteFile(p, []byte("\x7fELF"), 0o755); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestProbeAsksOnce(t *testing.T) {
	path, cache := program(t), filepath.Join(t.TempDir(), "cache")
	a := &answers{version: Reply{Stdout: []byte("1.18.33\n")}, help: Reply{Stderr: []byte(help118)}}
	probe := func(want int) Binary {
		t.Helper()
		b, err := Probe(context.Background(), path, cache, a.run)
		if err != nil {
			t.Fatal(err)
		}
		if len(a.asked) != want {
			t.Fatalf("asked %q, want %d questions", a.asked, want)
		}
		return b
	}
	b := probe(2)
	if b.Path != path || b.Version != "1.18.33" || !b.Abilities.Auto || !b.Abilities.Thinking || b.Abilities.Attach {
		t.Errorf("%+v", b)
	}
	if again := probe(2); again != b {
		t.Errorf("from the cache: %+v", again)
	}
	files, _ := filepath.Glob(filepath.Join(cache, "*"))
	if len(files) != 1 {
		t.Fatalf("cache holds %q", files)
	}
	if info, _ := os.Stat(files[0]); runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	// Another time, another size, another content of the cache: asked anew.
	later := time.Now().Add(time.Hour)
	os.Chtimes(path, later, later)
	probe(4)
	os.WriteFile(path, []byte("\x7fELF longer"), 0o755)
	os.Chtimes(path, later, later)
	probe(6)
	for _, junk := range []string{"", "{", `{"schema":99}`, `{"schema":1,"path":"` + path + `"}`, strings.Repeat("x", 2<<20)} {
		os.WriteFile(files[0], []byte(junk), 0o600)
		probe(len(a.asked) + 2)
	}
	if runtime.GOOS != "windows" {
		good, _ := os.ReadFile(files[0])
		elsewhere := filepath.Join(t.TempDir(), "planted")
		os.WriteFile(elsewhere, good, 0o600)
		os.Remove(files[0])
		os.Symlink(elsewhere, files[0])
		probe(len(a.asked) + 2)
	}
	if b, err := Probe(context.Background(), path, "", a.run); err != nil || b.Version != "1.18.33" {
		t.Errorf("without a cache: %+v, %v", b, err)
	}
}

func TestProbesSideBySide(t *testing.T) {
	path, cache := program(t), t.TempDir()
	a := &answers{version: Reply{Stdout: []byte("1.18.33\n")}, help: Reply{Stdout: []byte(help118)}}
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if b, err := Probe(context.Background(), path, cache, a.run); err != nil || !b.Abilities.Format {
				t.Errorf("%+v, %v", b, err)
			}
		})
	}
	all.Wait()
	if left, _ := filepath.Glob(filepath.Join(cache, ".tmp-*")); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestProbeRefuses(t *testing.T) {
	good, help := Reply{Stdout: []byte("1.18.33\n")}, Reply{Stdout: []byte(help118)}
	for name, c := range map[string]struct {
		a    *answers
		part string
	}{
		"crash":     {&answers{version: Reply{Code: 132, Stderr: []byte("Illegal instruction\n")}, help: help}, "--version exits 132: Illegal instruction"},
		"silence":   {&answers{version: Reply{}, help: help}, "--version exits 0"},
		"no json":   {&answers{version: good, help: Reply{Stdout: []byte("Options:\n      --title  the title\n")}}, "no `run --format json`"},
		"not asked": {&answers{err: errors.New("exec format error")}, "exec format error"},
	} {
		_, err := Probe(context.Background(), program(t), t.TempDir(), c.a.run)
		f := fault.Of(err)
		if f == nil || f.Kind != fault.OpencodeMissing || !strings.Contains(f.Reason, c.part) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Probe(context.Background(), "/nowhere/opencode", "", nil); fault.Of(err).Kind != fault.OpencodeMissing {
		t.Errorf("gone: %v", err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(fault.New(fault.Interrupted, "SIGINT"))
	a := &answers{err: context.Canceled}
	if _, err := Probe(ctx, program(t), "", a.run); fault.Of(err).Kind != fault.Interrupted {
		t.Errorf("interrupted: %v", err)
	}
}

func TestAbilitiesOfOldVersions(t *testing.T) {
	// The usage texts of two recordings: 1.2.27 and 1.1.31 print them on stdout.
	old := readRecording(t, "old-1.2.27-auto").stdout
	a := parseHelp(string(old))
	if !a.Format || !a.Dir || !a.Fork || !a.Thinking || !a.Variant || a.Auto {
		t.Errorf("1.2.27: %+v", a)
	}
	a = parseHelp(string(readRecording(t, "old-1.1.31-dir").stdout))
	if !a.Format || a.Dir || a.Fork || a.Thinking || !a.Variant || a.Auto || !a.PrintLogs {
		t.Errorf("1.1.31: %+v", a)
	}
	a = parseHelp(string(readRecording(t, "argv-dash-json").stderr))
	if want := AllAbilities(); a != want {
		t.Errorf("1.18.33: %+v", a)
	}
}

func TestArgvOfAnOldVersion(t *testing.T) {
	a := Attempt{Binary: Binary{Path: "/bin/opencode", Version: "1.1.31", Abilities: parseHelp(string(readRecording(t, "old-1.1.31-dir").stdout))},
		Dir: "/d", Title: "T", Auto: true, Files: []string{"/f1", "/f2"}}
	argv, notes, err := a.Argv()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(argv, " "); got != "/bin/opencode run --format json --print-logs --log-level INFO --title T -f /f1 -f /f2" {
		t.Errorf("argv %s", got)
	}
	if len(notes) != 1 || !strings.Contains(notes[0], "no --auto") {
		t.Errorf("notes %q", notes)
	}
	for name, change := range map[string]func(*Attempt){
		"fork":        func(a *Attempt) { a.Session, a.Fork = "ses_1", true },
		"dash":        func(a *Attempt) { a.Agent = "--auto" },
		"newline":     func(a *Attempt) { a.Title = "a\nb" },
		"no title":    func(a *Attempt) { a.Title = "" },
		"relative":    func(a *Attempt) { a.Dir = "d" },
		"file":        func(a *Attempt) { a.Files = []string{"f"} },
		"lonely fork": func(a *Attempt) { a.Binary.Abilities, a.Fork = AllAbilities(), true },
	} {
		b := a
		change(&b)
		if _, _, err := b.Argv(); fault.Of(err) == nil || fault.Of(err).Kind != fault.Usage {
			t.Errorf("%s: %v", name, err)
		}
	}
	a.Binary.Abilities.Variant = false
	a.Variant = "high"
	if _, _, err := a.Argv(); err == nil || !strings.Contains(err.Error(), `"high"`) {
		t.Errorf("variant: %v", err)
	}
}

func TestCacheOfANarrowUmask(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // no umask there
	}
	dir := t.TempDir()
	writeCacheUnder(0o777, dir, filepath.Join(dir, "opencode-x.json"))
	if info, err := os.Stat(filepath.Join(dir, "opencode-x.json")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}
