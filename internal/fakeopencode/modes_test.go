package fakeopencode

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestEndings checks the modes that end a run: the kinds of the events, the last reason, and the exit code.
func TestEndings(t *testing.T) {
	for _, c := range []struct {
		mode, kinds, reason string
		code                int
	}{
		{"claim", "step_start text step_finish", "stop", 0},
		{"digest", "step_start text step_finish", "stop", 0},
		{"write", "step_start tool_use step_finish step_start text step_finish", "stop", 0},
		{"empty", "step_start step_finish", "stop", 0},
		{"no-output", "", "", 0},
		{"reasoning-only", "step_start step_finish", "stop", 0},
		{"tools-only", "step_start tool_use step_finish", "tool-calls", 0},
		{"length", "step_start text step_finish", "length", 0},
		{"exit1-complete", "step_start text step_finish", "stop", 1},
		{"exit:7", "", "", 7},
		{"exit0-error", "error", "", 0},
		{"error-then-heal", "error step_start text step_finish", "stop", 0},
		{"error-then-heal:1", "error step_start text step_finish", "stop", 1},
		{"perm", "step_start tool_use step_finish", "tool-calls", 0},
		{"perm-goes-on", "step_start tool_use step_finish step_start text step_finish", "stop", 0},
		{"todo", "step_start tool_use step_finish step_start text step_finish", "stop", 0},
		{"rate-heal:2:1", "step_start text step_finish", "stop", 0},
		{"deny", "step_start tool_use step_finish step_start text step_finish", "stop", 0},
		{"cost:2", "step_start tool_use step_finish step_start tool_use step_finish step_start text step_finish", "stop", 0},
		{"many-events:2", "step_start tool_use tool_use step_finish step_start text step_finish", "stop", 0},
		{"v2", "session.created message.updated message.part.updated session.idle", "", 0},
		{"sigkill", "step_start text", "", -1},
		{"segv", "step_start", "", -1},
		{"partial-line", "step_start", "", -1},
		{"crlf", "step_start text step_finish", "stop", 0},
		{"no-newline", "step_start text step_finish", "stop", 0},
	} {
		t.Run(c.mode, func(t *testing.T) {
			r := newBox(t).fake(c.mode)
			if r.code() != c.code || r.kinds() != c.kinds || r.reason() != c.reason {
				t.Errorf("exit %d %q %q, want %d %q %q; stderr %q", r.code(), r.kinds(), r.reason(), c.code, c.kinds, c.reason, r.stderr)
			}
		})
	}
}

func TestTodoAndRateLimit(t *testing.T) {
	if r := newBox(t).fake("todo:1:4"); strings.Count(r.stdout, `"metadata":{"todos":[{"content":"thing 1","priority":"high","status":"completed"},{"content":"thing 2","priority":"high","status":"in_progress"},{`) != 1 ||
		!strings.Contains(r.stdout, "thing 4") || strings.Contains(r.stdout, "thing 5") {
		t.Errorf("%s", r.stdout)
	}
	if r := newBox(t).fake("rate-heal:3:1", "--print-logs"); strings.Count(r.stderr, "AI_APICallError: Rate limit reached") != 3 {
		t.Errorf("%s", r.stderr)
	}
}

func TestSuccessivePrograms(t *testing.T) {
	b := newBox(t)
	for i, want := range []string{"length", "stop", "stop"} {
		if r := b.fake("length;ok"); r.reason() != want {
			t.Errorf("run %d: %v, want %s", i, r.reason(), want)
		}
	}
}

func TestUnknownModeIsSaid(t *testing.T) {
	if r := newBox(t).fake("nonsense"); r.code() != 1 || !strings.Contains(r.stderr, `no mode is named "nonsense"`) {
		t.Errorf("exit %d, stderr %q", r.code(), r.stderr)
	}
}

func TestWorkIsReal(t *testing.T) {
	b := newBox(t)
	b.fake("write:sub/a.txt,outside")
	for _, f := range []string{"sub/a.txt", "../fake-outside.txt"} {
		if _, err := os.Stat(filepath.Join(b.dir, f)); err != nil {
			t.Error(err)
		}
	}
	b.fake("delete:sub/a.txt")
	if _, err := os.Stat(filepath.Join(b.dir, "sub/a.txt")); err == nil {
		t.Error("delete left the file")
	}
	if r := b.fake("write:/proc/nowhere/x"); !strings.Contains(r.stdout, `"status":"error"`) {
		t.Errorf("a write that fails: %s", r.stdout)
	}
	if out, err := exec.Command("git", "init", "-q", b.dir).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v %s", err, out)
	}
	b.fake("githook,gitconfig,gitcommit")
	if info, err := os.Stat(filepath.Join(b.dir, ".git/hooks/post-checkout")); err != nil || info.Mode()&0o100 == 0 {
		t.Errorf("hook: %v %v", info, err)
	}
	if config := read(t, filepath.Join(b.dir, ".git/config")); !strings.Contains(config, "fsmonitor") {
		t.Errorf("config: %s", config)
	}
	if r := b.run(20*time.Second, "x", []string{"OC_FAKE=sh", "OC_FAKE_SH=echo out; exit 3"}, "run", "--format", "json"); !strings.Contains(r.stdout, `"exit":3`) {
		t.Errorf("sh: %s", r.stdout)
	}
}

