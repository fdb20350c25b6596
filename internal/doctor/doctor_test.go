package doctor

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"opencode-delegate/internal/delegate"
	"opencode-delegate/internal/fakeopencode"
	"opencode-delegate/internal/proc"
	"opencode-delegate/internal/realopencode"
	"opencode-delegate/internal/redact"
	"opencode-delegate/internal/sandbox"
	"opencode-delegate/internal/testplace"
)

func TestMain(m *testing.M) {
	if code, ok := proc.Main(os.Args); ok {
		os.Exit(code)
	}
	if code, ok := sandbox.Main(os.Args); ok {
		os.Exit(code)
	}
	if strings.HasPrefix(filepath.Base(os.Args[0]), "opencode") {
		os.Exit(fakeopencode.Main())
	}
	os.Setenv(raceEnv, raceValue)
	os.Exit(m.Run())
}

// A race build sleeps a second at the end of each process otherwise.
const raceEnv, raceValue = "GORACE", "atexit_sleep_ms=0"

// machineOf is a place as the doctor sees it. Later entries of env win.
func machineOf(p *testplace.Place, env ...string) Machine {
	p.T.Helper()
	self, err := os.Executable()
	if err != nil {
		p.T.Fatal(err)
	}
	return Machine{Version: "v1.2.3", Host: delegate.Host{
		Self: self, Environ: slices.Concat(p.Env, []string{raceEnv + "=" + raceValue}, env), Home: filepath.Join(p.Root, "home"), Cwd: p.Project,
		Secrets: redact.New(nil), Now: time.Now, StateRoot: filepath.Join(p.Root, "state"),
	}}
}

// examine examines a machine and checks what holds for every report.
func examine(t *testing.T, m Machine) report {
	t.Helper()
	r := Examine(context.Background(), m)
	failed := false
	for _, f := range r.Findings {
		failed = failed || f.Level == Fail
		if f.Name == "" || f.What == "" || (f.Remedy == "") != (f.Level == OK) {
			t.Errorf("a finding lacks something: %+v", f)
		}
	}
	if r.OK == failed {
		t.Errorf("ok is %v of %+v", r.OK, r.Findings)
	}
	return report{t, r}
}

type report struct {
	t *testing.T
	Report
}

// want checks that a finding of the name has the level and the texts in what it says.
func (r report) want(name string, level Level, texts ...string) Finding {
	r.t.Helper()
	var seen []Finding
	for _, f := range r.Findings {
		if f.Name != name {
			continue
		}
		all := f.What + "\n" + f.Remedy + "\n" + f.Fixed
		if f.Level == level && !slices.ContainsFunc(texts, func(s string) bool { return !strings.Contains(all, s) }) {
			return f
		}
		seen = append(seen, f)
	}
	r.t.Errorf("no finding %s %s with %q, but %+v", name, level, texts, seen)
	return Finding{}
}

// none checks that there is no finding of the names.
func (r report) none(names ...string) {
	r.t.Helper()
	for _, f := range r.Findings {
		if slices.Contains(names, f.Name) {
			r.t.Errorf("unexpected: %+v", f)
		}
	}
}

func TestAllIsWell(t *testing.T) {
	t.Parallel()
	p := testplace.Fake(t)
	r := examine(t, machineOf(p))
	r.want("version", OK, "v1.2.3")
	r.want("configuration", OK, "opencode-go/deepseek-v4-flash")
	r.want("state", OK, filepath.Join(p.Root, "state"))
	r.want("locks", OK)
	r.want("jobs", OK, "0 records")
	r.want("opencode", OK, "1.18.33", filepath.Join(p.Root, "bin", "opencode"), "OC_DELEGATE_OPENCODE")
	r.want("tier flash", OK, "opencode-go/deepseek-v4-flash")
	r.want("tier code", OK)
	r.want("tier pro", OK)
	r.none("abilities", "path", "default model", "undecided", "orphans", "leftovers", "lost", "stopped", "held", "records")
	if !r.OK {
		t.Errorf("%+v", r.Findings)
	}
	data, err := json.Marshal(r.Report)
	if err != nil || !strings.HasPrefix(string(data), `{"ok":true,"findings":[{"name":"version","level":"ok","what":"v1.2.3"},`) {
		t.Errorf("%s %v", data, err)
	}
}

func TestConfigurationThatCannotBeRead(t *testing.T) {
	t.Parallel()
	p := testplace.Fake(t)
	p.Write("home/.config/opencode-delegate/config.json", `{"teir": "pro"}`)
	r := examine(t, machineOf(p, "OC_DELEGATE_TIMEOUT=soon"))
	r.want("configuration", Fail, `unknown key "teir"`)
	r.want("configuration", Fail, "OC_DELEGATE_TIMEOUT")
	r.want("opencode", OK, "1.18.33") // it is looked at all the same
}

