package opencode

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"opencode-delegate/internal/event"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/redact"
)

// A stage is an attempt at a played opencode.
type stage struct {
	Attempt
	notes  string
	stderr bytes.Buffer
	stdout bytes.Buffer
	seen   []event.Type
}

func newStage(t *testing.T, kind string) *stage {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{notes: t.TempDir()}
	s.Attempt = Attempt{
		Binary: Binary{Path: self, Version: "1.18.33", Abilities: AllAbilities()},
		Dir:    t.TempDir(),
		Env:    append(os.Environ(), playEnv+"="+kind, notesEnv+"="+s.notes),
		Marker: fmt.Sprintf("test-%d-%s", os.Getpid(), filepath.Base(s.notes)+filepath.Base(filepath.Dir(s.notes))),
		Title:  "oc-delegate test", Prompt: strings.NewReader("the prompt"),
		Limits: Limits{Timeout: 30 * time.Second, Grace: 300 * time.Millisecond, Retry: 20 * time.Second},
		Stderr: &s.stderr, Redact: redact.New([]string{"SOME_KEY=hunter2-hunter2-1", "OTHER_TOKEN=hunter2-hunter2-2", "LINES_TOKEN=line1abc9\nline2def8"}),
	}
	s.Events = event.NewLog(&s.stdout, s.Redact)
	return s
}

func (s *stage) run(t *testing.T, ctx context.Context) Outcome {
	t.Helper()
	o, err := Run(ctx, s.Attempt, func(e event.Event) error {
		s.seen = append(s.seen, e.Type)
		return nil
	})
	if err != nil {
		t.Fatalf("Run: %v", err)
	}
	return o
}

