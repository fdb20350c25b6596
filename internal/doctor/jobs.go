package doctor

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"opencode-delegate/internal/job"
	"opencode-delegate/internal/proc"
)

const (
	// secondLook is the time after which what may be over in a moment is looked at again: a lock, a tree that is being ended.
	secondLook = time.Second
	// orphanGrace is the time between TERM and KILL for what a dead supervisor has left.
	orphanGrace = time.Second
	// named is how many jobs, processes or files one finding names.
	named = 3
)

// jobs looks at all records and at the processes that belong to them, and mends what it may.
func (x *examination) jobs(ctx context.Context, store *job.Store) ([]Finding, error) {
	was, err := x.survey(ctx, store)
	if err != nil {
		return nil, err
	}
	is := was
	var did mended
	if x.Fix && len(was.Undecided)+len(was.Orphans)+len(was.Leftovers)+len(was.Refs) > 0 {
		did = mend(ctx, store, was)
		if is, err = store.Survey(ctx, x.Host.Now()); err != nil {
			return nil, err
		}
	}
	list := []Finding{{Name: "jobs", Level: OK, What: fmt.Sprintf("%d %s, %d of them alive", was.Jobs, plural(was.Jobs, "record", "records"), len(is.Live))}}
	add := func(f Finding, there bool, fixed string, still bool) {
		if there {
			list = append(list, after(f, fixed, still))
		}
	}
	add(undecided(was), len(was.Undecided) > 0, did.decided, len(is.Undecided) > 0)
	add(orphans(was), len(was.Orphans) > 0, did.ended, len(is.Orphans) > 0)
	add(leftovers(was), len(was.Leftovers) > 0, did.cleared, len(is.Leftovers) > 0)
	add(refs(was), len(was.Refs) > 0, did.released, len(is.Refs) > 0)
	add(lost(is), len(is.Lost) > 0, "", true)
	add(unlanded(is), len(is.Unlanded) > 0, "", true)
	for _, b := range is.CutOff {
		list = append(list, Finding{Name: "cut off", Level: Warn, What: "oc-job " + b.Verb + " of job " + b.ID + " was begun and did not come to its end",
			Remedy: "oc-job " + b.Verb + " " + b.ID + " goes on with it"})
	}
	list = append(list, stopped(is)...)
	list = append(list, held(was)...)
	for _, v := range is.Unreadable {
		list = append(list, Finding{Name: "records", Level: Warn, What: fmt.Sprintf("job %s cannot be read: %s", v.ID, v.Problem),
			Remedy: "what there is lies in " + store.Record(v.ID).Path() + "; remove it when you need it no more"})
	}
	if was.Strangers > 0 {
		list[0].What += fmt.Sprintf("; %d %s of jobs in other state directories", was.Strangers, plural(was.Strangers, "process", "processes"))
	}
	return list, nil
}

// survey looks at the jobs, and a second time at what may be over in a moment.
func (x *examination) survey(ctx context.Context, store *job.Store) (job.Survey, error) {
	first, err := store.Survey(ctx, x.Host.Now())
	if err != nil || len(first.Undecided)+len(first.Orphans)+len(first.Locks) == 0 {
		return first, err
	}
	select {
	case <-ctx.Done():
		return first, context.Cause(ctx)
	case <-time.After(secondLook):
	}
	second, err := store.Survey(ctx, x.Host.Now())
	return both(first, second), err
}

// both is the second of two looks without what only one of them saw.
func both(first, v job.Survey) job.Survey {
	v.Locks = slices.DeleteFunc(v.Locks, func(path string) bool { return !slices.Contains(first.Locks, path) })
	v.Orphans = slices.DeleteFunc(v.Orphans, func(c proc.Carrier) bool { return !slices.Contains(first.Orphans, c) })
	return v
}

// after is a finding after something was done about it; still tells that it is there all the same.
func after(f Finding, fixed string, still bool) Finding {
	if f.Fixed = fixed; !still {
		f.Level, f.Remedy = OK, ""
	}
	return f
}

// mended says what was done, in words; empty = nothing.
type mended struct{ decided, ended, cleared, released string }

// mend decides about jobs whose supervisor died, ends what is left of jobs, and clears leftovers away.
func mend(ctx context.Context, store *job.Store, v job.Survey) (did mended) {
	var decided []string
	for _, st := range v.Undecided {
		if now, err := store.Look(ctx, st.ID); err == nil && !now.Live() {
			decided = append(decided, st.ID+" is "+string(now.State.State))
		}
	}
	if n := len(decided); n > 0 {
		did.decided = fmt.Sprintf("decided: %s", some(decided))
	}
	var ended []string
	swept := map[string]bool{}
	for _, c := range v.Orphans {
		if swept[c.Marker] {
			continue
		}
		swept[c.Marker] = true
		for _, s := range proc.Sweep(ctx, c.Marker, orphanGrace) {
			ended = append(ended, process(s))
		}
	}
	if n := len(ended); n > 0 {
		did.ended = fmt.Sprintf("ended %d %s: %s", n, plural(n, "process", "processes"), some(ended))
	}
	if n := store.ClearAway(v); n > 0 {
		did.cleared = fmt.Sprintf("removed %d of %d", n, len(v.Leftovers))
	}
	if n := store.ReleaseRefs(ctx, v.Refs); n > 0 {
		did.released = fmt.Sprintf("removed %d of %d", n, len(v.Refs))
	}
	return did
}

