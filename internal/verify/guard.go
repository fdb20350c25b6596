package verify

import (
	"path"
	"slices"
	"strings"

	"opencode-delegate/internal/lazyregexp"
	"opencode-delegate/internal/tree"
)

// A Base is the work tree as it was before the worker.
type Base struct {
	// Paths are the files, relative to the top, with slashes.
	Paths []string
	// Read gives the content of one; of a large one the first [ReadLimit] bytes are enough.
	Read func(path string) ([]byte, error)
}

// ReadLimit is how much of one file is looked at; lock files are long.
const ReadLimit = 4 << 20

// A Guard knows what the checks of one run are made of, and so what a worker could change to make them say what it likes.
type Guard struct {
	base      map[string]bool // files
	dirs      map[string]bool // that hold files
	read      func(path string) ([]byte, error)
	protected Globs
	named     map[string]bool // files that the commands name
	included  map[string]bool // paths that a script or a makefile takes in, whether there is anything or not
	at        string          // where the commands run
	config    Globs           // configuration of the programs that they run
	steering  Globs
}

// NewGuard finds out what protects the checks: the globs of protect, or testFiles (table.go) where there are none, the
// files of the base that the commands name, and the configuration of the programs that they run. at is the directory in which
// the commands run, relative to the top of the base: "." or "sub/dir". A bad glob is a USAGE fault.
//
// Reading commands is no science: one that computes the name of a script at run time names nothing.
func NewGuard(protect []string, base Base, at string, commands []string) (*Guard, error) {
	g := &Guard{base: map[string]bool{}, dirs: map[string]bool{}, read: base.Read, named: map[string]bool{}, included: map[string]bool{}, at: path.Clean(at)}
	var err error
	if len(protect) > 0 {
		if g.protected, err = ParseGlobs("--protect", protect); err != nil {
			return nil, err
		}
	} else if g.protected, err = ParseGlobs("test files", testFiles); err != nil {
		return nil, err
	}
	for _, p := range base.Paths {
		g.base[p] = true
		for dir := path.Dir(p); !g.dirs[dir]; dir = path.Dir(dir) {
			g.dirs[dir] = true
		}
	}
	s := &search{guard: g, runners: map[string]bool{}}
	s.commands(g.at, commands)
	if g.config, err = ParseGlobs("configuration of runners", s.config()); err != nil {
		return nil, err
	}
	g.steering, err = ParseGlobs("files that steer", steering)
	return g, err
}

// Tests are the files of the base that say what is right: those that are protected, and those that the commands name, sorted.
func (g *Guard) Tests() []string {
	tests := map[string]bool{}
	for name := range g.base {
		if g.named[name] || g.protected.Match(name) {
			tests[name] = true
		}
	}
	return sorted(tests)
}

// A Reset is what a guard run changes in a tree that has the worker's changes: first all of Remove goes, files and links as well as
// directories, then Restore is put back as it was at the base, content and mode.
type Reset struct {
	Restore, Remove []string
	// Touched are the files for which it is made, as the result names them.
	Touched []string
}

// Needed reports whether there has to be a guard run.
func (r Reset) Needed() bool { return len(r.Touched) > 0 }

// Reset says what a guard run puts back. after gives the content of a file as the worker left it. Changes that touch nothing of what the
// checks are made of need no guard run; new tests are no such change, but where there is a guard run they are not in it, so that it is
// the base's own tests that run.
func (g *Guard) Reset(changes []tree.Change, after func(path string) ([]byte, error)) Reset {
	restore, remove, touched := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, c := range changes {
		switch old := oldName(c); {
		case c.Kind == tree.Added || old == "":
			if g.steers(c.Path, after) {
				remove[c.Path], touched[c.Path] = true, true
			}
		case g.holds(old, c, after):
			restore[old], touched[old] = true, true
			if c.Kind == tree.Renamed {
				remove[c.Path] = true
			}
		case c.Kind == tree.Renamed && g.steers(c.Path, after):
			remove[c.Path], restore[old], touched[c.Path] = true, true, true
		}
	}
	if len(touched) == 0 {
		return Reset{}
	}
	above := map[string]bool{}
	for name := range restore {
		for dir := path.Dir(name); dir != "." && dir != "/"; dir = path.Dir(dir) {
			above[dir] = true
		}
	}
	for _, c := range changes {
		if c.Kind == tree.Deleted || restore[c.Path] {
			continue
		}
		added := c.Kind == tree.Added && (g.protected.Match(c.Path) || g.configures(c.Path) && !isLock(path.Base(c.Path)))
		if added || blocks(c.Path, restore, above) {
			remove[c.Path] = true
		}
	}
	return Reset{Restore: sorted(restore), Remove: sorted(remove), Touched: sorted(touched)}
}

