package worktree

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/repocode"
	"opencode-delegate/internal/tree"
)

// maxRepositories bounds the repositories below a directory of which git is asked what they ignore.
const maxRepositories = 64

// ignored is the coverage before a run.
type ignored struct {
	dir     string
	environ []string
	cage    Cage
	asked   int
	paths   map[string]bool // what git ignores; of a directory that it ignores as a whole only the directory itself
	byName  map[string]bool // directories below which git could not be asked: names alone decide
}

func newIgnored(dir string, environ []string) *ignored {
	return &ignored{dir: dir, environ: environ, paths: map[string]bool{}, byName: map[string]bool{}}
}

// enter asks git about the repository that a directory belongs to, or holds.
func (g *ignored) enter(ctx context.Context, at string, git bool) error {
	if !git && at != "" {
		return nil
	}
	dir := filepath.Join(g.dir, filepath.FromSlash(at))
	gitDir, common, top, ok := repocode.Dirs(dir)
	if at == "" && (!ok || top == "") {
		g.byName[""] = true
		return nil
	}
	if !ok || at != "" && top != dir {
		return nil // a .git that git does not take for one
	}
	if g.asked++; g.asked > maxRepositories {
		g.byName[at] = true
		return nil
	}
	err := g.ask(ctx, at, dir, gitDir, common, top)
	if ctx.Err() != nil || at == "" {
		return err
	}
	g.byName[at] = err != nil // a damaged repository inside of another is no reason to keep nothing
	return nil
}

func (g *ignored) ask(ctx context.Context, at, dir, gitDir, common, top string) error {
	git, err := newGit(g.environ, top, gitDir, common)
	if err != nil {
		return err
	}
	defer git.close()
	git.cage = g.cage
	rel, err := filepath.Rel(top, dir)
	if err != nil {
		return err
	}
	return g.list(ctx, git, at, rel)
}

// list takes what a repository ignores. at is where it counts in our directory, rel where that place lies in the repository.
func (g *ignored) list(ctx context.Context, git *git, at, rel string) error {
	ctx, stop := context.WithCancelCause(ctx)
	looked := make(chan struct{})
	go func() {
		defer close(looked)
		if err := noPipes(ctx, git.top); err != nil {
			stop(err)
		}
	}()
	defer func() {
		stop(nil)
		<-looked
	}()
	args := []string{"ls-files", "-z", "--others", "--ignored", "--directory", "--exclude-per-directory=.gitignore"}
	for _, file := range git.ignoreFiles() {
		args = append(args, "--exclude-from="+file)
	}
	return git.run(ctx, nil, func(out io.Reader) error {
		return each(out, 0, func(name string) error {
			g.note(at, rel, strings.TrimRight(name, "/"))
			return nil
		})
	}, args...)
}

// noPipes refuses a .gitignore that is no file: git would wait for the other end of a pipe. It looks while git works: where git comes to its end, there was none in its
// way.
func noPipes(ctx context.Context, top string) error {
	return filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return nil // whoever needs it says so
		case d.IsDir() && isDotGit(d.Name()):
			return fs.SkipDir
		case d.Name() == ".gitignore" && d.Type()&^fs.ModeDir&^fs.ModeSymlink != 0:
			return fault.New(fault.Usage, "%s is neither a file nor a link; git cannot read it, remove it", tree.Quote(name))
		}
		return nil
	})
}

// note takes one name, which is relative to the top of its repository. rel is where our directory, or the nested repository, lies in it.
func (g *ignored) note(at, rel, name string) {
	rel = filepath.ToSlash(rel)
	switch {
	case rel == ".":
		g.paths[path.Join(at, name)] = true
	case name == rel || strings.HasPrefix(rel, name+"/"):
		g.paths[""] = true // our directory itself is ignored
	default:
		if below, ok := strings.CutPrefix(name, rel+"/"); ok {
			g.paths[path.Join(at, below)] = true
		}
	}
}

func (g *ignored) hole(p string, dir bool, size, maxIgnored int64) string {
	ignored, dependency := g.says(p, dir)
	if dependency && !ignored {
		ignored = g.named(p)
	}
	switch {
	case ignored && dependency:
		return "dependencies, which git ignores"
	case ignored && !dir && size > maxIgnored:
		return "git ignores it, and it is too large"
	}
	return ""
}

// says reports whether git ignores a path, and, where git does or could not be asked, whether it is or lies in a directory of dependencies.
func (g *ignored) says(p string, dir bool) (ignored, dependency bool) {
	ignored = g.paths[""]
	for up := p; up != "."; up = path.Dir(up) {
		ignored = ignored || g.paths[up]
	}
	if !ignored && !g.named(p) {
		return false, false
	}
	for up := p; up != "." && !dependency; up = path.Dir(up) {
		dependency = (up != p || dir) && isDependency(g.dir, up)
	}
	return ignored, dependency
}

// named reports whether git could not be asked about a path.
func (g *ignored) named(p string) bool {
	for up := path.Dir(p); ; up = path.Dir(up) {
		if up == "." {
			return g.byName[""]
		}
		if named, ok := g.byName[up]; ok {
			return named
		}
	}
}

// ignoreFiles are the files with patterns that lie outside of the work tree.
func (g *git) ignoreFiles() []string {
	return regularFiles(g.everywhere("core.excludesfile", "ignore"), filepath.Join(g.common, "info", "exclude"))
}

// everywhere is the file that the user has for all repositories: by a key of the configuration, else of a name where git looks for it. It need not exist.
func (g *git) everywhere(key, name string) string {
	home, config := g.lookup("HOME"), g.lookup("XDG_CONFIG_HOME")
	if config == "" && home != "" {
		config = filepath.Join(home, ".config")
	}
	file := ""
	if config != "" {
		file = filepath.Join(config, "git", name)
	}
	c := g.configuration()
	for _, source := range append(repocode.UserConfig(home, g.lookup), filepath.Join(g.common, "config")) {
		if set, ok := c.value(source, key); ok {
			file = set
		}
	}
	if rest, ok := strings.CutPrefix(file, "~/"); ok {
		file = filepath.Join(home, rest)
	}
	return file
}

// regularFiles are those of the candidates that are there and are files.
func regularFiles(candidates ...string) (files []string) {
	for _, f := range candidates {
		if fi, err := os.Stat(f); err == nil && fi.Mode().IsRegular() && filepath.IsAbs(f) {
			files = append(files, f)
		}
	}
	return files
}

// readRegular reads a file that is one, and no more of it than limit bytes.
func readRegular(name string, limit int64) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|openNoBlock, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !fi.Mode().IsRegular() || fi.Size() > limit {
		return nil, os.ErrInvalid
	}
	return io.ReadAll(io.LimitReader(f, limit))
}