func (s *stage) note(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.notes, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func wantFault(t *testing.T, o Outcome, kind fault.Kind, part string) {
	t.Helper()
	if o.Fault == nil {
		t.Fatalf("a success, want %s; notes %q", kind, o.Notes)
	}
	if o.Fault.Kind != kind || !strings.Contains(o.Fault.Reason, part) {
		t.Fatalf("%s: %s, want %s with %q", o.Fault.Kind, o.Fault.Reason, kind, part)
	}
}

func TestRunOfASuccess(t *testing.T) {
	t.Parallel()
	s := newStage(t, "ok")
	prompt := strings.Repeat("pröm\"pt\n", 1<<20) // 9 MB
	s.Prompt, s.Auto, s.Model = strings.NewReader(prompt), true, "mock/worker"
	o := s.run(t, context.Background())
	if o.Fault != nil || o.Session != playedSession || o.Steps != 1 || o.Cost != 0.001 || o.Usage.Input != 100 || o.Model != "mock/worker" || o.Duration <= 0 || len(o.Notes) != 0 {
		t.Fatalf("outcome %+v, fault %v", o, o.Fault)
	}
	if want := fmt.Sprintf("%x %d", sha256.Sum256([]byte(prompt)), len(prompt)); s.note(t, "prompt") != want {
		t.Errorf("the prompt arrived as %s, want %s", s.note(t, "prompt"), want)
	}
	want := []string{"run", "--format", "json", "--print-logs", "--log-level", "INFO", "--title", "oc-delegate test", "-m", "mock/worker", "--dir", s.Dir, "--auto"}
	if got := strings.Split(s.note(t, "argv"), "\x00"); !slices.Equal(got, want) {
		t.Errorf("argv %q, want %q", got, want)
	}
	if got, _ := filepath.EvalSymlinks(s.note(t, "cwd")); got != s.Dir {
		t.Errorf("ran in %s, want %s", got, s.Dir)
	}
	if want := []event.Type{event.StepStart, event.TextBlock, event.StepFinish}; !slices.Equal(s.seen, want) {
		t.Errorf("emitted %q, want %q", s.seen, want)
	}
	if n := strings.Count(s.stdout.String(), "\n"); n != 3 {
		t.Errorf("%d lines in the log", n)
	}
}

func TestRunOutranksTheExitCode(t *testing.T) {
	t.Parallel()
	o := newStage(t, "exit1").run(t, context.Background())
	if o.Fault != nil || len(o.Notes) != 1 || !strings.Contains(o.Notes[0], "exited with 1") {
		t.Errorf("fault %v, notes %q", o.Fault, o.Notes)
	}
}

func TestRunEndsAProcessThatStays(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	o := newStage(t, "stays").run(t, context.Background())
	if o.Fault != nil || len(o.Notes) != 1 || !strings.Contains(o.Notes[0], "did not exit") {
		t.Errorf("fault %v, notes %q", o.Fault, o.Notes)
	}
	if d := time.Since(begin); d < linger || d > linger+5*time.Second {
		t.Errorf("took %s", d)
	}
}

func TestDeadlineIsExact(t *testing.T) {
	t.Parallel()
	s := newStage(t, "ignores")
	s.Limits.Timeout, s.Limits.Grace = 2*time.Second, 200*time.Millisecond
	begin := time.Now()
	o := s.run(t, context.Background())
	wantFault(t, o, fault.Timeout, "time limit of 2s")
	term, err := time.Parse(time.RFC3339Nano, s.note(t, "term"))
	if err != nil {
		t.Fatal(err)
	}
	if late := term.Sub(begin) - s.Limits.Timeout; late < 0 || late > 250*time.Millisecond {
		t.Errorf("TERM came %s after the deadline", late)
	}
	if d := time.Since(begin); d > s.Limits.Timeout+s.Limits.Grace+time.Second {
		t.Errorf("returned after %s", d)
	}
	if !o.Exit.ByUs {
		t.Errorf("exit %+v is not said to be by us", o.Exit)
	}
}

func TestDeadlineKeepsACompleteAnswer(t *testing.T) {
	t.Parallel()
	s := newStage(t, "stays")
	s.Limits.Timeout = 3 * time.Second
	if o := s.run(t, context.Background()); o.Fault != nil || len(o.Notes) != 1 || !strings.Contains(o.Notes[0], "complete when the run was ended") {
		t.Errorf("fault %v, notes %q", o.Fault, o.Notes)
	}
}

func TestIdleLimit(t *testing.T) {
	t.Parallel()
	s := newStage(t, "hangs")
	s.Limits.Idle = 500 * time.Millisecond
	wantFault(t, s.run(t, context.Background()), fault.Timeout, "no progress for 500ms")
}

func TestContextEndsARunWithItsCause(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(context.Background())
	s := newStage(t, "hangs")
	s.whenReady(func() { cancel(fault.New(fault.Interrupted, "SIGINT")) })
	wantFault(t, s.stopped(ctx), fault.Interrupted, "SIGINT")

	plainCtx, stop := context.WithCancel(context.Background())
	s = newStage(t, "hangs")
	s.whenReady(stop)
	wantFault(t, s.stopped(plainCtx), fault.Cancelled, "cancelled")
}

func TestSignalOfOthersIsIncomplete(t *testing.T) {
	t.Parallel()
	o := newStage(t, "killed").run(t, context.Background())
	wantFault(t, o, fault.Incomplete, "SIGKILL")
	if len(o.Fault.Hints) != 1 || !strings.Contains(o.Fault.Hints[0], playedSession) {
		t.Errorf("hints %q", o.Fault.Hints)
	}
}

func TestUsageLimitEndsInSeconds(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	o := newStage(t, "quota").run(t, context.Background())
	wantFault(t, o, fault.QuotaExhausted, "Weekly usage limit")
	if d := time.Since(begin); d > 6*time.Second {
		t.Errorf("took %s", d)
	}
	if in := time.Until(o.Fault.ResetAt); in < 71*time.Hour || in > 73*time.Hour {
		t.Errorf("reset at %v", o.Fault.ResetAt)
	}
	if o.Session != playedSession || o.Steps != 0 {
		t.Errorf("session %q, %d steps", o.Session, o.Steps)
	}
	if !slices.ContainsFunc(o.Notes, func(n string) bool { return strings.Contains(n, "9.9.9") }) {
		t.Errorf("notes %q do not tell of the other version", o.Notes)
	}
}

func TestUsageLimitWaitsForItsEvent(t *testing.T) {
	t.Parallel()
	o := newStage(t, "quota-event").run(t, context.Background())
	wantFault(t, o, fault.QuotaExhausted, "HTTP 402")
	if o.Exit.ByUs || o.Fault.ProviderStatus != 402 {
		t.Errorf("exit %+v, status %d", o.Exit, o.Fault.ProviderStatus)
	}
}

func TestRetryLimit(t *testing.T) {
	t.Parallel()
	s := newStage(t, "rate")
	s.Limits.Retry = time.Second
	o := s.run(t, context.Background())
	wantFault(t, o, fault.RunFailed, "Rate limit reached")
	if !o.Fault.Retryable() {
		t.Error("not retryable")
	}
}

func TestRetriesThatHealAreANote(t *testing.T) {
	t.Parallel()
	s := newStage(t, "rate-heals")
	if o := s.run(t, context.Background()); o.Fault != nil || len(o.Notes) != 1 || !strings.Contains(o.Notes[0], "3 failed model calls") {
		t.Errorf("fault %v, notes %q", o.Fault, o.Notes)
	}
}

func TestLockedDatabaseIsTriedAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t, "locked")
	o := s.run(t, context.Background())
	if o.Fault != nil || len(o.Notes) != 2 || !strings.Contains(o.Notes[1], "could not use its database") {
		t.Errorf("fault %v, notes %q", o.Fault, o.Notes)
	}
	s.note(t, "try2")

	short := newStage(t, "locked")
	short.Limits.Timeout = 900 * time.Millisecond
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(50*time.Millisecond, cancel)
	if o, err := Run(ctx, short.Attempt, nil); err == nil && o.Fault == nil {
		t.Errorf("a cancelled run succeeded: %+v", o)
	}
}