func TestSilence(t *testing.T) {
	for mode, want := range map[string]string{
		"hang": "", "exit-hang": "step_start text step_finish", "ignore-term": "", "quota-hang": "", "rate-hang": "",
		"replay:err-429-zen-go-json": "", "replay:stall-json": "step_start step_start",
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			b := newBox(t)
			r := b.run(2*time.Second, "x", []string{"OC_FAKE=" + mode, "OC_FAKE_RECORDINGS=" + checkout(t, "testdata", "recordings")}, "run", "--format", "json", "--print-logs")
			if !r.timedOut || r.kinds() != want {
				t.Errorf("ended %v, events %q, want silence after %q", r.exit, r.kinds(), want)
			}
			if limit := strings.Contains(r.stderr, "AI_APICallError"); limit != (mode == "quota-hang" || mode == "rate-hang") {
				t.Errorf("stderr %q", r.stderr)
			}
		})
	}
}

// TestReplayIsExact compares each byte with the recording. Those that died by a signal and one in eight are enough for a mechanism that knows no names.
func TestReplayIsExact(t *testing.T) {
	root := checkout(t, "testdata", "recordings")
	dirs, err := filepath.Glob(filepath.Join(root, "*", "cmd"))
	if err != nil || len(dirs) < 150 {
		t.Fatalf("%d recordings, %v", len(dirs), err)
	}
	b := newBox(t)
	played := 0
	for i, cmd := range dirs {
		dir := filepath.Dir(cmd)
		exit := strings.TrimSpace(read(t, filepath.Join(dir, "exit")))
		signal := strings.HasPrefix(exit, "-")
		if strings.HasPrefix(exit, "timeout") || i%8 != 0 && !signal {
			continue
		}
		played++
		r := b.run(20*time.Second, "x", []string{"OC_FAKE=replay:" + filepath.Base(dir), "OC_FAKE_RECORDINGS=" + root}, "run", "--format", "json", "--print-logs")
		if signal {
			exit = "-1"
		}
		if r.stdout != read(t, filepath.Join(dir, "stdout")) || r.stderr != read(t, filepath.Join(dir, "stderr")) || exit != strconv.Itoa(r.code()) {
			t.Errorf("%s: exit %d, want %s; stdout %d and stderr %d bytes", filepath.Base(dir), r.code(), exit, len(r.stdout), len(r.stderr))
		}
	}
	if played < 18 {
		t.Errorf("only %d recordings were played", played)
	}
}

func TestSecretIsSplit(t *testing.T) {
	b := newBox(t)
	r := b.run(20*time.Second, "x", []string{"OC_FAKE=secret", "OC_FAKE_SECRET=swordfish-swordfish"}, "run", "--format", "json")
	if strings.Count(r.stdout, "swordfish-swordfish") < 4 || !strings.Contains(r.stderr, "swordfish-swordfish") || len(r.events) != 6 {
		t.Errorf("stdout %s stderr %s", r.stdout, r.stderr)
	}
}

func TestSizes(t *testing.T) {
	r := newBox(t).fake("bigstderr:2,bigline:3")
	if len(r.stderr) < 2<<20 || len(r.stdout) < 3<<20 || r.kinds() != "step_start text step_finish" {
		t.Errorf("stderr %d, stdout %d bytes, %s", len(r.stderr), len(r.stdout), r.kinds())
	}
}

func TestProcessesStay(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has neither sessions nor SIGTERM")
	}
	b := newBox(t)
	for _, mode := range []string{"child", "child:deaf", "daemon"} {
		b.run(5*time.Second, "x", []string{"OC_FAKE=" + mode, "OC_FAKE_STATE=" + b.home}, "run", "--format", "json")
	}
	var pids []string
	for deadline := time.Now().Add(5 * time.Second); len(pids) < 3 && time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		text, _ := os.ReadFile(filepath.Join(b.home, "pids")) // not there at first
		pids = strings.Fields(string(text))
	}
	if len(pids) != 3 {
		t.Fatalf("pids: %v", pids)
	}
	for _, text := range pids {
		pid, err := strconv.Atoi(text)
		if err != nil || pid < 2 {
			t.Fatalf("pid %q", text)
		}
		p, err := os.FindProcess(pid)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Kill(); err != nil {
			t.Errorf("process %d was not alive: %v", pid, err)
		}
	}
}

func TestDatabaseLock(t *testing.T) {
	b := newBox(t)
	for i, want := range []int{1, 1, 0} {
		if r := b.fake("dblock:2"); r.code() != want {
			t.Errorf("try %d: exit %d, want %d", i, r.code(), want)
		}
	}
}

// TestReadmeKnowsEveryMode holds the list for readers equal to the table.
func TestReadmeKnowsEveryMode(t *testing.T) {
	text := read(t, checkout(t, "testdata", "script", "README.md"))
	_, text, _ = strings.Cut(text, "<!-- modes -->")
	text, _, _ = strings.Cut(text, "<!-- end of modes -->")
	var documented []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z0-9-]+)").FindAllStringSubmatch(text, -1) {
		documented = append(documented, m[1])
	}
	slices.Sort(documented)
	if got := Modes(); !slices.Equal(got, documented) {
		t.Errorf("modes %v\ndocumented %v", got, documented)
	}
}
