package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/job"
)

// records is how many there are when a list is timed.
const records = 10_000

// jobs measures what a caller waits for: the start of a job, its end once the worker has ended, a list of many.
func (p *place) jobs(ctx context.Context, out io.Writer, tool string, n int) error {
	env := p.env(p.fake)
	var starts, whole []time.Duration
	for range n {
		began := time.Now()
		id, err := p.call(ctx, env, tool, "start", "-m", "mock/worker", "--dir", p.repository, task)
		if err != nil {
			return err
		}
		starts = append(starts, time.Since(began))
		if _, err := p.call(ctx, env, tool, "wait", strings.TrimSpace(id)); err != nil {
			return err
		}
		whole = append(whole, time.Since(began))
	}
	fmt.Fprintf(out, "\n### Jobs, with an opencode that answers at once (%d)\n\n| | median |\n|---|---|\n| `oc-job start` | %s |\n| `oc-job start` and `oc-job wait` | %s |\n",
		n, millis(median(starts)), millis(median(whole)))
	many := filepath.Join(p.root, "many")
	if err := forge(many, p.repository); err != nil {
		return err
	}
	env = append(env, "OC_DELEGATE_STATE="+many)
	for _, args := range [][]string{{"list", "--all", "--json"}, {"list", "-n", "20"}, {"status"}} {
		var times []time.Duration
		for range n {
			began := time.Now()
			if _, err := p.call(ctx, env, tool, args...); err != nil {
				return err
			}
			times = append(times, time.Since(began))
		}
		fmt.Fprintf(out, "| `oc-job %s` with %d records | %s |\n", strings.Join(args, " "), records, millis(median(times)))
	}
	return nil
}

// call runs the tool and returns its stdout.
func (p *place) call(ctx context.Context, env []string, tool string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, tool, args...)
	cmd.Dir, cmd.Env = p.repository, env
	text, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", filepath.Base(tool), strings.Join(args, " "), err)
	}
	return string(text), nil
}

// forge writes records of jobs that have ended, a minute apart.
func forge(root, dir string) error {
	exit, cost, reason := 0, 0.0123, "success by evidence"
	for i := range records {
		at := time.Now().UTC().Add(-time.Duration(records-i) * time.Minute)
		st := job.State{
			Schema: job.Schema, ID: job.NewID(at), State: job.Succeeded, Status: fault.OK, Exit: &exit, Reason: reason, Caller: "shell", Background: true,
			Dir: dir, Repo: dir, Session: "ses_3f2a9c1e5ffe7Qd0tYv0mZxK1b", Tier: "code", Model: "opencode-go/kimi-k2.7-code", Version: "1.18.33",
			Profile: "standard", Task: "Add a --json flag to cmd/list with a test, and say in the docs what each of its members means",
			CostUSD: &cost, CreatedAt: at, QueuedAt: &at, StartedAt: &at, EndedAt: &at,
		}
		data, err := json.MarshalIndent(st, "", "  ")
		if err != nil {
			return err
		}
		record := filepath.Join(root, "jobs", st.ID)
		if err := os.MkdirAll(record, 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(record, "state.json"), data, 0o600); err != nil {
			return err
		}
	}
	return os.Chmod(root, 0o700)
}