func TestAgentFallbackEndsTheRun(t *testing.T) {
	t.Parallel()
	wantFault(t, newStage(t, "agent").run(t, context.Background()), fault.RunFailed, `"bogus"`)
}

func TestBudgetCaps(t *testing.T) {
	t.Parallel()
	s := newStage(t, "steps")
	s.Limits.MaxCost = 0.0002
	o := s.run(t, context.Background())
	wantFault(t, o, fault.BudgetExceeded, "exceeded by $0.000062: $0.000262 in 2 steps")

	s = newStage(t, "steps")
	s.Limits.MaxTokens = 250
	wantFault(t, s.run(t, context.Background()), fault.BudgetExceeded, "cap of 250 exceeded by 50")

	// Nobody pays for a grace: what is deaf to an order to end would go on spending in it.
	s = newStage(t, "steps-deaf")
	s.Limits.MaxTokens, s.Limits.Grace = 150, 30*time.Second
	o = s.run(t, context.Background())
	wantFault(t, o, fault.BudgetExceeded, "cap of 150 exceeded by 50")
	if o.Usage.Sum() != 200 || o.Steps != 2 {
		t.Errorf("%d tokens in %d steps", o.Usage.Sum(), o.Steps)
	}

	s = newStage(t, "ok")
	s.Limits.MaxTokens = 10
	if o := s.run(t, context.Background()); o.Fault != nil || len(o.Notes) != 1 || !strings.Contains(o.Notes[0], "exceeded by 90") {
		t.Errorf("fault %v, notes %q", o.Fault, o.Notes)
	}
}

func TestStderrIsClippedAndRedacted(t *testing.T) {
	t.Parallel()
	s := newStage(t, "noisy")
	if o := s.run(t, context.Background()); o.Fault != nil {
		t.Fatal(o.Fault)
	}
	got := s.stderr.String()
	if n := len(got); n > 2*clipPart+64 || n < 2*clipPart {
		t.Errorf("%d bytes were kept", n)
	}
	if !strings.HasPrefix(got, "first key is ") || !strings.Contains(got, " bytes left out]") || strings.Contains(got, "hunter2") || !strings.Contains(got[len(got)-64:], "last key is ") {
		t.Errorf("kept %q … %q", got[:64], got[len(got)-64:])
	}
}

func TestRunReturnsThoughADaemonHoldsThePipes(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	o := newStage(t, "holder").run(t, context.Background())
	if o.Fault != nil || len(o.Exit.Survivors) == 0 {
		t.Errorf("fault %v, survivors %v", o.Fault, o.Exit.Survivors)
	}
	if d := time.Since(begin); d > 5*time.Second {
		t.Errorf("took %s", d)
	}
}

