package worktree

import (
	"context"
	"strings"
)

// dependencies are the names of directories that a package manager fills and can fill again. They are left out where git ignores them.
var dependencies = map[string]bool{
	"node_modules": true, ".venv": true, "venv": true, "vendor": true, "bower_components": true, "jspm_packages": true, ".tox": true, ".nox": true,
	"__pypackages__": true, ".pnpm-store": true, ".yarn": true, "Pods": true, "Carthage": true, "target": true, ".gradle": true, ".bundle": true,
}

// covered is the coverage after a snapshot: what was left out then is left out, everything else counts. git is not asked: a run
// may have changed what it would say.
type covered struct{ holes map[string]string }

func newCovered(l list) covered {
	c := covered{map[string]string{}}
	for _, h := range l.holes {
		if !h.git {
			c.holes[h.Path] = h.Why
		}
	}
	return c
}

func (covered) enter(context.Context, string, bool) error { return nil }

func (c covered) hole(path string, _ bool, _, _ int64) string { return c.holes[path] }

// isDotGit reports whether git takes a name for the one of its directory, on some file system at least.
func isDotGit(name string) bool { return strings.EqualFold(name, ".git") }
