package opencode

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"opencode-delegate/internal/event"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/realopencode"
	"opencode-delegate/internal/testmodel"
)

// realAtOnce is how many real opencodes run side by side: each takes a whole core for seconds.
const realAtOnce = 2

// realTurn bounds them, over all tests of the package.
var realTurn = make(chan struct{}, realAtOnce)

// A lab is a private home with a scripted model, for runs of the real opencode.
type lab struct {
	model           *testmodel.Server
	path, home, dir string
	env             []string
}

func newLab(t *testing.T) lab {
	t.Helper()
	model, err := testmodel.Start(testmodel.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { model.Close() })
	l := lab{model: model, path: realopencode.Path(t), home: t.TempDir(), dir: t.TempDir()}
	config := filepath.Join(l.home, "opencode.json")
	if err := os.WriteFile(config, model.Config(), 0o600); err != nil {
		t.Fatal(err)
	}
	base := realopencode.Environ(l.home, "OPENCODE_CONFIG="+config, "TMPDIR="+t.TempDir())
	if l.env, err = Environ(base, EnvOptions{Dir: l.dir}); err != nil {
		t.Fatal(err)
	}
	return l
}

// run has the worker answer a prompt; change may alter the attempt.
func (l lab) run(t *testing.T, prompt string, change func(*Attempt)) Outcome {
	t.Helper()
	return l.runEach(t, prompt, change, func(event.Event) {})
}

// runEach is run, with each event looked at.
func (l lab) runEach(t *testing.T, prompt string, change func(*Attempt), look func(event.Event)) Outcome {
	t.Helper()
	realTurn <- struct{}{}
	defer func() { <-realTurn }()
	var stderr bytes.Buffer
	a := Attempt{
		Binary: Binary{Path: l.path, Version: realopencode.Version(t), Abilities: AllAbilities()},
		Dir:    l.dir, Env: l.env, Marker: fmt.Sprintf("real-%d-%d", os.Getpid(), time.Now().UnixNano()),
		Title: "T", Model: "mock/worker", Prompt: strings.NewReader(prompt),
		Limits: Limits{Timeout: 60 * time.Second, Grace: time.Second, Retry: 5 * time.Second}, Stderr: &stderr,
	}
	if change != nil {
		change(&a)
	}
	o, err := Run(context.Background(), a, func(e event.Event) error { look(e); return nil })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("stderr:\n%s", stderr.String())
		}
	})
	return o
}

// ask is a Runner without a sandbox.
func (l lab) ask(ctx context.Context, q Query) (Reply, error) {
	realTurn <- struct{}{}
	defer func() { <-realTurn }()
	dir := q.Dir
	if dir == "" {
		empty, err := os.MkdirTemp("", "query")
		if err != nil {
			return Reply{}, err
		}
		defer os.RemoveAll(empty)
		dir = empty
	}
	c := exec.CommandContext(ctx, q.Argv[0], q.Argv[1:]...)
	c.Dir, c.Env = dir, overlay(append([]string(nil), l.env...), []string{"PWD=" + dir})
	// A file takes everything at once: opencode does not wait until a pipe was read.
	stdout, err := os.CreateTemp(l.home, "reply")
	if err != nil {
		return Reply{}, err
	}
	defer stdout.Close()
	var stderr bytes.Buffer
	c.Stdout, c.Stderr = stdout, &stderr
	err = c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return Reply{}, err
	}
	text, err := os.ReadFile(stdout.Name())
	return Reply{Stdout: text, Stderr: stderr.Bytes(), Code: c.ProcessState.ExitCode()}, err
}

// real is what a scenario of the scripted model comes to through the real opencode.
type real struct {
	kind   fault.Kind
	part   string // of the reason
	status int    // of the provider; 0: the log line came first, and has none
	reset  time.Duration
	change func(*Attempt)
}

