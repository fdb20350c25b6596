package verify

import (
	"slices"

	"opencode-delegate/internal/tree"
)

// Paths lists the changed paths that are not allowed, sorted: those that match no glob of one of the lists of allow, and those that match one
// of forbid. Of a renamed file both names count.
func Paths(allow []Globs, forbid Globs, changes []tree.Change) []string {
	var bad []string
	for _, c := range changes {
		for _, name := range names(c) {
			if forbid.Match(name) || slices.ContainsFunc(allow, func(g Globs) bool { return !g.Match(name) }) {
				bad = append(bad, name)
			}
		}
	}
	slices.Sort(bad)
	return slices.Compact(bad)
}

// names are the paths that a change is about.
func names(c tree.Change) []string {
	if c.From != "" && c.From != c.Path {
		return []string{c.From, c.Path}
	}
	return []string{c.Path}
}

// MaxDiff reports whether changes are within a limit of lines, insertions and deletions together, as git counts them: a binary file, a
// mode and a rename without edits count none. What is not known is not within a limit.
func MaxDiff(limit int, changes tree.Changes) (lines int, ok bool) {
	if !changes.Known || changes.Insertions == nil || changes.Deletions == nil {
		return 0, false
	}
	lines = *changes.Insertions + *changes.Deletions
	return lines, lines <= limit
}
