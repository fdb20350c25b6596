package main

import (
	"context"
	"fmt"

	"opencode-delegate/internal/call"
	"opencode-delegate/internal/cli"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/job"
	"opencode-delegate/internal/plain"
)

type mergeVerb struct {
	ID      call.Once `arg:"" optional:"" help:"The job (default: your newest of this repository)."`
	Message call.Once `short:"m" placeholder:"MESSAGE" help:"Of the commit that holds what the worker did not commit."`
	Force   bool      `help:"Although its verdict is neither pass nor none."`
}

func (v *mergeVerb) run(a *cli.App) int {
	if v.Message.Set && v.Message.Text == "" {
		return refuse(a, fault.New(fault.Usage, "flag --message: empty; give a message, or leave the flag out"))
	}
	return withWork(a, v.ID, func(ctx context.Context, store *job.Store, id string) error {
		c := landingCall(a, v.Force)
		c.Message = v.Message.Text
		l, m, again, err := store.Merge(ctx, id, c)
		switch {
		case err != nil:
			return err
		case again:
			tellAgain(a, id, l)
			return nil
		case m.Already:
			a.Say("there was nothing to bring into %s", l.Dir)
			return nil
		}
		what := fmt.Sprintf("%d %s", m.Commits, plural(m.Commits, "commit", "commits"))
		if m.Rest {
			what += ", and one with what was not committed"
		}
		if m.FastForward {
			what += "; fast forward"
		}
		if m.Squashed != "" {
			a.Say("note: what the worker did comes as one commit: %s", plain.Line(m.Squashed, cli.ReasonLimit))
		}
		if _, err := fmt.Fprintf(a.Stdout, "merged %s as %.12s: %s\n", id, m.Commit, what); err != nil {
			return fault.New(fault.RunFailed, "stdout: %w", err)
		}
		return nil
	})
}
