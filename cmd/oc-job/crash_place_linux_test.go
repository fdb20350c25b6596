package main

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/job"
	"opencode-delegate/internal/journal"
	"opencode-delegate/internal/ledger"
	"opencode-delegate/internal/lock"
	"opencode-delegate/internal/proc"
	"opencode-delegate/internal/record"
	"opencode-delegate/internal/redact"
)

// A crashPlace is a user's machine for one crash.
type crashPlace struct {
	t         *testing.T
	bin, root string
	env       []string
	store     *job.Store
	unborn    []string // ids of records without a state
}

func newCrashPlace(t *testing.T, bin string) *crashPlace {
	t.Helper()
	p := &crashPlace{t: t, bin: bin, root: t.TempDir()}
	for _, dir := range []string{"home", "project"} {
		if err := os.Mkdir(filepath.Join(p.root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	p.env = []string{
		"HOME=" + filepath.Join(p.root, "home"), "PATH=" + os.Getenv("PATH"), "OC_DELEGATE_STATE=" + filepath.Join(p.root, "state"),
		"OC_DELEGATE_OPENCODE=" + filepath.Join(bin, "opencode"), "GORACE=atexit_sleep_ms=0",
	}
	var err error
	if p.store, err = job.OpenStore(filepath.Join(p.root, "state"), redact.New(nil)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, v := range p.list() {
			if v.Live() {
				p.kill(v.ID)
			}
		}
	})
	return p
}

func (p *crashPlace) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(p.bin, name), args...)
	cmd.Dir, cmd.Env = filepath.Join(p.root, "project"), slices.Clone(p.env)
	return cmd
}

// run runs a command that has to succeed, and returns what it printed.
func (p *crashPlace) run(cmd *exec.Cmd) string {
	p.t.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		p.t.Fatalf("%v: %v: %s%s", cmd.Args, err, out, &stderr)
	}
	return strings.TrimSpace(string(out))
}

// running is the id of a job whose run goes on for long.
func (p *crashPlace) running() string {
	cmd := p.command("oc-job", "start", "the task")
	cmd.Env = append(cmd.Env, "OC_FAKE=hang")
	id := p.run(cmd)
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if v, err := p.store.Look(p.t.Context(), id); err == nil && v.Session != "" {
			return id
		}
	}
	p.t.Fatalf("job %s does not run", id)
	return ""
}

// ended is the id of a job that has ended, of which its caller has not heard.
func (p *crashPlace) ended() string {
	id := p.run(p.command("oc-job", "start", "the task"))
	p.run(p.unheard(p.command("oc-job", "wait", id)))
	return id
}

// unheard makes a command one of another caller's, who may see the end of a job that is to be news.
func (p *crashPlace) unheard(cmd *exec.Cmd) *exec.Cmd {
	cmd.Env = append(cmd.Env, "CLAUDE_CODE_SESSION_ID=another")
	return cmd
}

// session is a hook at the start of a session of this process, as Claude Code calls it.
func (p *crashPlace) session(id string) *exec.Cmd {
	cmd := p.command("oc-job", "hook", "SessionStart")
	cmd.Stdin = strings.NewReader(`{"session_id":"` + id + `","hook_event_name":"SessionStart","source":"clear"}`)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

// kill ends the supervisor of a job.
func (p *crashPlace) kill(id string) {
	if v, err := p.store.Look(context.Background(), id); err == nil && v.Supervisor != nil {
		_ = v.Supervisor.Kill()
	}
}

func (p *crashPlace) list() []job.View {
	p.t.Helper()
	views, err := p.store.List(context.Background(), func(job.View) bool { return true })
	if err != nil {
		p.t.Error(err)
	}
	return views
}

// supervisors reports whether a supervisor of this place lives.
func (p *crashPlace) supervisors() bool {
	dirs, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, d := range dirs {
		if to, err := os.Readlink(d); err == nil && to == p.store.Root() {
			return true
		}
	}
	return false
}

// decided checks that everything is known after a crash, and returns what became of the newest job.
func (p *crashPlace) decided(w walk, printed string) string {
	p.t.Helper()
	names, err := os.ReadDir(filepath.Join(p.store.Root(), "jobs"))
	if err != nil {
		p.t.Fatal(err)
	}
	results := map[string]fault.Kind{}
	for _, n := range names {
		if res, err := p.store.ReadResult(n.Name()); err == nil {
			results[n.Name()] = res.Status
		}
	}
	// At once: whatever is called alive has somebody who holds it.
	for deadline := time.Now().Add(3 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		undecided := ""
		for _, v := range p.list() {
			if held, err := lock.Held(p.store.Record(v.ID).File(record.Lease)); v.Live() && (!held || err != nil) {
				undecided = v.ID
			}
		}
		if undecided == "" {
			break
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("job %s is called alive, and nobody holds it", undecided)
		}
	}
	outcome := "no record"
	for _, n := range names {
		id := n.Name()
		if _, err := os.Stat(filepath.Join(p.store.Record(id).Path(), record.State)); errors.Is(err, fs.ErrNotExist) {
			if _, err := p.store.Look(p.t.Context(), id); fault.Of(err) == nil || fault.Of(err).Kind != fault.NotFound {
				p.t.Errorf("%s is not born yet: %v", id, err)
			}
			old := job.NewID(time.Now().Add(-time.Minute)) // it grows old
			if err := os.Rename(p.store.Record(id).Path(), p.store.Record(old).Path()); err != nil {
				p.t.Fatal(err)
			}
			if v, err := p.store.Look(p.t.Context(), old); err != nil || v.State.State != job.Lost {
				p.t.Errorf("a record without a state became %+v, %v", v.State, err)
			}
			outcome, p.unborn = "unborn, then lost", append(p.unborn, old)
			continue
		}
		if v, err := p.store.Look(p.t.Context(), id); w.name == "cancel" && err == nil && v.Live() && !p.wished(id) {
			if out := p.run(p.command("oc-job", "cancel", id)); out == id+" cancelled" {
				outcome = "running, until it is cancelled again"
				p.remember(w, out)
				continue
			}
		}
		ctx, cancel := context.WithTimeout(p.t.Context(), 10*time.Second)
		v, err := p.store.Wait(ctx, id)
		cancel()
		if err != nil || v.State.State == job.Unreadable {
			p.t.Errorf("%s: %+v, %v", id, v, err)
			continue
		}
		res, err := p.store.Result(v)
		if err != nil || res.Status != v.Status {
			p.t.Errorf("%s: the result is %+v, %v", id, res, err)
		}
		if want, ok := results[id]; ok && want != v.Status {
			p.t.Errorf("%s: its result said %s, and it is %s", id, want, v.Status)
		}
		p.booked(id, v)
		for deadline := time.Now().Add(2 * time.Second); len(proc.Marked(id)) > 0; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				p.t.Errorf("%s: its processes live: %v", id, proc.Marked(id))
				break
			}
		}
		if outcome = string(v.State.State); v.State.State == job.Lost {
			outcome += ": " + strings.ReplaceAll(v.Reason, id, "ID")
		}
	}
	if job.CheckID(printed) == nil {
		if _, err := p.store.Look(p.t.Context(), printed); err != nil {
			p.t.Errorf("its id was printed: %v", err)
		}
	}
	return outcome
}