func TestUnknownEventFormat(t *testing.T) {
	t.Parallel()
	wantFault(t, newStage(t, "v2").run(t, context.Background()), fault.RunFailed, "unknown event format: opencode 1.18.33")
}

func TestStartFailures(t *testing.T) {
	t.Parallel()
	s := newStage(t, "ok")
	s.Binary.Path = filepath.Join(t.TempDir(), "gone")
	_, err := Run(context.Background(), s.Attempt, nil)
	if f := fault.Of(err); f == nil || f.Kind != fault.OpencodeMissing {
		t.Errorf("a binary that is gone: %v", err)
	}
	s = newStage(t, "ok")
	s.Wrap = func([]string) ([]string, []string, error) { return nil, nil, errors.New("no wall") }
	if _, err := Run(context.Background(), s.Attempt, nil); err == nil || !strings.Contains(err.Error(), "no wall") {
		t.Errorf("a sandbox that fails: %v", err)
	}
	s = newStage(t, "ok")
	s.Model = "-x"
	if _, err := Run(context.Background(), s.Attempt, nil); fault.Of(err).Kind != fault.Usage {
		t.Errorf("a model that is a flag: %v", err)
	}
}

func TestWrapAddsToTheEnvironment(t *testing.T) {
	t.Parallel()
	s := newStage(t, "ok")
	s.Wrap = func(argv []string) ([]string, []string, error) {
		return append([]string{argv[0], "wrapped"}, argv[1:]...), []string{"WALL=1"}, nil
	}
	if o := s.run(t, context.Background()); o.Fault != nil {
		t.Fatal(o.Fault)
	}
	if !strings.HasPrefix(s.note(t, "argv"), "wrapped\x00run\x00") || !slices.Contains(strings.Split(s.note(t, "environ"), "\x00"), "WALL=1") {
		t.Errorf("argv %q", s.note(t, "argv"))
	}
}

func TestOutcomeHoldsNoSecret(t *testing.T) {
	t.Parallel()
	o := newStage(t, "leaks").run(t, context.Background())
	wantFault(t, o, fault.AuthRequired, "Incorrect API key provided: ")
	if all := o.Fault.Reason + strings.Join(o.Notes, "") + o.StderrTail; strings.Contains(all, "hunter2") {
		t.Errorf("%s", all)
	}
	// A secret lies across the place where a reason is cut; colours begin within one; one has two lines.
	for kind, want := range map[string]fault.Kind{"leaks-cut": fault.RunFailed, "leaks-permission": fault.PermissionDenied, "leaks-colour": fault.RunFailed, "leaks-lines": fault.RunFailed} {
		o := newStage(t, kind).run(t, context.Background())
		wantFault(t, o, want, "")
		if all := o.Fault.Reason + strings.Join(o.Notes, "") + o.StderrTail; strings.Contains(all, "hunt") || strings.Contains(all, "line1") || strings.Contains(all, "line2") {
			t.Errorf("%s: %s", kind, all)
		}
	}
}

func TestOnlyASessionIDIsASession(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{"ses_ok-1_A": "ses_ok-1_A", "ses_x; touch PWN": "", "ses_$(id)": "", "--evil": "", "ses_a\nb": "", "ses_": "", "ses_" + strings.Repeat("a", 65): ""} {
		s := newStage(t, "session")
		s.Env = append(s.Env, "OC_TEST_SESSION="+id)
		var told, learned []string
		s.Learned = func(f Facts) { learned = append(learned, f.Session) }
		o, err := Run(context.Background(), s.Attempt, func(e event.Event) error {
			told = append(told, e.Session)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if o.Session != want || o.Fault != nil || o.Steps != 1 || len(told) != 3 || slices.ContainsFunc(append(told, learned...), func(s string) bool { return s != want }) {
			t.Errorf("%q: session %q, told %q, learned %q, fault %v", id, o.Session, told, learned, o.Fault)
		}
		if l := ParseLogLine([]byte("timestamp=2026-11-29T12:00:00.000Z level=INFO message=created id=" + strconv.Quote(id) + " parentID=" + strconv.Quote(id))); l.Session != want || l.Parent != want {
			t.Errorf("%q: log line %+v", id, l)
		}
	}
}