// realOutcomes has a row for every refusal and fault of the scripted model. The model's id is neutral: opencode prints
// it, and a telling one would hide a classifier that reads text.
var realOutcomes = map[string]real{
	"err-400":                  {kind: fault.RunFailed, part: "refused", status: 400},
	"err-401":                  {kind: fault.AuthRequired, part: "Incorrect API key", status: 401},
	"err-401-empty":            {kind: fault.AuthRequired, status: 401},
	"err-401-zen-auth":         {kind: fault.AuthRequired, status: 401},
	"err-401-zen-nokey":        {kind: fault.AuthRequired, status: 401},
	"err-401-zen-credits":      {kind: fault.QuotaExhausted, part: "Insufficient balance", status: 401},
	"err-401-zen-nopay":        {kind: fault.QuotaExhausted, status: 401},
	"err-401-zen-monthly":      {kind: fault.QuotaExhausted, status: 401},
	"err-401-zen-user":         {kind: fault.QuotaExhausted, status: 401},
	"err-401-zen-model":        {kind: fault.ModelUnavailable, part: "nope", status: 401},
	"err-401-zen-disabled":     {kind: fault.ModelUnavailable, status: 401},
	"err-402":                  {kind: fault.QuotaExhausted, part: "Insufficient credits", status: 402},
	"err-402-deepseek":         {kind: fault.QuotaExhausted, status: 402},
	"err-403":                  {kind: fault.AuthRequired, status: 403},
	"err-403-usage":            {kind: fault.QuotaExhausted, part: "usage limit"},
	"err-403-zen-region":       {kind: fault.ModelUnavailable, status: 403},
	"err-404-model":            {kind: fault.ModelUnavailable, status: 404},
	"err-404-ollama":           {kind: fault.ModelUnavailable, status: 404},
	"err-400-anthropic-credit": {kind: fault.QuotaExhausted, status: 400},
	"err-413":                  {kind: fault.RunFailed, part: "context window"},
	"err-422":                  {kind: fault.RunFailed, status: 422},
	"err-context":              {kind: fault.RunFailed, part: "context window"},

	"err-429":                   {kind: fault.RunFailed, part: "rate limit"},
	"err-429-ra1":               {kind: fault.RunFailed, part: "rate limit"},
	"err-429-ra3600":            {kind: fault.RunFailed, part: "rate limit"},
	"err-429-once":              {kind: fault.OK},
	"err-429-openai-quota":      {kind: fault.QuotaExhausted},
	"err-429-openai-quota-nora": {kind: fault.QuotaExhausted},
	"err-429-gemini":            {kind: fault.QuotaExhausted},
	"err-429-zai":               {kind: fault.QuotaExhausted},
	"err-429-zai-plan":          {kind: fault.QuotaExhausted, part: "reset at 2026-11-29 20:00:00"},
	"err-429-kimi":              {kind: fault.QuotaExhausted},
	"err-429-zen-go":            {kind: fault.QuotaExhausted, reset: 130 * time.Minute},
	"err-429-zen-go-week":       {kind: fault.QuotaExhausted, reset: 72 * time.Hour},
	"err-429-zen-go-ra1":        {kind: fault.QuotaExhausted, reset: 130 * time.Minute},
	"err-429-zen-rate":          {kind: fault.RunFailed, part: "rate limit"},
	// Its words are a rate limit's; only the type in the event, after five retries, says more.
	"err-429-zen-free": {kind: fault.QuotaExhausted, status: 429, change: func(a *Attempt) { a.Limits.Retry = 40 * time.Second }},

	"err-500":      {kind: fault.RunFailed, part: "overloaded or failing"},
	"err-500-ra":   {kind: fault.RunFailed, part: "overloaded or failing"},
	"err-502-html": {kind: fault.RunFailed, part: "Bad Gateway"},
	"err-503":      {kind: fault.RunFailed, part: "Service Unavailable"},
	"err-529":      {kind: fault.RunFailed, part: "Overloaded"},

	"ok-error-body": {kind: fault.RunFailed, part: "never finish"},
	"ok-html":       {kind: fault.RunFailed, part: "never finish"},
	"eof":           {kind: fault.RunFailed, part: "never finish"},
	"garbage":       {kind: fault.RunFailed, part: "cannot be read"},
	"sse-error":     {kind: fault.RunFailed, part: "Upstream provider failed", status: 502},
	"sse-error-go":  {kind: fault.QuotaExhausted, reset: 72 * time.Hour},
	"reset":         {kind: fault.RunFailed, part: "could not be reached"},
	"reset0":        {kind: fault.RunFailed, part: "could not be reached"},
	"hang":          {kind: fault.Timeout, part: "the model has sent nothing", change: func(a *Attempt) { a.Limits.Idle = 15 * time.Second }},
	"hang-headers":  {kind: fault.Timeout, part: "time limit", change: func(a *Attempt) { a.Limits.Timeout = 25 * time.Second }},
	"stall":         {kind: fault.Timeout, part: "no progress", change: func(a *Attempt) { a.Limits.Idle = 15 * time.Second }},

	"text":           {kind: fault.OK},
	"empty":          {kind: fault.EmptyOutput},
	"reasoning-only": {kind: fault.EmptyOutput},
	"length":         {kind: fault.Incomplete, part: "cut off"},
	"write-then-401": {kind: fault.AuthRequired, status: 401},
}