// booked checks that the ledger has all that a job's events show, once, and one outcome.
func (p *crashPlace) booked(id string, v job.View) {
	p.t.Helper()
	var have ledger.Lines
	err := p.store.Ledger().Complete(p.t.Context(), id, v.CreatedAt, func(l ledger.Lines) ledger.Lines { have = l; return ledger.Lines{} })
	if err != nil {
		p.t.Errorf("%s: %v", id, err)
	}
	left := journal.Salvage(p.store.Record(id).File(record.Events))
	if left.Usage == nil && left.Read == nil {
		if v.State.State == job.Lost && len(have.Entries)+len(have.Outcomes) > 0 {
			p.t.Errorf("%s: nothing has happened, and the ledger has %+v", id, have)
		}
		return
	}
	var sum, want int64
	attempts := map[int]bool{}
	for _, e := range have.Entries {
		if attempts[e.Attempt] {
			p.t.Errorf("%s: attempt %d was entered twice", id, e.Attempt)
		}
		attempts[e.Attempt] = true
		if e.Input != nil {
			sum += *e.Input
		}
	}
	if left.Usage != nil {
		want = left.Usage.Input
	}
	if sum != want || len(attempts) == 0 {
		p.t.Errorf("%s: the events tell of %d tokens, and the ledger of %d in %d attempts", id, want, sum, len(attempts))
	}
	if len(have.Outcomes) != 1 || !have.Outcomes[0].Final || have.Outcomes[0].Status != v.Status {
		p.t.Errorf("%s is %s, and its outcomes are %+v", id, v.Status, have.Outcomes)
	}
}

// wished reports whether somebody wants a job to end.
func (p *crashPlace) wished(id string) bool {
	_, err := os.Stat(filepath.Join(p.store.Record(id).Path(), record.Cancel))
	return err == nil
}

// goesOn checks that a new job can be started, ends well and is told of, with everything else that is background and has ended.
func (p *crashPlace) goesOn() {
	p.t.Helper()
	id := p.run(p.command("oc-job", "start", "a new task"))
	if out := p.run(p.unheard(p.command("oc-job", "wait", "--timeout", "300s", id))); out != id+" succeeded OK" {
		p.t.Errorf("a new job: %s", out)
	}
	want := map[string]bool{}
	for _, v := range p.list() {
		if v.Background && !v.Live() && !slices.Contains(p.unborn, v.ID) { // of one that was never born nobody has heard
			want[v.ID] = true
		}
	}
	for range 2 {
		err := p.store.News(p.t.Context(), "shell", 99, func(ended []job.View, _ int) error {
			for _, v := range ended {
				delete(want, v.ID)
			}
			if want[id] {
				p.t.Errorf("the new job is no news: %v", ended)
			}
			return nil
		})
		if err != nil {
			p.t.Error(err)
		}
	}
	if left, err := filepath.Glob(filepath.Join(p.store.Root(), "news", "*", "2*")); err != nil || len(left) != 0 {
		p.t.Errorf("never told: %v", left)
	}
	for told := range want {
		if !p.told(told) {
			p.t.Errorf("the end of %s is lost", told)
		}
	}
}

// told reports whether a job's end was told before the crash.
func (p *crashPlace) told(id string) bool {
	data, _ := os.ReadFile(filepath.Join(p.root, "told"))
	return strings.Contains(string(data), id)
}

// remember keeps what a command has told its caller.
func (p *crashPlace) remember(w walk, printed string) {
	if !w.told {
		return
	}
	data, _ := os.ReadFile(filepath.Join(p.root, "told"))
	if err := os.WriteFile(filepath.Join(p.root, "told"), append(data, printed...), 0o600); err != nil {
		p.t.Error(err)
	}
}
