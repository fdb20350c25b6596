package job

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"

	"opencode-delegate/internal/proc"
)

// Limits say which records of ended jobs are to go. Nil means that a limit was not given; without any, nothing goes.
type Limits struct {
	Older    *time.Duration // what ended this long ago goes
	Keep     *int           // so many of the last to end stay in any case; given alone, all others go
	MaxBytes *int64         // the first to end go until all records together need no more than this on the disk
	Unlanded bool           // those go too that hold work which is nowhere else
}

// A Removal is the record of a job that has gone, or that would go.
type Removal struct {
	State
	Bytes int64 // on the disk
	Work  Fate  // of the work that goes with it
	Alone bool  // that work is nowhere else
}

// A Stay is a record that the limits let go and that stays all the same, and why.
type Stay struct{ ID, Why string }

// Removals is what Remove came to.
type Removals struct {
	Gone       []Removal // the first to end first
	Stays      []Stay    // what is in use
	Failed     []Stay    // what could not be removed
	Unreadable []View    // never removed: nobody can tell what they are
	Leftovers  int       // of removals that were cut off, and other things of no use to anybody
	Refs       int       // in the user's repositories, of records that had gone before
}

// Bytes is what the records that are gone needed on the disk.
func (r Removals) Bytes() (sum int64) {
	for _, g := range r.Gone {
		sum += g.Bytes
	}
	return sum
}

// Remove removes the records of ended jobs that the limits do not let stay. One that somebody works on, that a living job builds
// on, of which processes are left, or that holds work which is nowhere else, stays. With dry nothing is removed, and what comes back is what would be. An end of the context
// ends it between two records; what was done until then comes back with the error.
func (s *Store) Remove(ctx context.Context, l Limits, now time.Time, dry bool) (Removals, error) {
	var r Removals
	left := s.leftovers(now)
	r.Leftovers = len(left)
	if !dry {
		r.Leftovers = clearAway(left)
	}
	refs := s.orphanRefs(now)
	if r.Refs = len(refs); !dry {
		r.Refs = s.ReleaseRefs(ctx, refs)
	}
	known, err := s.ids(activeDir)
	if err != nil {
		return r, err
	}
	all, err := s.List(ctx, func(View) bool { return true })
	if err != nil {
		return r, err
	}
	over := s.outdated(all, now)
	if dry {
		r.Leftovers += len(over)
	} else {
		r.Leftovers += clearAway(over)
		s.links.forget()
	}
	var ended []Removal
	var total int64
	used := uses{}
	for _, v := range all {
		switch {
		case v.State.State == Unreadable:
			r.Unreadable = append(r.Unreadable, v)
		case v.Live():
			used.by(v.State)
		}
		var size int64
		if l.MaxBytes != nil {
			if size, err = usage(ctx, s.dir(v.ID)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return r, err
			}
			total += size
		}
		if v.State.State.Terminal() && v.State.State != Unreadable {
			c := Removal{State: v.State, Bytes: size}
			c.Work, c.Alone = s.holds(v.State)
			ended = append(ended, c)
		}
	}
	for _, c := range proc.Carriers() {
		used[c.Marker] = "process " + c.Name + " of it still lives; oc-job doctor --fix ends what is left"
	}
	var chosen []Removal
	chosen, r.Stays = l.choose(ended, total, now, used)
	for _, c := range chosen {
		var why string
		known, why, err = s.removeUnused(ctx, &c, known, used, dry)
		switch {
		case err != nil && ctx.Err() != nil:
			return r, context.Cause(ctx)
		case errors.Is(err, fs.ErrNotExist): // another one removes too
		case err != nil:
			r.Failed = append(r.Failed, Stay{c.ID, err.Error()})
		case why != "":
			r.Stays = append(r.Stays, Stay{c.ID, why})
		default:
			r.Gone = append(r.Gone, c)
		}
	}
	return r, nil
}

// removeUnused removes a record unless a job that has come since known was read builds on it. What is known now comes back.
func (s *Store) removeUnused(ctx context.Context, c *Removal, known []string, used uses, dry bool) (now []string, why string, err error) {
	now = s.newUses(ctx, known, used)
	if why = used.of(c.State); why == "" {
		c.Bytes, why, err = s.remove(ctx, *c, dry)
	}
	return now, why, err
}

// choose returns what the limits let go, the first to end first. Total is what all records need on the disk; it matters only
// together with MaxBytes.
func (l Limits) choose(ended []Removal, total int64, now time.Time, used uses) (gone []Removal, stays []Stay) {
	slices.SortFunc(ended, func(a, b Removal) int {
		if !a.EndedAt.Equal(*b.EndedAt) {
			return a.EndedAt.Compare(*b.EndedAt)
		}
		return compare(a.ID, b.ID)
	})
	keep := 0
	if l.Keep != nil {
		keep = *l.Keep
	}
	for _, c := range ended[:max(0, len(ended)-keep)] {
		old := l.Older != nil && now.Sub(*c.EndedAt) >= *l.Older
		large := l.MaxBytes != nil && total > *l.MaxBytes
		surplus := l.Keep != nil && l.Older == nil && l.MaxBytes == nil
		if !old && !large && !surplus {
			continue
		}
		if why := used.of(c.State); why != "" {
			stays = append(stays, Stay{c.ID, why})
			continue
		}
		if c.Alone && !l.Unlanded {
			stays = append(stays, Stay{c.ID, alone(c.ID)})
			continue
		}
		gone = append(gone, c)
		total -= c.Bytes
	}
	return gone, stays
}

// uses tells why a job may not go, by its id or its session.
type uses map[string]string

// by notes what a living job builds on.
func (u uses) by(live State) {
	for _, id := range append([]string{live.RetryOf, live.ContinueOf, live.Session}, live.After...) {
		if id != "" {
			u[id] = "job " + live.ID + ", which is " + string(live.State) + ", builds on it"
		}
	}
}

// of is why a job may not go; empty when it may.
func (u uses) of(st State) string {
	if why := u[st.ID]; why != "" || st.Session == "" {
		return why
	}
	return u[st.Session]
}

// newUses notes what jobs build on that have come since known was read, and returns what is known now.
func (s *Store) newUses(ctx context.Context, known []string, used uses) []string {
	ids, err := s.ids(activeDir)
	if err != nil {
		return known
	}
	for _, id := range ids {
		if slices.Contains(known, id) {
			continue
		}
		if v, ok, err := s.view(ctx, id); err == nil && ok {
			known = append(known, id)
			if v.Live() {
				used.by(v.State)
			}
		}
	}
	return known
}
