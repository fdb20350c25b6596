package realclaude

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"opencode-delegate/internal/testanthropic"
)

// most is how long a run may take when its context has no deadline of its own.
const most = 6 * time.Minute

// A Run is what came of one run of Claude Code.
type Run struct {
	Exit     int
	Stdout   string
	Stderr   string
	Wall     time.Duration
	Requests []testanthropic.Request // that came meanwhile: its own, unless another run was going on
}

// An Answer is what came of a headless run.
type Answer struct {
	Run
	Events []Event
	Text   string // of the result
	Failed bool   // the result says is_error, or there is none
}

// An Event is a line of the stream of a headless run.
type Event struct {
	Type    string          `json:"type"`
	Subtype string          `json:"subtype"`
	Raw     json.RawMessage `json:"-"`
}

// Run runs Claude Code with arguments, in the project, such as "plugin", "validate", dir. It fails the test when the deadline passes; any exit code is the
// caller's to judge.
func (p *Place) Run(ctx context.Context, stdin string, args ...string) Run {
	p.T.Helper()
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, most)
		defer cancel()
	}
	number := p.runs.Add(1)
	// Files, not pipes: something that is meant to go on after the end would hold a pipe open.
	stdout := p.Write(fmt.Sprintf("out/%d.stdout", number), "")
	stderr := p.Write(fmt.Sprintf("out/%d.stderr", number), "")
	before := len(p.API.Requests())
	cmd := exec.CommandContext(ctx, p.Claude.Path, args...)
	cmd.Dir, cmd.Env, cmd.Stdin = p.Project, p.Env(), strings.NewReader(stdin)
	started := time.Now()
	err := func() error {
		o, err := os.OpenFile(stdout, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		defer o.Close()
		e, err := os.OpenFile(stderr, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		defer e.Close()
		cmd.Stdout, cmd.Stderr = o, e
		return cmd.Run()
	}()
	r := Run{Exit: cmd.ProcessState.ExitCode(), Stdout: p.read(stdout), Stderr: p.read(stderr), Wall: time.Since(started), Requests: p.API.Requests()[before:]}
	var exit *exec.ExitError
	if ctx.Err() != nil || err != nil && !errors.As(err, &exit) {
		p.T.Fatalf("claude %s (%s): %v, %v after %v\nstdout: %s\nstderr: %s", strings.Join(args, " "), p.Claude.Version, err, ctx.Err(), r.Wall, tail(r.Stdout), tail(r.Stderr))
	}
	return r
}

// Headless is one run of `claude -p` with the prompt on standard input and these further arguments.
func (p *Place) Headless(ctx context.Context, prompt string, args ...string) Answer {
	p.T.Helper()
	a := Answer{Run: p.Run(ctx, prompt, append([]string{"-p", "--output-format", "stream-json", "--verbose"}, args...)...), Failed: true}
	for _, line := range strings.Split(a.Stdout, "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		e := Event{Raw: json.RawMessage(line)}
		var result struct {
			Result  string `json:"result"`
			IsError bool   `json:"is_error"`
		}
		if err := errors.Join(json.Unmarshal(e.Raw, &e), json.Unmarshal(e.Raw, &result)); err != nil {
			p.T.Fatalf("claude -p (%s) printed a line that is no event: %v\n%s", p.Claude.Version, err, tail(line))
		}
		if e.Type == "result" {
			a.Text, a.Failed = result.Result, result.IsError
		}
		a.Events = append(a.Events, e)
	}
	return a
}

// Install installs plugins from a directory that is a marketplace: "opencode@market". It fails the test when Claude Code refuses.
func (p *Place) Install(ctx context.Context, marketplace string, plugins ...string) {
	p.T.Helper()
	p.must(ctx, "plugin", "marketplace", "add", marketplace)
	for _, name := range plugins {
		p.must(ctx, "plugin", "install", name)
	}
}

func (p *Place) must(ctx context.Context, args ...string) Run {
	p.T.Helper()
	r := p.Run(ctx, "", args...)
	if r.Exit != 0 {
		p.T.Fatalf("claude %s (%s): exit %d\n%s%s", strings.Join(args, " "), p.Claude.Version, r.Exit, tail(r.Stdout), tail(r.Stderr))
	}
	return r
}

func (p *Place) read(path string) string {
	p.T.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		p.T.Fatal(err)
	}
	return string(bytes.ToValidUTF8(text, []byte("�")))
}

// tail is the end of a text, for the message of a test.
func tail(s string) string {
	const most = 4000
	if len(s) > most {
		return "…" + strings.ToValidUTF8(s[len(s)-most:], "")
	}
	return s
}