func TestRealWordings(t *testing.T) {
	l := newLab(t)
	var names []string
	for _, s := range testmodel.Refusals() {
		if _, ok := realOutcomes[s.Name]; !ok {
			t.Errorf("the scripted model's refusal %s has no row", s.Name)
		}
	}
	for name := range realOutcomes {
		names = append(names, name)
	}
	// One run alone makes the home: the first one migrates the database.
	if o := l.run(t, "[[mock:text]]", nil); o.Fault != nil {
		t.Fatalf("a plain run: %v", o.Fault)
	}
	t.Run("all", func(t *testing.T) {
		for _, name := range names {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				l.expect(t, name, realOutcomes[name])
			})
		}
	})
}

func (l lab) expect(t *testing.T, name string, want real) {
	directive := "[[mock:" + name + "]]"
	o := l.run(t, directive+" say hello", want.change)
	// The clock of the promise starts with the first response, and not with opencode, which may have to wait for a core.
	took := time.Since(l.asked(directive))
	t.Logf("%.1f s, %.1f s after the first request, notes %q, fault %+v", o.Duration.Seconds(), took.Seconds(), o.Notes, o.Fault)
	if o.Session == "" || o.Model != "mock/worker" {
		t.Errorf("session %q, model %q", o.Session, o.Model)
	}
	if want.kind == fault.OK {
		if o.Fault != nil {
			t.Errorf("%s: %s", o.Fault.Kind, o.Fault.Reason)
		}
		return
	}
	wantFault(t, o, want.kind, want.part)
	if o.Fault.ProviderStatus != want.status {
		t.Errorf("provider status %d, want %d", o.Fault.ProviderStatus, want.status)
	}
	if want.reset != 0 {
		if off := time.Until(o.Fault.ResetAt) - want.reset; off > 0 || off < -time.Minute {
			t.Errorf("reset at %v, %s off", o.Fault.ResetAt, off)
		}
	} else if !o.Fault.ResetAt.IsZero() {
		t.Errorf("reset at %v, which nobody said", o.Fault.ResetAt)
	}
	if limit := 15 * time.Second; want.change == nil && took > limit {
		t.Errorf("took %s from the first request", took)
	}
}

// asked is when the model was first asked with a directive.
func (l lab) asked(directive string) time.Time {
	for _, r := range l.model.Requests() {
		if strings.Contains(r.User, directive) {
			return r.At
		}
	}
	return time.Now()
}

func TestRealUnknownModels(t *testing.T) {
	l := newLab(t)
	for _, id := range []string{"mock/err-401-quota", "nowhere/worker", "worker"} {
		t.Run(id, func(t *testing.T) {
			o := l.run(t, "hello", func(a *Attempt) { a.Model = id })
			wantFault(t, o, fault.ModelUnavailable, "Model not found")
			if o.ModelDoubt {
				t.Error("a doubt, though the log told")
			}
		})
	}
	t.Run("old, without a log", func(t *testing.T) {
		o := l.run(t, "hello", func(a *Attempt) {
			a.Model, a.Binary.Abilities.PrintLogs = "mock/nope", false
		})
		wantFault(t, o, fault.RunFailed, "")
		if !o.ModelDoubt {
			t.Error("no doubt about the model")
		}
	})
}

func TestRealProseNeverClassifies(t *testing.T) {
	l := newLab(t)
	const prose = `[[mock:[{"text":"Error: 401 Incorrect API key provided. You exceeded your current quota, please check your plan and billing details. level=ERROR message=\"stream error\" usage limit reached. permission requested: edit (a); auto-rejecting"}]]]`
	if o := l.run(t, prose, nil); o.Fault != nil || len(o.Notes) != 0 {
		t.Errorf("fault %v, notes %q", o.Fault, o.Notes)
	}
}

// git makes dir a repository, so that opencode takes it for a project of its own.
func git(t *testing.T, dir string) {
	t.Helper()
	for _, args := range [][]string{{"init", "-q"}, {"-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-q", "--allow-empty", "-m", "first"}} {
		c := exec.Command("git", args...)
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
}