func TestOpencodeMissing(t *testing.T) {
	t.Parallel()
	p := testplace.Fake(t)
	for env, text := range map[string]string{
		"OC_DELEGATE_OPENCODE=" + filepath.Join(p.Root, "none"):              "no such file",
		"OC_DELEGATE_OPENCODE=" + filepath.Join(p.Project, "a.txt"):          "not executable",
		"OC_DELEGATE_OPENCODE=" + script(p, "broken/opencode", "exit 3"):     "exits 3",
		"OC_DELEGATE_OPENCODE=" + script(p, "other/opencode", "echo 1.18.3"): "no `run --format json`",
	} {
		r := examine(t, machineOf(p, env))
		r.want("opencode", Fail, text)
		r.none("models", "tier flash", "path", "abilities")
		r.want("git", OK)
	}
}

// script makes a program of the shell.
func script(p *testplace.Place, name, body string) string {
	p.T.Helper()
	p.Write(name, "#!/bin/sh\n"+body+"\n")
	path := filepath.Join(p.Root, name)
	if err := os.Chmod(path, 0o755); err != nil {
		p.T.Fatal(err)
	}
	return path
}

func TestVersions(t *testing.T) {
	t.Parallel()
	p := testplace.Fake(t)
	r := examine(t, machineOf(p, "OC_FAKE_VERSION=1.0.0"))
	f := r.want("abilities", Warn, "1.0.0", "--variant", "--auto", "--fork", "--thinking", "opencode upgrade")
	if strings.Contains(f.What, "--title") || strings.Contains(f.What, "--agent") || strings.Contains(f.What, "--print-logs") {
		t.Errorf("it has what is said to be missing: %s", f.What)
	}
	r.want("opencode", OK, "1.0.0")
	os.RemoveAll(filepath.Join(p.Root, "state", "cache"))
	examine(t, machineOf(p, "OC_FAKE_VERSION=2.0.8")).want("opencode", Warn, "2.0.8", "not measured with", "OC_DELEGATE_OPENCODE")
}

func TestOtherVersionsOnPath(t *testing.T) {
	t.Parallel()
	p := testplace.Fake(t)
	fake := filepath.Join(p.Root, "bin", "opencode")
	old := script(p, "old/opencode", "OC_FAKE_VERSION=1.2.27 exec "+fake+` "$@"`)
	mute := script(p, "mute/opencode", "exit 1")
	twin := script(p, "twin/opencode", "exec "+fake+` "$@"`)
	path := func(programs ...string) string {
		list := "PATH=.:" + os.Getenv("PATH")
		for _, prog := range programs {
			list += string(filepath.ListSeparator) + filepath.Dir(prog)
		}
		return list
	}
	r := examine(t, machineOf(p, path(fake, old, twin, mute)))
	f := r.want("path", Warn, "other versions than 1.18.33", old+" (1.2.27)", mute+" (which does not say its version)", fake)
	if strings.Contains(f.What, twin) {
		t.Errorf("one of the same version is told: %s", f.What)
	}
	if !r.OK {
		t.Error("another version is no failure")
	}
	examine(t, machineOf(p, path(fake, twin))).none("path")
}

func TestModels(t *testing.T) {
	t.Parallel()
	p := testplace.Fake(t)
	r := examine(t, machineOf(p, "OC_FAKE_MODELS=opencode-go/glm-5.2,opencode-go/deepseek-v4-flsh,mock/worker"))
	r.want("tier flash", Warn, "no model opencode-go/deepseek-v4-flash", "built in", "OC_TIER_FLASH=PROVIDER/MODEL", "opencode-go/deepseek-v4-flsh")
	if f := r.want("tier code", Warn); strings.Contains(f.Remedy, "auth login") {
		t.Errorf("its provider is set up: %s", f.Remedy)
	}
	r.want("tier pro", OK, "opencode-go/glm-5.2")

	r = examine(t, machineOf(p, "OC_FAKE_MODELS=mock/worker"))
	for _, name := range []string{"tier flash", "tier code", "tier pro"} {
		r.want(name, Fail, "opencode auth login", "opencode-go")
	}

	// One that is there is enough to work with.
	r = examine(t, machineOf(p, "OC_FAKE_MODELS=mock/worker", "OC_DELEGATE_MODEL=mock/worker", "OC_TIER_PRO=mock/workers"))
	r.want("default model", OK, "mock/worker")
	r.want("tier flash", Warn)
	r.want("tier pro", Warn, "mock/workers", "environment OC_TIER_PRO", "OC_TIER_PRO=PROVIDER/MODEL names another, such as mock/worker")
	r = examine(t, machineOf(p, "OC_DELEGATE_MODEL=mock/none"))
	r.want("default model", Warn, "mock/none", "OC_DELEGATE_MODEL=PROVIDER/MODEL")
}

