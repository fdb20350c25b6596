package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"opencode-delegate/internal/call"
	"opencode-delegate/internal/cli"
	"opencode-delegate/internal/delegate"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/job"
	"opencode-delegate/internal/journal"
	"opencode-delegate/internal/plain"
	"opencode-delegate/internal/record"
	"opencode-delegate/internal/redact"
	"opencode-delegate/internal/tree"
)

type resultVerb struct {
	ID     call.Once `arg:"" optional:"" help:"The job (default: your newest of this repository)."`
	Full   bool      `help:"The whole text, also of a job that was asked for a digest."`
	JSON   bool      `name:"json" help:"The result as one JSON object."`
	Events bool      `help:"The events of the worker, a JSON object a line."`
	Diff   bool      `help:"What changed: a letter and a path a line."`
	kept
}

func (v *resultVerb) run(a *cli.App) int {
	if n := count(v.Full, v.JSON, v.Events, v.Diff); n > 1 {
		return a.Refuse(fault.New(fault.Usage, "--full, --json, --events and --diff are four answers; give one of them"))
	}
	store, err := a.Store()
	if err != nil {
		return a.Refuse(fault.Of(err))
	}
	ctx := context.Background()
	j, _, err := target(ctx, a, store, v.ID)
	if err != nil {
		return a.Refuse(fault.Of(err))
	}
	res, err := store.Result(j)
	j.Work = store.Fate(j)
	res.Hints = nextOf(store, j, res.Hints)
	if err != nil {
		f := fault.Of(err)
		a.Say("%s", f.Reason)
		a.SayEach("hint", f.Hints)
		store.Heard(caller(a), j.ID)
		return a.Signal(jobSignal(store, j, f), "")
	}
	switch {
	case v.Events:
		err = journal.Log{Path: store.Record(j.ID).File(record.Events), Raw: true}.Print(ctx, a.Stdout, true)
	case v.Diff:
		err = changes(a.Secrets.Writer(a.Stdout), res)
	case v.Full:
		err = wholeText(a.Stdout, store, res)
	default:
		exit := a.Report(replyOf(store, j, v.JSON), res, nil)
		if exit == res.Exit { // else the answer did not get there
			store.Heard(caller(a), j.ID)
		}
		return exit
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // nothing was said
	}
	if err != nil {
		return a.Refuse(fault.New(fault.RunFailed, "job %s: %w", j.ID, err).With("the record is " + res.Record))
	}
	if res.Status != fault.OK {
		a.Say("%s", res.Reason)
	}
	a.SayEach("note", res.Notes)
	a.SayEach("hint", res.Hints)
	store.Heard(caller(a), j.ID)
	return a.Signal(cli.Of(res), "")
}

// nextOf are the hints of a result as things are now: what was said of the work at the end of the run may not hold any more.
func nextOf(s *job.Store, j job.View, hints []string) []string {
	told := false
	hints = slices.DeleteFunc(slices.Clone(hints), func(h string) bool {
		of := strings.Contains(h, "oc-job apply "+j.ID) || strings.Contains(h, "oc-job discard "+j.ID)
		told = told || of
		return of && j.Work != job.Unlanded
	})
	switch j.Work {
	case job.NoWork, job.InPlace:
		return hints
	case job.Unlanded:
		if told {
			return hints
		}
	}
	return append(hints, "work: "+workOf(s, j))
}

func count(flags ...bool) (n int) {
	for _, f := range flags {
		if f {
			n++
		}
	}
	return n
}

// replyOf is the answer that was asked for at the start, on stdout.
func replyOf(store *job.Store, j job.View, asJSON bool) call.Reply {
	r := call.Reply{JSON: asJSON}
	if req, err := store.ReadRequest(j.ID); err == nil {
		r.Digest = req.Digest
	}
	if l, err := store.ReadLaunch(j.ID); err == nil {
		r.JSON, r.WarnChars = asJSON || l.Reply.JSON, l.Reply.WarnChars
	}
	return r
}

// wholeText prints the text as it was, also where a digest was asked for.
func wholeText(w io.Writer, store *job.Store, res delegate.Result) error {
	err := cli.WriteText(w, store.Record(res.ID).File(record.Text))
	if errors.Is(err, fs.ErrNotExist) && res.Text != "" {
		_, err = fmt.Fprintln(w, plain.Clean(res.Text)) // what was saved of a run that wrote none
	}
	return err
}

// letters are those of git's --name-status.
var letters = map[tree.Kind]string{tree.Added: "A", tree.Modified: "M", tree.Deleted: "D", tree.Renamed: "R", tree.Mode: "T"}

// changes prints what changed, a letter and a path a line; the old name of a renamed file comes first, as git has it.
func changes(w *redact.Writer, res delegate.Result) error {
	if !res.Changes.Known {
		fmt.Fprintf(w, "not known: %s\n", plain.Line(res.Changes.Reason, 200))
	}
	for _, c := range res.Changes.Files {
		from := ""
		if c.From != "" {
			from = plain.Line(tree.Quote(c.From), 4096) + "\t"
		}
		fmt.Fprintf(w, "%s\t%s%s\n", letters[c.Kind], from, plain.Line(tree.Quote(c.Path), 4096))
	}
	return w.Close()
}

// jobSignal is the signal of a job for which there is no result.
func jobSignal(store *job.Store, j job.View, f *fault.Error) cli.Signal {
	s := cli.OfFault(f)
	s.Job, s.Tier, s.Model, s.Session, s.Record = j.ID, j.Tier, j.Model, j.Session, store.Record(j.ID).Path()
	return s
}