// blocks reports whether something at a path keeps one of the files from its place: a link where a directory was, or what is in a directory
// where the file was. above are the directories of the files.
func blocks(name string, restore, above map[string]bool) bool {
	if above[name] {
		return true
	}
	for dir := path.Dir(name); dir != "." && dir != "/"; dir = path.Dir(dir) {
		if restore[dir] {
			return true
		}
	}
	return false
}

// oldName is the path at the base of what a change is about; empty when there was nothing.
func oldName(c tree.Change) string {
	if c.From != "" {
		return c.From
	}
	if c.Kind == tree.Added {
		return ""
	}
	return c.Path
}

// holds reports whether a file of the base belongs to the checks and was changed in a way that concerns them.
func (g *Guard) holds(old string, c tree.Change, after func(string) ([]byte, error)) bool {
	if g.protected.Match(old) || g.named[old] && !isLock(path.Base(old)) || inDependencies(old) {
		return true
	}
	if !g.config.Match(old) && !g.named[old] {
		return false
	}
	if same := mixedFile(old); same != nil && c.Kind == tree.Modified {
		before, err := g.read(old)
		now, err2 := after(c.Path)
		return err != nil || err2 != nil || !same(before, now)
	}
	return true
}

// steers reports whether a file that is new decides about how the checks of the base run.
func (g *Guard) steers(name string, after func(string) ([]byte, error)) bool {
	switch {
	case inDependencies(name), g.steering.Match(name), g.included[name], g.shadows(name):
		return true
	case g.configures(name):
		if !isLock(path.Base(name)) {
			return true
		}
		text, err := after(name)
		return err != nil || !sameSources(nil, text)
	case path.Ext(name) == ".pyc":
		return path.Base(path.Dir(name)) != "__pycache__" // which python reads only where it is not told of another place: sandbox.Run.LayerEnv
	case !g.dirs[path.Dir(name)]:
		return false
	}
	for _, s := range steers {
		var test bool
		switch s.suffix {
		case path.Base(name):
			test = g.holdsTests(path.Dir(name))
		case "_test.go":
			test = true
		default:
			test = g.protected.Match(name)
		}
		if test && strings.HasSuffix(name, s.suffix) {
			text, err := after(name)
			return err != nil || len(text) > ReadLimit || s.text().Match(text)
		}
	}
	return false
}

// shadows reports whether python would take a file for a module that its test runner needs: it looks first where it was called, or in the directory
// of a test.
func (g *Guard) shadows(name string) bool {
	dir, base := path.Split(name)
	module, ok := strings.CutSuffix(base, ".py")
	if base == "__init__.py" {
		dir, module = path.Split(path.Clean(dir))
	} else if !ok {
		return false
	}
	dir = path.Clean(dir)
	return slices.Contains(pythonRunner, module) && (dir == g.at || g.holdsTests(dir))
}

// holdsTests reports whether a file of python that is protected lies in a directory at the base.
func (g *Guard) holdsTests(dir string) bool {
	for name := range g.base {
		if path.Ext(name) == ".py" && path.Dir(name) == dir && g.protected.Match(name) {
			return true
		}
	}
	return false
}

// configures reports whether a file that is new tells a runner what to do with what was there before: what lies in a directory that is new
// has no say about the rest.
func (g *Guard) configures(name string) bool {
	part := g.config.part(name)
	return part != "" && g.dirs[path.Dir(part)]
}

// steers are what in a new file of tests acts on those that were there: it ends the runner with success, or bends what they stand on. A suffix that is the
// whole name of a file means one beside tests.
var steers = []struct {
	suffix string
	text   lazyregexp.Regexp
}{
	{"_test.go", lazyregexp.New(`func\s+TestMain\s*\(|func\s+init\s*\(|\.\s*(Exit|RawSyscall6?)\b`)},
	{"__init__.py", lazyregexp.New(`\S`)},
	{".py", lazyregexp.New(`\b_exit\b|\bload_tests\b|\bpytest\s*\.\s*exit\b|\b(unittest|pytest)(\s*\.\s*\w+)+\s*=[^=]|\bsetattr\s*\(\s*(unittest|pytest)\b`)},
	{".js", nodeExits}, {".ts", nodeExits}, {".mjs", nodeExits}, {".cjs", nodeExits}, {".jsx", nodeExits}, {".tsx", nodeExits},
}

var nodeExits = lazyregexp.New(`\bprocess\s*\.\s*(exit|reallyExit)\s*\(\s*0?\s*\)|\bprocess\s*\.\s*(abort|kill)\b`)

// inDependencies reports whether a path lies in a directory of installed libraries that is a part of the repository.
func inDependencies(name string) bool {
	return slices.ContainsFunc(strings.Split(path.Dir(name), "/"), func(dir string) bool { return slices.Contains(dependencyDirs, dir) })
}

func sorted(set map[string]bool) []string {
	var list []string
	for name := range set {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}
