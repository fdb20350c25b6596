package job

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"opencode-delegate/internal/crashpoint"
	"opencode-delegate/internal/proc"
)

// presenceOf is the name of the file that says as which session a process calls.
func presenceOf(process proc.ID) string { return fmt.Sprintf("p-%d-%d", process.PID, process.Start) }

// processOf is the process of a presence, as far as its name tells.
func processOf(name string) (process proc.ID, ok bool) {
	process.Boot = proc.Boot()
	n, err := fmt.Sscanf(name, "p-%d-%d", &process.PID, &process.Start)
	return process, n == 2 && err == nil && presenceOf(process) == name
}

// presences is how many of them one call looks at: hooks have to be quick.
const presences = 64

// sweepPresences removes presences of processes that have gone, but for one that is kept.
func (s *Store) sweepPresences(keep proc.ID) {
	names := s.namesIn(callersDir)
	looked := 0
	for _, i := range rand.Perm(len(names)) { // so that many that live hide none that has gone
		p, ok := processOf(names[i])
		if !ok || names[i] == presenceOf(keep) {
			continue
		}
		if looked++; looked > presences {
			return
		}
		if !p.Lives() {
			path := filepath.Join(s.root, callersDir, names[i])
			os.Remove(path)
			crashpoint.Here("removed", path)
		}
	}
}

const (
	// linkAge is when a link between callers that have no job any more is of no use.
	linkAge = 30 * 24 * time.Hour
	// argumentsAge is when what a person has typed was taken by nobody: it is void after a minute.
	argumentsAge = time.Hour
)

// outdated lists what lives for a while in callers/ and arguments/ and is over: nothing that went wrong, and so no leftovers.
func (s *Store) outdated(jobs []View, now time.Time) (paths []string) {
	used := map[string]bool{} // by the name of all linked callers
	for _, v := range jobs {
		used[s.CallerOf(v.Caller)] = true
	}
	type group struct {
		newest time.Time
		paths  []string
	}
	groups := map[string]*group{}
	s.each(callersDir, func(name, path string, fi fs.FileInfo) {
		process, present := processOf(name)
		l, linked := s.readLink(name)
		switch {
		case present && process.Lives():
			if session, ok := s.present(process); ok {
				used[s.CallerOf(session)] = true
			}
		case present, strings.HasPrefix(name, ".tmp-") && now.Sub(fi.ModTime()) > temporaryAge:
			paths = append(paths, path)
		case linked:
			name := s.CallerOf(l.Session)
			if groups[name] == nil {
				groups[name] = &group{}
			}
			g := groups[name]
			g.paths = append(g.paths, path)
			if fi.ModTime().After(g.newest) {
				g.newest = fi.ModTime()
			}
		case isKey(name) && now.Sub(fi.ModTime()) > linkAge:
			paths = append(paths, path) // damaged
		}
	})
	for name, g := range groups {
		if !used[name] && now.Sub(g.newest) > linkAge {
			paths = append(paths, g.paths...)
		}
	}
	s.each(argumentsDir, func(_, path string, fi fs.FileInfo) {
		if now.Sub(fi.ModTime()) > argumentsAge {
			paths = append(paths, path)
		}
	})
	return paths
}

// each goes over the regular files of a directory of the root.
func (s *Store) each(dir string, do func(name, path string, fi fs.FileInfo)) {
	for _, name := range s.namesIn(dir) {
		path := filepath.Join(s.root, dir, name)
		if fi, err := os.Lstat(path); err == nil && fi.Mode().IsRegular() {
			do(name, path, fi)
		}
	}
}
