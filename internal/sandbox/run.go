package sandbox

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"opencode-delegate/internal/fault"
)

// sharedMemory is writable in every run: programs that fork need it.
const sharedMemory = "/dev/shm"

// A Run is what the policy of one run is made from. All paths are absolute.
type Run struct {
	Home      string
	Dir       string       // the project; empty for a program that needs none (a probe)
	Opencode  OpencodeDirs // made by [OpencodeDirs.Ensure] before
	Tmp       string       // private TMPDIR of the run; exists
	StateRoot string       // our records; never writable
	Environ   []string     // the worker's environment: where build caches and credentials lie
	Git       []string     // git directory and common directory of the project, where they lie outside Dir; for a writing run
	// AllowRead and AllowWrite are what the caller grants beyond, by name.
	AllowRead, AllowWrite []string

	// Own is a directory inside our records that is the run's own: the copy of a repository, which holds Dir. It may be
	// written although nothing else there may. Empty: none.
	Own string
	// Keep are places that nobody asked to open and that stay closed: a grant that the caller has not named (/tmp, the build caches) is left out
	// where it would open one.
	Keep []string
	// Layer is a directory of this run or check alone, which exists, may lie in our records, and takes the place of all build caches: the
	// caller's can then be read, and not written. The environment of the run needs [Run.LayerEnv]. Empty: the caller's are used.
	Layer string
	// Warm are layers that nothing writes any more, in which the tools that can look first.
	Warm []string
}

// ReadOnly is the policy that lets nothing be changed but what opencode keeps for itself.
func (r Run) ReadOnly() (Policy, error) {
	p, err := r.base()
	if err != nil {
		return Policy{}, err
	}
	if r.Dir == "" {
		return p, nil
	}
	dir, err := filepath.EvalSymlinks(r.Dir)
	if err != nil {
		return Policy{}, fmt.Errorf("project directory: %w", err)
	}
	for _, open := range append([]string{sharedMemory}, p.Write...) {
		if within(dir, open) {
			return Policy{}, fault.New(fault.Usage, "%s lies in %s, where a run has to write: it cannot be kept read-only", r.Dir, open).
				With("use a project directory elsewhere, or --write")
		}
	}
	return p, nil
}

// Checking is the policy of a check: that of a writing run, without opencode's directories, which a check has nothing to do with.
func (r Run) Checking() (Policy, error) {
	p, err := r.Writing()
	if err != nil {
		return p, err
	}
	opencode := r.opencodes()
	p.Write = slices.DeleteFunc(p.Write, func(path string) bool {
		return slices.Contains(opencode, path)
	})
	return p, nil
}

// opencodes are the real paths of what opencode writes.
func (r Run) opencodes() (real []string) {
	for _, path := range []string{r.Opencode.Data, r.Opencode.Cache, r.Opencode.State} {
		real = append(real, dirOf(path))
	}
	if db := lookup(r.Environ)("OPENCODE_DB"); filepath.IsAbs(db) {
		real = append(real, dirOf(filepath.Dir(db)))
	}
	return real
}

