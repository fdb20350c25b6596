package main

import (
	"bufio"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"opencode-delegate/internal/call"
	"opencode-delegate/internal/cli"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/job"
	"opencode-delegate/internal/plain"
)

type applyVerb struct {
	ID      call.Once `arg:"" optional:"" help:"The job (default: your newest of this repository)."`
	Index   bool      `help:"Stage what lands, too."`
	Commit  bool      `help:"Make a commit of exactly what lands."`
	Message call.Once `short:"m" placeholder:"MESSAGE" help:"Of that commit."`
	Force   bool      `help:"Although its verdict is neither pass nor none."`
}

func (v *applyVerb) run(a *cli.App) int {
	switch {
	case v.Message.Set && !v.Commit:
		return refuse(a, fault.New(fault.Usage, "--message is that of a commit; add --commit, or leave it out"))
	case v.Message.Set && v.Message.Text == "":
		return refuse(a, fault.New(fault.Usage, "flag --message: empty; give a message, or leave the flag out"))
	}
	return withWork(a, v.ID, func(ctx context.Context, store *job.Store, id string) error {
		c := landingCall(a, v.Force)
		c.Index, c.Commit, c.Message = v.Index, v.Commit, v.Message.Text
		l, again, err := store.Apply(ctx, id, c)
		if err != nil {
			return err
		}
		return tellLanded(a, id, l, again, v.Commit)
	})
}

// withWork does something with the work of one job; what it returns becomes the exit code.
func withWork(a *cli.App, word call.Once, do func(ctx context.Context, store *job.Store, id string) error) int {
	store, err := a.Store()
	if err != nil {
		return refuse(a, err)
	}
	ctx, stop := cli.Interruptible()
	defer stop()
	j, _, err := target(ctx, a, store, word)
	if err == nil {
		err = do(ctx, store, j.ID)
	}
	if err != nil {
		return refuse(a, err)
	}
	return 0
}

func landingCall(a *cli.App, force bool) job.Call {
	return job.Call{By: caller(a), Environ: a.Environ, Now: a.Now(), Force: force}
}

// listedFiles is how many files of a landing are listed.
const listedFiles = 200

// tellLanded lists what a landing has changed, a word and a path a line. Conflicts are the fault that comes back.
func tellLanded(a *cli.App, id string, l job.Landed, again, commit bool) error {
	if again {
		tellAgain(a, id, l)
		return nil
	}
	clashes := map[string]bool{}
	for _, c := range l.Conflicts {
		clashes[c.Path] = true
	}
	w := bufio.NewWriter(a.Stdout)
	if err := listFiles(a, w, "landed", l.Files, l.Changed, clashes); err != nil {
		return fault.New(fault.RunFailed, "stdout: %w", err)
	}
	for i, c := range l.Conflicts {
		if i == listedFiles {
			fmt.Fprintf(w, "and %d more conflicts\n", len(l.Conflicts)-i)
			break
		}
		word := "left"
		if c.Markers {
			word = "markers"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", word, shownPath(a, c.Path), plain.Line(c.Why, cli.ReasonLimit))
	}
	if err := w.Flush(); err != nil {
		return fault.New(fault.RunFailed, "stdout: %w", err)
	}
	n := len(l.Conflicts)
	if n == 0 {
		switch here, err := filepath.EvalSymlinks(a.Cwd); {
		case l.Commit != "":
			a.Say("committed as %.12s in %s", l.Commit, l.Dir)
		case l.Changed == 0:
			a.Say("nothing in %s had to be changed", l.Dir)
		case err != nil || here != l.Dir && !strings.HasPrefix(here, l.Dir+string(filepath.Separator)):
			a.Say("landed in %s, where the job began", l.Dir)
		}
		return nil
	}
	without := ""
	if commit {
		without = "; no commit was made"
	}
	return fault.New(fault.Conflict, "%d %s in %s changed there too%s", n, plural(n, "file", "files"), l.Dir, without).
		With("files with markers hold both versions; those that were left are as they were, and oc-job diff "+id+" shows what was to come", "oc-job undo "+id+" takes all of it back")
}

// tellAgain says what was done with the work before.
func tellAgain(a *cli.App, id string, l job.Landed) {
	but := ""
	if n := len(l.Conflicts); n > 0 && l.What == job.Applied {
		but = fmt.Sprintf(", but for %d %s", n, plural(n, "conflict", "conflicts"))
	}
	a.Say("the work of job %s was %s on %s in %s%s; nothing was done", id, l.What, l.At.UTC().Format("2006-01-02 15:04 MST"), l.Dir, but)
}

// listFiles lists the first of the files that were changed, but for some.
func listFiles(a *cli.App, w *bufio.Writer, word string, files []string, all int, but map[string]bool) error {
	shown := 0
	for _, f := range files {
		if but[f] {
			all--
			continue
		}
		if shown++; shown <= listedFiles {
			fmt.Fprintf(w, "%s\t%s\n", word, shownPath(a, f))
		}
	}
	if n := all - listedFiles; n > 0 {
		fmt.Fprintf(w, "and %d more %s\n", n, word)
	}
	return w.Flush()
}
