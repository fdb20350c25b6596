package main

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"opencode-delegate/internal/call"
	"opencode-delegate/internal/cli"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/job"
)

type gcVerb struct {
	Older    call.Once `placeholder:"TIME" help:"Remove what ended this long ago: 12h, 30d (default 30d, unless another limit is given)."`
	Keep     call.Once `placeholder:"N" help:"Keep the N jobs that ended last, whatever their age. Alone: remove all others."`
	MaxBytes call.Once `placeholder:"SIZE" help:"Remove the jobs that ended first until all records together need no more on the disk: 500M, 2G or bytes."`
	Unlanded bool      `help:"Also jobs with work that is nowhere else: neither applied, merged nor discarded."`
	DryRun   bool      `help:"Only say what would be removed."`
	JSON     bool      `name:"json" help:"The same as a JSON object."`
}

// defaultAge is how long ago a job ended whose record goes when no limit is given.
const defaultAge = 30 * 24 * time.Hour

func (v *gcVerb) run(a *cli.App) int {
	limits, problems := v.limits()
	limits.Unlanded = v.Unlanded
	if len(problems) > 0 {
		return refuseAll(a, problems)
	}
	store, err := a.Store()
	if err != nil {
		return refuse(a, err)
	}
	ctx, stop := cli.Interruptible()
	defer stop()
	r, err := store.Remove(ctx, limits, a.Now(), v.DryRun)
	// What was removed is told whatever came after it.
	if perr := v.tell(a, store, r); perr != nil && err == nil {
		err = fault.New(fault.RunFailed, "stdout: %w", perr)
	}
	if err != nil {
		return refuse(a, err)
	}
	if n := len(r.Failed); n > 0 {
		return refuse(a, fault.New(fault.RunFailed, "%d %s could not be removed", n, plural(n, "record", "records")).
			With("remove what is named above by hand, or see oc-job doctor"))
	}
	return 0
}

// limits gives the flags their meaning. Problems are a sentence each.
func (v *gcVerb) limits() (l job.Limits, problems []string) {
	problem := func(name string, err error) {
		if err != nil {
			problems = append(problems, "flag --"+name+": "+err.Error())
		}
	}
	if v.Older.Set {
		d, err := call.Age(v.Older.Text)
		problem("older", err)
		l.Older = &d
	}
	if v.Keep.Set {
		n, err := strconv.Atoi(v.Keep.Text)
		if err != nil || n < 0 {
			problem("keep", fmt.Errorf("%.40q is no whole number of at least 0", v.Keep.Text))
		}
		l.Keep = &n
	}
	if v.MaxBytes.Set {
		n, err := parseSize(v.MaxBytes.Text)
		problem("max-bytes", err)
		l.MaxBytes = &n
	}
	if !v.Older.Set && !v.Keep.Set && !v.MaxBytes.Set {
		d := defaultAge
		l.Older = &d
	}
	return l, problems
}

// units of sizes, as du and ls count them.
const units = "KMGT"

// parseSize reads a number of bytes, or of one of the units.
func parseSize(text string) (int64, error) {
	digits, shift := text, 0
	if n := len(text); n > 0 {
		if i := strings.IndexByte(units, text[n-1]&^0x20); i >= 0 {
			digits, shift = text[:n-1], 10*(i+1)
		}
	}
	n, err := strconv.ParseUint(digits, 10, 63)
	if err != nil || n > math.MaxInt64>>shift {
		return 0, fmt.Errorf("%.40q is no size; write bytes, or 500M, 2G", text)
	}
	return int64(n) << shift, nil
}

// size is a number of bytes for a person.
func size(n int64) string {
	if n < 1<<10 {
		return strconv.FormatInt(n, 10) + " B"
	}
	f, unit := float64(n)/(1<<10), 0
	for ; f >= 1023.95 && unit < len(units)-1; unit++ {
		f /= 1 << 10
	}
	return strconv.FormatFloat(f, 'f', 1, 64) + " " + units[unit:unit+1] + "iB"
}

