package repocode

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"opencode-delegate/internal/gitconfig"
)

// A finding is one place that must be put back.
type finding struct {
	path   string
	before item
	after  item
	keys   []string // of a configuration that is put back key by key: those that changed
	text   []byte   // its text then
	why    string   // overrides the usual wording
}

// compare lists what must be put back. It is pure.
func compare(before, after *State) []finding {
	paths := map[string]bool{}
	for p := range before.items {
		paths[p] = true
	}
	for p := range after.items {
		paths[p] = true
	}
	var found []finding
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		b, a := before.items[path], after.items[path]
		if b.equal(a) {
			continue
		}
		if a.form == absent && b.owner != "" && !after.gitDirs[b.owner] {
			continue // its repository is gone
		}
		f := finding{path: path, before: b, after: a}
		k := a.kind
		if b.form != absent {
			k = b.kind
		}
		if f.is(k, before, after) {
			found = append(found, f)
		}
	}
	return outermost(found)
}

// is reports whether the difference at a place is a change of guarded code.
func (f *finding) is(k kind, before, after *State) bool {
	b, a := f.before, f.after
	switch k {
	case kindDir:
		switch {
		case a.form == directory && a.bad != nil && b.form == directory && b.bad == nil:
			f.why = "cannot be read any more"
			return true
		case b.form == symlink, a.form == symlink, a.form == overfull:
			return true
		}
		return b.form == directory && a.form != absent && a.form != directory
	case kindGit:
		switch {
		case a.form == absent || a.form == directory && b.form != symlink && b.form != regular:
			return false
		case a.form == regular && a.bad == nil && b.form != symlink:
			return !after.leadsInside(f.path, a.text)
		case a.form == directory && b.form == regular:
			return !after.gitDirs[f.path]
		}
		return true
	case kindFile:
		if filepath.Base(f.path) == "commondir" && b.form == absent && !before.gitDirs[a.owner] && a.form == regular {
			target, err := linkTarget(filepath.Dir(f.path), a.text, "")
			return err != nil || !after.gitDirs[target]
		}
	case kindConfig:
		return f.config(after)
	}
	return true
}

// leadsInside reports whether a .git file is harmless: what it names was looked at, or it names nothing that git could use.
// A directory that does not exist yet counts by where it would be.
func (s *State) leadsInside(path string, text []byte) bool {
	target, err := linkTarget(filepath.Dir(path), text, "gitdir: ")
	if err == nil {
		return s.gitDirs[target]
	}
	name, isLink := strings.CutPrefix(strings.TrimRight(string(text), "\r\n"), "gitdir:")
	name = strings.TrimLeft(name, " ")
	if !filepath.IsAbs(name) {
		name = filepath.Join(filepath.Dir(path), name)
	}
	return !isLink || inside(s.dir, resolveParent(filepath.Clean(name)))
}

// config compares two configurations key by key. Where that cannot be done, the whole file is put back.
func (f *finding) config(after *State) bool {
	b, a := f.before, f.after
	for _, it := range []item{b, a} {
		if it.form != absent && it.form != regular || it.bad != nil || it.large {
			return true
		}
	}
	old, err := gitconfig.Parse(b.text)
	if err != nil {
		return true
	}
	now, err := gitconfig.Parse(a.text)
	if err != nil {
		f.why = "cannot be read as configuration any more"
		return true
	}
	ordinary := map[string]bool{}
	var carried []gitconfig.Entry
	for _, key := range slices.Compact(slices.Sorted(slices.Values(append(old.Keys(), now.Keys()...)))) {
		was, is := old.Values(key), now.Values(key)
		switch {
		case gitconfig.Same(was, is):
		case guarded(key, is, b, a, f.path, after):
			f.keys = append(f.keys, key)
		default:
			ordinary[key] = true
		}
	}
	for _, e := range now.Entries {
		if ordinary[e.Key] {
			carried = append(carried, e)
		}
	}
	if len(f.keys) > 0 {
		f.text = old.Replace(ordinary, carried)
	}
	return len(f.keys) > 0
}

// guarded reports whether a key may not become what it is. core.worktree is how a submodule or a linked repository finds its
// files: a new one may point into the tree of the run, and one that goes away leads nowhere.
func guarded(key string, is []gitconfig.Entry, b, a item, path string, after *State) bool {
	if key == "core.worktree" {
		for _, e := range is {
			target := e.Value
			if !filepath.IsAbs(target) {
				target = filepath.Join(filepath.Dir(path), target)
			}
			if b.form != absent || !inside(after.dir, resolveParent(target)) {
				return true
			}
		}
		return false
	}
	if isCode(key, "") {
		return true
	}
	for _, e := range is {
		if isCode(key, e.Value) {
			return true
		}
	}
	return false
}

// outermost drops what lies below another finding: when that is put back, the next round looks again.
func outermost(found []finding) []finding {
	var kept []finding
	last := ""
	for _, f := range found {
		if last != "" && f.path != last && inside(last, f.path) {
			continue
		}
		kept = append(kept, f)
		last = f.path
	}
	return kept
}

func (f finding) violations(dir string) []Violation {
	shown := f.path
	if inside(dir, f.path) {
		if rel, err := filepath.Rel(dir, f.path); err == nil {
			shown = filepath.ToSlash(rel)
		}
	}
	shown = printable(shown)
	if len(f.keys) > 0 {
		old, _ := gitconfig.Parse(f.before.text)
		now, _ := gitconfig.Parse(f.after.text)
		var list []Violation
		for _, key := range f.keys {
			verb := "changed"
			switch {
			case len(old.Values(key)) == 0:
				verb = "added"
			case len(now.Values(key)) == 0:
				verb = "removed"
			}
			list = append(list, Violation{Path: shown, Key: key, What: fmt.Sprintf("git configuration %s was %s in %s", printable(key), verb, shown)})
		}
		return list
	}
	what := f.why
	if what == "" {
		what = f.wording()
	}
	return []Violation{{Path: shown, What: fmt.Sprintf("%s %s %s", f.noun(), shown, what)}}
}

func (f finding) noun() string {
	k := f.after.kind
	if f.before.form != absent {
		k = f.before.kind
	}
	switch k {
	case kindHook:
		return "hook"
	case kindConfig:
		return "git configuration"
	case kindDir:
		return "git directory"
	case kindGit:
		return "repository"
	}
	return "file"
}

func (f finding) wording() string {
	b, a := f.before, f.after
	switch {
	case b.form == absent && a.form == regular:
		return "was added"
	case b.form == absent:
		return "was added as " + a.form.String()
	case a.form == absent:
		return "was removed"
	case b.form != a.form:
		return "was replaced by " + a.form.String()
	case b.sum == a.sum && b.mode != a.mode:
		return fmt.Sprintf("changed its mode from %04o to %04o", b.mode.Perm(), a.mode.Perm())
	}
	return "was changed"
}

// printable quotes a name that holds anything but printable characters, so that it stays on one line.
func printable(name string) string {
	if q := strconv.Quote(name); q != `"`+name+`"` && strings.ContainsFunc(name, func(r rune) bool { return !strconv.IsPrint(r) || r == '\uFFFD' }) {
		return q
	}
	return name
}

func joinLines(lines []string) string { return strings.Join(lines, "; ") }