func undecided(v job.Survey) Finding {
	n := len(v.Undecided)
	return Finding{Name: "undecided", Level: Warn, What: fmt.Sprintf("the supervisor of %d %s died, and nobody has asked since: %s", n, plural(n, "job", "jobs"), some(ids(v.Undecided))),
		Remedy: "oc-job doctor --fix decides what became of it, and so does oc-job status ID"}
}

func orphans(v job.Survey) Finding {
	var list []string
	for _, c := range v.Orphans {
		list = append(list, process(c.Survivor)+" of job "+c.Marker)
	}
	n := len(list)
	return Finding{Name: "orphans", Level: Warn, What: fmt.Sprintf("%d %s without a supervisor: %s", n, plural(n, "process", "processes"), some(list)),
		Remedy: "oc-job doctor --fix ends " + plural(n, "it", "them")}
}

func leftovers(v job.Survey) Finding {
	n := len(v.Leftovers)
	return Finding{Name: "leftovers", Level: Warn, What: fmt.Sprintf("%d %s of no use to anybody: %s", n, plural(n, "file", "files"), some(v.Leftovers)),
		Remedy: "oc-job doctor --fix removes " + plural(n, "it", "them") + ", and so does oc-job gc"}
}

// refs are those that keep objects of the user's repositories alive for nothing.
func refs(v job.Survey) Finding {
	var list []string
	for _, r := range v.Refs {
		list = append(list, r.ID+" in "+r.Repo)
	}
	n := len(list)
	return Finding{Name: "refs", Level: Warn, What: fmt.Sprintf("%d %s of isolated jobs whose records have gone: %s", n, plural(n, "ref", "refs"), some(list)),
		Remedy: "oc-job doctor --fix removes " + plural(n, "it", "them") + ", and so does oc-job gc"}
}

func unlanded(v job.Survey) Finding {
	n := len(v.Unlanded)
	return Finding{Name: "work", Level: OK, What: fmt.Sprintf("%d %s work that is nowhere else: %s; oc-job apply ID lands it, oc-job discard ID gives it up",
		n, plural(n, "job holds", "jobs hold"), some(ids(v.Unlanded)))}
}

func lost(v job.Survey) Finding {
	n := len(v.Lost)
	return Finding{Name: "lost", Level: Warn, What: fmt.Sprintf("%d %s of the last seven days died and %s not taken up again: %s", n, plural(n, "job", "jobs"), plural(n, "was", "were"), some(ids(v.Lost))),
		Remedy: "oc-job recover ID goes on where there is a session, oc-job retry ID begins again; oc-job result ID prints what was saved"}
}

// stopped are supervisors that a signal has stopped: their jobs do not go on, and hold their places.
func stopped(v job.Survey) (list []Finding) {
	for _, st := range v.Live {
		if st.Supervisor == nil || !st.Supervisor.Stopped() {
			continue
		}
		pid := strconv.Itoa(st.Supervisor.PID)
		list = append(list, Finding{Name: "stopped", Level: Warn, What: "the supervisor of job " + st.ID + ", process " + pid + ", was stopped by a signal",
			Remedy: "kill -CONT " + pid + " lets it go on; oc-job cancel " + st.ID + " ends the job"})
	}
	return list
}

// held are locks that ought to be held for moments only.
func held(v job.Survey) (list []Finding) {
	for _, path := range v.Locks {
		name := filepath.Base(path)
		if dir := filepath.Base(filepath.Dir(path)); job.CheckID(dir) == nil {
			name += " of job " + dir
		}
		f := Finding{Name: "held", Level: Warn, What: name + " is held, and not for a moment only", Remedy: "end the process that holds " + path}
		var who, pids []string
		for _, s := range proc.Holders(path) {
			who, pids = append(who, process(s)), append(pids, strconv.Itoa(s.PID))
		}
		if len(who) > 0 {
			f.What += ": " + some(who)
			f.Remedy = "if it was stopped, kill -CONT " + strings.Join(pids, " ") + " lets it go on; else end it with kill"
		}
		list = append(list, f)
	}
	return list
}

func ids(list []job.State) (out []string) {
	for _, st := range list {
		out = append(out, st.ID)
	}
	return out
}

// process names a process. Its command line is another's text, and told only in part.
func process(s proc.Survivor) string {
	const most = 60
	name := s.Name
	if len(name) > most {
		name = strings.ToValidUTF8(name[:most], "") + "…"
	}
	return fmt.Sprintf("%d (%s)", s.PID, name)
}

// some are the first of a list.
func some(list []string) string {
	text := strings.Join(list[:min(len(list), named)], ", ")
	if n := len(list) - named; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

func plural(n int, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}