func plural(n int, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}

// A gone is a removed record in JSON.
type gone struct {
	ID      string     `json:"id"`
	State   job.Phase  `json:"state"`
	EndedAt *time.Time `json:"ended_at"`
	Age     int64      `json:"age_s"`
	Bytes   int64      `json:"bytes"`
	Work    *job.Fate  `json:"work"` // of the work that went with it; null = there was none
}

// A stayed is a record in JSON that was not removed, and why.
type stayed struct {
	ID     string `json:"id"`
	Reason string `json:"reason"`
	Record string `json:"record"`
}

func (v *gcVerb) tell(a *cli.App, store *job.Store, r job.Removals) error {
	removed := make([]gone, 0, len(r.Gone))
	for _, g := range r.Gone {
		removed = append(removed, gone{g.ID, g.State.State, g.EndedAt, int64(max(a.Now().Sub(*g.EndedAt), 0) / time.Second), g.Bytes, optional(g.Work)})
	}
	why := func(list []job.Stay) []stayed {
		out := make([]stayed, 0, len(list))
		for _, s := range list {
			out = append(out, stayed{s.ID, s.Why, store.Record(s.ID).Path()})
		}
		return out
	}
	unreadable := make([]stayed, 0, len(r.Unreadable))
	for _, u := range r.Unreadable {
		unreadable = append(unreadable, stayed{u.ID, u.Problem, store.Record(u.ID).Path()})
	}
	if v.JSON {
		return a.PrintJSON(struct {
			DryRun     bool     `json:"dry_run"`
			Removed    []gone   `json:"removed"`
			Bytes      int64    `json:"bytes"`
			InUse      []stayed `json:"in_use"`
			Failed     []stayed `json:"failed"`
			Unreadable []stayed `json:"unreadable"`
			Leftovers  int      `json:"leftovers"`
			Refs       int      `json:"refs"` // of records that had gone before
		}{v.DryRun, removed, r.Bytes(), why(r.Stays), why(r.Failed), unreadable, r.Leftovers, r.Refs})
	}
	if err := v.print(a.Stdout, removed, r); err != nil {
		return err
	}
	for _, s := range why(r.Stays) {
		a.Say("job %s stays: %s", s.ID, s.Reason)
	}
	for _, s := range unreadable {
		a.Say("job %s stays, since its record cannot be read (%s): %s", s.ID, s.Reason, s.Record)
	}
	for _, s := range why(r.Failed) {
		a.Say("job %s could not be removed (%s): %s", s.ID, s.Reason, s.Record)
	}
	return nil
}

// print writes a line for each record and one with the sum. Nothing in them is another's text.
func (v *gcVerb) print(out io.Writer, removed []gone, r job.Removals) error {
	t := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	for _, g := range removed {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s", g.ID, g.State, span(time.Duration(g.Age)*time.Second), size(g.Bytes))
		if with := goesWith(g.Work); with != "" {
			fmt.Fprint(t, "\t"+with)
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	did := "removed"
	if v.DryRun {
		did = "would remove"
	}
	n := len(removed)
	sum := fmt.Sprintf("%s %d %s, %s", did, n, plural(n, "record", "records"), size(r.Bytes()))
	if r.Leftovers > 0 {
		sum += fmt.Sprintf(", and %d %s", r.Leftovers, plural(r.Leftovers, "leftover", "leftovers"))
	}
	if r.Refs > 0 {
		sum += fmt.Sprintf(", and %d %s of removed records", r.Refs, plural(r.Refs, "ref", "refs"))
	}
	_, err := fmt.Fprintln(out, sum)
	return err
}

// goesWith is what goes with a record, in words.
func goesWith(work *job.Fate) string {
	if work == nil {
		return ""
	}
	switch *work {
	case job.Discarded:
		return "its patch"
	case job.InPlace:
		return "what undoes it"
	case job.Applied, job.Merged:
		return "its copy, which has landed"
	case job.Undone:
		return "work that was undone"
	}
	return "work that has not landed"
}