// Writing is the policy that also lets the project, its git directories, the temporary directories, the build caches and
// what AllowWrite names be changed. A grant that would take in a protected place is a USAGE fault, or, where nobody asked
// for it by name, is left out.
func (r Run) Writing() (Policy, error) {
	p, err := r.base()
	if err != nil {
		return Policy{}, err
	}
	if r.Dir == "" {
		return Policy{}, errors.New("a writing run without a project")
	}
	if err := r.checkDir(); err != nil {
		return Policy{}, err
	}
	env := lookup(r.Environ)
	guarded := r.guarded(env)
	for _, path := range append([]string{r.Dir}, r.Git...) {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return Policy{}, fmt.Errorf("a directory that the run is to write: %w", err)
		}
		if g, bad := guarded.touched(real); bad && path != r.Dir && !r.owns(real) {
			return Policy{}, fault.New(fault.Usage, "the git directory %s would let the worker write %s", path, g)
		}
		p.Write = append(p.Write, real)
	}
	asked := map[string]bool{}
	for _, path := range r.AllowWrite {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return Policy{}, fault.New(fault.Usage, "--allow-write: %w", err)
		}
		if g, bad := guarded.touched(real); bad {
			return Policy{}, fault.New(fault.Usage, "--allow-write %s would let the worker write %s", path, g).
				With("name a smaller directory; --no-sandbox runs without these limits")
		}
		p.Write = append(p.Write, real)
		asked[real] = true
	}
	keep := r.keep()
	for _, path := range append([]string{sharedMemory}, p.Write...) {
		if k, open := keep.touched(path); open && !asked[path] {
			return Policy{}, fault.New(fault.Usage, "%s is to stay as it is, and has to be writable for %s", k, path)
		}
	}
	given := []string{"/tmp", "/var/tmp"}
	if r.Layer == "" {
		given = append(given, buildCaches(r.Home, env)...)
	} else {
		layer, err := realPaths(r.Layer)
		if err != nil {
			return Policy{}, err
		}
		p.Write = append(p.Write, layer...)
	}
	for _, path := range given {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			_, bad := guarded.touched(real)
			_, kept := keep.touched(real)
			if !bad && !kept {
				p.Write = append(p.Write, real)
			}
		}
	}
	p.Write = distinct(p.Write)
	return p, nil
}

// checkDir is CheckDir for a project that may be the run's own copy.
func (r Run) checkDir() error {
	if r.Own == "" {
		return CheckDir(r.Dir, r.Home, r.StateRoot, r.Opencode)
	}
	if own, root := dirOf(r.Own), dirOf(r.StateRoot); own == root || !within(own, root) || !within(dirOf(r.Dir), own) {
		return fmt.Errorf("%s is no copy of a repository in our records that holds %s", r.Own, r.Dir)
	}
	return nil
}

// keep are the real paths of Keep.
func (r Run) keep() guard {
	var g guard
	for _, path := range r.Keep {
		g = append(g, dirOf(path))
	}
	return g
}

func realPaths(paths ...string) ([]string, error) {
	var found []string
	for _, path := range paths {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return nil, fmt.Errorf("a directory for the build caches of a run: %w", err)
		}
		found = append(found, real)
	}
	return found, nil
}

// owns reports whether a real path lies in the run's own copy.
func (r Run) owns(real string) bool { return r.Own != "" && within(real, dirOf(r.Own)) }

// base is the part that is common to all runs.
func (r Run) base() (Policy, error) {
	for _, path := range []string{r.Home, r.Tmp, r.StateRoot, r.Opencode.Data, r.Opencode.Cache, r.Opencode.State, r.Opencode.Config} {
		if !filepath.IsAbs(path) {
			return Policy{}, fault.New(fault.Usage, "HOME and the directories for state have to be absolute paths, not %q", path)
		}
	}
	env := lookup(r.Environ)
	p := Policy{}
	config, err := filepath.EvalSymlinks(r.Opencode.Config)
	if err != nil {
		return Policy{}, fmt.Errorf("opencode's configuration directory: %w", err)
	}
	needed := []string{r.Opencode.Data, r.Opencode.Cache, r.Opencode.State, r.Tmp}
	if db := env("OPENCODE_DB"); filepath.IsAbs(db) {
		needed = append(needed, filepath.Dir(db)) // SQLite makes files beside it
	}
	for _, path := range needed {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return Policy{}, fmt.Errorf("a directory that opencode has to write: %w", err)
		}
		if within(config, real) || within(dirOf(r.Home), real) || within(dirOf(r.StateRoot), real) {
			return Policy{}, fault.New(fault.Usage, "%s has to be writable for opencode, and holds what no run may write", path).
				With("give XDG_DATA_HOME, XDG_CACHE_HOME, XDG_STATE_HOME, XDG_CONFIG_HOME and OPENCODE_DB places of their own")
		}
		p.Write = append(p.Write, real)
	}
	p.Write = distinct(p.Write)

	p.Hide = hidden(r.Home, env)
	p.Read = resolve(readable, r.Home, env)
	for _, path := range r.AllowRead {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return Policy{}, fault.New(fault.Usage, "--allow-read: %w", err)
		}
		p.Hide = slices.DeleteFunc(p.Hide, func(h string) bool { return within(h, real) })
		p.Read = append(p.Read, real)
	}
	if r.Dir != "" {
		p.Read = append(p.Read, dirOf(r.Dir)) // a project inside a hidden place was chosen by name; the rest of the place stays hidden
	}
	p.Hide = outermost(p.Hide)
	// A rule for anything but the inside of a hidden place would be idle at best, and open a place inside of it at worst.
	p.Read = slices.DeleteFunc(distinct(p.Read), func(path string) bool {
		return !slices.ContainsFunc(p.Hide, func(h string) bool { return within(path, h) })
	})
	return p, nil
}

