package main

import (
	"bufio"
	"context"
	"fmt"
	"os"

	"opencode-delegate/internal/call"
	"opencode-delegate/internal/cli"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/job"
	"opencode-delegate/internal/plain"
	"opencode-delegate/internal/sandbox"
	"opencode-delegate/internal/worktree"
)

type undoVerb struct {
	ID      call.Once `arg:"" optional:"" help:"The job."`
	History bool      `help:"Put HEAD, refs, index and stash back too."`
	Force   bool      `help:"Also what has changed since; what is there is kept first."`
}

func (v *undoVerb) run(a *cli.App) int {
	if !v.ID.Set {
		return refuse(a, fault.New(fault.Usage, "no job was named; work is undone by the job's id, its name or the beginning of its id").With("oc-job list shows them"))
	}
	return withWork(a, v.ID, func(ctx context.Context, store *job.Store, id string) error {
		c := landingCall(a, v.Force)
		if c.History = v.History; v.History {
			wrap, done, err := cageOf(a)
			if err != nil {
				return err
			}
			defer done()
			c.Cage = wrap
		}
		u, again, err := store.Undo(ctx, id, c)
		if err != nil {
			return err
		}
		if again {
			tellAgain(a, id, u.Landed)
			return nil
		}
		w := bufio.NewWriter(a.Stdout)
		if err := listFiles(a, w, "undone", u.Files, u.Changed, nil); err != nil {
			return fault.New(fault.RunFailed, "stdout: %w", err)
		}
		for _, part := range u.Past {
			fmt.Fprintf(w, "history\t%s\n", plain.Line(part, pathLimit))
		}
		for i, path := range u.Stayed {
			if i == listedFiles {
				fmt.Fprintf(w, "and %d more stayed\n", len(u.Stayed)-i)
				break
			}
			fmt.Fprintf(w, "stayed\t%s\tit holds what is not of the run\n", shownPath(a, path))
		}
		if err := w.Flush(); err != nil {
			return fault.New(fault.RunFailed, "stdout: %w", err)
		}
		if u.Index {
			a.Say("note: what was staged stays staged; git -C %s reset takes it out of the index", u.Dir)
		}
		if u.Changed+len(u.Past) == 0 {
			a.Say("nothing in %s had to be changed", u.Dir)
		}
		if u.Saved != "" {
			a.Say("what was there before is kept in %s", u.Saved)
		}
		return nil
	})
}

// cageOf closes the kernel's sandbox around a git that reads what a worker may have written, where there is one. done removes the room that it has.
func cageOf(a *cli.App) (wrap worktree.Cage, done func(), err error) {
	if !sandbox.Detect(a.Getenv).OK() {
		return nil, func() {}, nil
	}
	room, err := os.MkdirTemp("", "oc-delegate-git-*")
	if err != nil {
		return nil, nil, fault.New(fault.Usage, "no temporary directory: %w", err).With("set TMPDIR to a directory that you can write")
	}
	done = func() { os.RemoveAll(room) }
	host := a.Host(nil)
	policy, err := sandbox.Room(room, host.Home, host.StateRoot, host.Environ)
	if err != nil {
		done()
		return nil, nil, err
	}
	return func(argv []string) ([]string, []string, error) { return policy.Command(host.Own(), argv) }, done, nil
}