func TestModelsThatAreNotTold(t *testing.T) {
	t.Parallel()
	p := testplace.Fake(t)
	fake := filepath.Join(p.Root, "bin", "opencode")
	dumb := script(p, "dumb/opencode", `[ "$1" = models ] && { echo "database is locked" >&2; exit 7; }; exec `+fake+` "$@"`)
	r := examine(t, machineOf(p, "OC_DELEGATE_OPENCODE="+dumb))
	r.want("models", Fail, "exits 7", "database is locked", dumb+" models")
	r.none("tier flash")
}

// asked lists the directories in which the fake was asked for its models.
func asked(t *testing.T, log string) (dirs []string) {
	t.Helper()
	data, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var c struct {
			Argv []string
			Cwd  string
		}
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		if c.Argv[0] == "models" {
			dirs = append(dirs, c.Cwd)
		}
	}
	return dirs
}

// A project may have providers of its own: it is asked about where models are missing, but not where its code would run free.
func TestProjectsAreAskedInACageOnly(t *testing.T) {
	t.Parallel()
	p := testplace.Fake(t)
	p.Write("project/.opencode/plugin/p.ts", "export const p = 1")
	log := filepath.Join(p.Root, "home/.local/share/opencode/log.jsonl")
	if sandbox.Detect(os.Getenv).OK() {
		examine(t, machineOf(p, "OC_FAKE_LOG="+log)).want("sandbox", OK, "Landlock ABI")
		if dirs := asked(t, log); len(dirs) != 1 || dirs[0] == p.Project {
			t.Errorf("nothing was missing, and it was asked in %v", dirs)
		}
		os.Remove(log)
		examine(t, machineOf(p, "OC_FAKE_LOG="+log, "OC_FAKE_MODELS=mock/worker"))
		if dirs := asked(t, log); len(dirs) != 2 || dirs[1] != p.Project {
			t.Errorf("asked in %v, want %s last", dirs, p.Project)
		}
		os.Remove(log)
	}
	r := examine(t, machineOf(p, "OC_FAKE_LOG="+log, "OC_FAKE_MODELS=mock/worker", sandbox.NoLandlockEnv+"=1"))
	r.want("sandbox", Warn, "no policy can be enforced")
	r.want("opencode", OK)
	for _, dir := range asked(t, log) {
		if strings.HasPrefix(dir, p.Root) {
			t.Errorf("asked without a cage in %s", dir)
		}
	}
}

func TestGit(t *testing.T) {
	p := testplace.Fake(t)
	path := func(dir string) string { return "PATH=" + dir }
	x := func(m Machine) Finding { return (&examination{Machine: m}).git(context.Background()) }
	if f := x(machineOf(p)); f.Level != OK || !strings.Contains(f.What, "2.") {
		t.Errorf("%+v", f)
	}
	if f := x(machineOf(p, path(p.Project))); f.Level != Warn || !strings.Contains(f.What, "not on PATH") {
		t.Errorf("%+v", f)
	}
	for body, want := range map[string]string{"echo hello": "hello", "exit 4": "exit status 4"} {
		git := script(p, "git/git", body)
		if f := x(machineOf(p, path(filepath.Dir(git)))); f.Level != Warn || !strings.Contains(f.What, want) || f.Remedy == "" {
			t.Errorf("%+v, want %q", f, want)
		}
	}
	// What lies in the current directory is the repository's.
	script(p, "git/opencode", "exit 1")
	t.Chdir(filepath.Join(p.Root, "git"))
	here := &examination{Machine: machineOf(p, path(".:"+filepath.Join(p.Root, "bin")))}
	fake := filepath.Join(p.Root, "bin", "opencode")
	if got := here.onPath(fake); len(got) != 0 {
		t.Errorf("others on PATH: %v", got)
	}
	t.Chdir(p.Root)
	if got := (&examination{Machine: machineOf(p, path("git"))}).onPath(fake); len(got) != 0 {
		t.Errorf("others on PATH: %v", got)
	}
	if got := here.onPath("another"); !slices.Equal(got, []string{fake}) {
		t.Errorf("others on PATH: %v", got)
	}
	if f := x(machineOf(p, path("."))); !strings.Contains(f.What, "not on PATH") {
		t.Errorf("%+v", f)
	}
}

func TestRealOpencode(t *testing.T) {
	t.Parallel()
	p := testplace.Real(t)
	r := examine(t, machineOf(p))
	r.want("opencode", OK, realopencode.Version(t), realopencode.Path(t))
	r.want("default model", OK, "mock/worker")
	r.want("tier flash", Warn, "opencode auth login sets up the provider opencode-go")
	r.want("git", OK)
	r.none("abilities", "models")
	if !r.OK {
		t.Errorf("%+v", r.Findings)
	}
}