// A guard lists what no run may write beyond its project: neither the place, nor a part of it, nor what holds it.
type guard []string

// guarded are places in which a change would act outside the run, later: programs and scripts that the user's shell or
// session starts, the keys that let someone in, opencode's plugins, our records.
func (r Run) guarded(env func(string) string) guard {
	g := guard{dirOf(r.Opencode.Config), dirOf(r.StateRoot)}
	for _, name := range []string{
		".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zshenv", ".zprofile",
		".zlogin", ".inputrc", ".xprofile", ".xinitrc", ".local/bin", "bin", ".ssh", ".gitconfig", ".config/git", ".config/fish",
		".config/autostart", ".config/systemd", ".config/environment.d", ".npmrc", "go/bin", ".cargo/bin", ".cargo/config.toml",
	} {
		g = append(g, dirOf(locate(name, r.Home, env)))
	}
	return g
}

// touched names a guarded place that a grant of dir would open.
func (g guard) touched(dir string) (string, bool) {
	for _, p := range g {
		if overlap(dir, p) {
			return p, true
		}
	}
	return "", false
}

// CheckDir refuses a project directory that a writing run cannot have, because Landlock cannot take anything out of a directory that it
// grants: one that contains HOME, our records or opencode's directories, and one inside our records or opencode's configuration.
func CheckDir(dir, home, stateRoot string, opencode OpencodeDirs) error {
	real := dirOf(dir)
	for _, c := range []struct {
		path, what string
		inside     bool
	}{
		{home, "your home directory", false}, {stateRoot, "the records of oc-delegate", true}, {opencode.Config, "opencode's configuration", true},
		{opencode.Data, "opencode's data", false}, {opencode.Cache, "opencode's cache", false}, {opencode.State, "opencode's state", false},
	} {
		if c.path == "" {
			continue
		}
		if place := dirOf(c.path); within(place, real) || c.inside && within(real, place) {
			return fault.New(fault.Usage, "--write in %s would let the worker change %s (%s)", dir, c.what, c.path).
				With("name the project itself with --dir, or leave out --write; --no-sandbox runs without this limit")
		}
	}
	return nil
}

// dirOf is the real path as far as it exists: what is missing at its end is kept as it is.
func dirOf(path string) string {
	path = filepath.Clean(path)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path
	}
	return filepath.Join(dirOf(parent), filepath.Base(path))
}

func distinct(paths []string) []string {
	slices.Sort(paths)
	return slices.Compact(paths)
}

// outermost drops each path that lies in another one.
func outermost(paths []string) []string {
	paths = distinct(paths)
	var kept []string
	for _, p := range paths {
		if !slices.ContainsFunc(kept, func(k string) bool { return within(p, k) }) {
			kept = append(kept, p)
		}
	}
	return kept
}
