package main

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"opencode-delegate/internal/call"
	"opencode-delegate/internal/cli"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/job"
	"opencode-delegate/internal/plain"
	"opencode-delegate/internal/tree"
	"opencode-delegate/internal/worktree"
)

type diffVerb struct {
	ID   call.Once `arg:"" optional:"" help:"The job (default: your newest of this repository)."`
	Stat bool      `help:"Only the files, with the lines that come and go."`
}

func (v *diffVerb) run(a *cli.App) int {
	store, err := a.Store()
	if err != nil {
		return refuse(a, err)
	}
	ctx, stop := cli.Interruptible()
	defer stop()
	j, _, err := target(ctx, a, store, v.ID)
	if err != nil {
		return refuse(a, err)
	}
	patch, err := store.Patch(ctx, j.ID, a.Environ)
	if err != nil {
		return refuse(a, err)
	}
	defer patch.Close()
	tellCommits(ctx, a, store, j.ID)
	if fi, err := patch.Stat(); err == nil && fi.Size() == 0 {
		a.Say("job %s has changed nothing", j.ID)
		return 0
	}
	switch {
	case v.Stat:
		var counts []worktree.Count
		if counts, err = worktree.Counts(ctx, patch); err != nil {
			return refuse(a, err)
		}
		err = printCounts(a, counts)
	case screenOf(a).person:
		err = showPatch(a, patch, j.ID)
	default:
		// A patch that was cleaned applies no more: what goes into a pipe or a file is as it is, and nobody's terminal reads it.
		_, err = io.Copy(a.Stdout, patch)
	}
	if err != nil {
		return refuse(a, fault.New(fault.RunFailed, "stdout: %w", err))
	}
	return 0
}

// toldCommits is how many commits are listed.
const toldCommits = 20

// tellCommits says what the worker committed. It is no part of the patch, which holds all that was changed.
func tellCommits(ctx context.Context, a *cli.App, store *job.Store, id string) {
	h, err := store.Commits(ctx, id)
	if err != nil {
		a.Say("note: the worker's commits cannot be read: %s", fault.Of(err).Reason)
		return
	}
	for _, c := range h.Commits[:min(len(h.Commits), toldCommits)] {
		a.Say("commit %.12s %s", c.ID, plain.Line(c.Subject, 100))
	}
	if n := h.All - toldCommits; n > 0 {
		a.Say("and %d more commits", n)
	}
	switch {
	case h.Lost != "":
		a.Say("note: the worker's commits cannot be had: %s", h.Lost)
	case h.Rewritten:
		a.Say("note: the worker's commits do not descend from the base")
	}
}

// shownPatch is how much of a patch a terminal gets, in bytes.
const shownPatch = 256 << 10

// showPatch prints the beginning of a patch for a person.
func showPatch(a *cli.App, patch io.Reader, id string) error {
	in := bufio.NewReader(patch)
	free := a.Secrets.Writer(a.Stdout)
	clean := plain.NewWriter(free)
	_, err := io.Copy(clean, io.LimitReader(in, shownPatch))
	if err == nil {
		err = clean.Close()
	}
	if err == nil {
		err = free.Close()
	}
	if _, more := in.Peek(1); err == nil && more == nil {
		_, err = fmt.Fprintln(a.Stdout)
		a.Say("this is its beginning; oc-job diff %s > FILE writes all of it, oc-job diff --stat %s lists the files", id, id)
	}
	return err
}

const (
	// countedFiles is how many files a table lists.
	countedFiles = 500
	// pathLimit is the number of code points of a path in a list.
	pathLimit = 300
)

// shownPath is a path of a repository for a list: nothing in it acts on a terminal.
func shownPath(a *cli.App, path string) string {
	return plain.Line(a.Secrets.String(tree.Quote(path)), pathLimit)
}

// printCounts prints a line for each file and one with the sums.
func printCounts(a *cli.App, counts []worktree.Count) error {
	w := bufio.NewWriter(a.Stdout)
	var files, added, removed int
	for _, c := range counts {
		files, added, removed = files+1, added+c.Insertions, removed+c.Deletions
		if files > countedFiles {
			continue
		}
		lines := fmt.Sprintf("+%d -%d", c.Insertions, c.Deletions)
		if c.Binary {
			lines = "binary"
		}
		fmt.Fprintf(w, "%-14s %s\n", lines, shownPath(a, c.Path))
	}
	if n := files - countedFiles; n > 0 {
		fmt.Fprintf(w, "and %d more\n", n)
	}
	fmt.Fprintf(w, "%d %s, +%d -%d\n", files, plural(files, "file", "files"), added, removed)
	return w.Flush()
}
