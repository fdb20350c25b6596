package call

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"opencode-delegate/internal/delegate"
	"opencode-delegate/internal/tiers"
)

const (
	// commandLimit bounds one command of --verify; the system bounds an argument at 128 KiB.
	commandLimit = 64 << 10
	// listLimit bounds how often a flag may be repeated, and what is done with each.
	listLimit = 1000
	// mostRepairs and mostBeside bound what one delegation can cost by a slip of the hand.
	mostRepairs = 20
	mostBeside  = 16
)

// isolation reads where the work is done.
func (r *resolver) isolation() {
	f, req := r.flags, &r.call.Request
	req.Isolate, req.WithDirty = f.Isolate || len(f.Escalate) > 0 || f.BestOf.Set, f.WithDirty
	for name, set := range map[string]bool{"isolate": f.Isolate, "escalate": len(f.Escalate) > 0, "best-of": f.BestOf.Set} {
		if set && !f.Write {
			r.problem("flag --"+name, errors.New("it is about work that is written; add --write or leave it out"))
		}
	}
	for name, set := range map[string]bool{"with-dirty": f.WithDirty, "link": len(f.Link) > 0, "copy": len(f.Copy) > 0} {
		if set && !req.Isolate {
			r.problem("flag --"+name, errors.New("it says what a copy has; add --isolate or leave it out"))
		}
	}
	for _, path := range f.Link {
		req.Link = append(req.Link, r.existing("flag --link", path))
	}
	for _, path := range f.Copy {
		req.Copy = append(req.Copy, r.existing("flag --copy", path))
	}
	if req.Onward, req.Resumes = f.Onward, f.Resumes; req.Isolate && f.Onward == "" && (f.Continue || f.Session.Set) {
		r.problem("", errors.New("an isolated run begins in a copy of its own, where no session of yours can go on; leave out -c and -s, or --isolate; oc-job continue ID goes on with an isolated job"))
	}
	if req.Isolate {
		r.row("isolation", "a copy of the repository", r.because(f))
	}
}

func (r *resolver) because(f Flags) string {
	switch {
	case f.Isolate:
		return "flag --isolate"
	case len(f.Escalate) > 0:
		return "flag --escalate"
	}
	return "flag --best-of"
}

// checks reads what proves the work.
func (r *resolver) checks() {
	f, req := r.flags, &r.call.Request
	for name, set := range map[string]bool{
		"verify": len(f.Verify) > 0, "expect-file": len(f.ExpectFile) > 0, "allow-path": len(f.AllowPath) > 0, "forbid-path": len(f.ForbidPath) > 0,
		"max-diff": f.MaxDiff.Set, "repair": f.Repair.Set, "protect": len(f.Protect) > 0,
	} {
		if set && !f.Write {
			r.problem("flag --"+name, errors.New("it is about work that is written; add --write or leave it out"))
		}
	}
	req.Verify = r.texts("verify", f.Verify, commandLimit)
	req.Protect = r.texts("protect", f.Protect, 1<<10)
	req.AllowPath = r.texts("allow-path", f.AllowPath, 1<<10)
	req.ForbidPath = r.texts("forbid-path", f.ForbidPath, 1<<10)
	req.NoPreflight, req.AllowTestChanges, req.TrustDeps = f.NoPreflight, f.AllowTestChanges, f.TrustDeps
	for _, path := range r.texts("expect-file", f.ExpectFile, 4<<10) {
		if !filepath.IsLocal(path) {
			r.problem("flag --expect-file", fmt.Errorf("%q lies outside of --dir; name a path relative to it", clip(path)))
		}
		req.ExpectFile = append(req.ExpectFile, filepath.Clean(path))
	}
	if v := r.flag("expect-schema", f.ExpectSchema); v.Set() {
		req.ExpectSchema = r.existing(v.Source, v.Text)
	}
	limit := tiers.First(r.flag("verify-timeout", f.VerifyTimeout), r.config.value(r.config.VerifyTimeout), tiers.Value{Text: "10m", Source: "built in"})
	d, err := parseDuration(limit.Text, false)
	r.problem(limit.Source, err)
	if req.VerifyTimeout = delegate.Duration(d); len(req.Verify) > 0 {
		for _, cmd := range req.Verify {
			r.row("verify", clip(cmd), "flag --verify")
		}
		r.row("verify-timeout", limit.Text, limit.Source)
	}
	if v := r.flag("max-diff", f.MaxDiff); v.Set() {
		req.MaxDiff, err = parseCount(v.Text, 1)
		r.problem(v.Source, err)
		r.row("max-diff", v.Text, v.Source)
	}
	if f.Write {
		req.Repair = int(r.few("repair", f.Repair, 1, 0, mostRepairs))
	}
	r.escalation()
}

// few is a small whole number; fallback where it is not given.
func (r *resolver) few(name string, o Once, fallback, least, most int64) int64 {
	v := r.flag(name, o)
	if !v.Set() {
		return fallback
	}
	n, err := parseCount(v.Text, least)
	if err == nil && n > most {
		err = fmt.Errorf("%q is too many; at most %d", clip(v.Text), most)
	}
	r.problem(v.Source, err)
	r.row(name, strconv.FormatInt(n, 10), v.Source)
	return n
}

// escalation reads who else may try.
func (r *resolver) escalation() {
	f, req := r.flags, &r.call.Request
	if f.BestOf.Set {
		req.BestOf = int(r.few("best-of", f.BestOf, 1, 1, mostBeside))
		if len(req.Verify) == 0 {
			r.problem("flag --best-of", errors.New("it is the check that chooses; add --verify CMD"))
		}
	}
	seen := []string{req.Tier}
	for _, list := range f.Escalate {
		for name := range strings.SplitSeq(list, ",") {
			c, err := tiers.Resolve(tiers.Inputs{Tier: tiers.Value{Text: name, Source: "flag --escalate"}, Remap: r.tiers.Remap, RemapVariant: r.tiers.RemapVariant})
			switch {
			case name == "":
				err = errors.New("flag --escalate: a tier is empty; name the tiers that may take over, such as code,pro")
			case err == nil && slices.Contains(seen, name):
				err = fmt.Errorf("flag --escalate: %s has its turn already; name each tier once", name)
			}
			r.problem("", err)
			seen = append(seen, name)
			req.Escalate = append(req.Escalate, delegate.Rung{Tier: string(c.Tier), Model: c.Model, Variant: c.Variant})
			r.row("escalate", c.Model, "flag --escalate "+name)
		}
	}
}

// texts are the values of a flag that can be repeated, each of them a text that a command line and a record can hold.
func (r *resolver) texts(name string, values []string, limit int) []string {
	if len(values) > listLimit {
		r.problem("flag --"+name, fmt.Errorf("given %d times; at most %d", len(values), listLimit))
		return nil
	}
	for _, v := range values {
		switch {
		case strings.TrimSpace(v) == "":
			r.problem("flag --"+name, errors.New("empty; give a value or leave the flag out"))
		case len(v) > limit:
			r.problem("flag --"+name, fmt.Errorf("longer than %d bytes; put it into a file", limit))
		case !utf8.ValidString(v) || strings.ContainsRune(v, 0):
			r.problem("flag --"+name, fmt.Errorf("%q is no text", clip(v)))
		}
	}
	return values
}
