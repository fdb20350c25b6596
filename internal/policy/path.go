package policy

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"opencode-delegate/internal/permission"
)

// longestPath is what a kernel takes at most.
const longestPath = 4096

// A tree is what paths have to lie in: real paths.
type tree struct {
	cwd   string
	roots []string // the project first
}

func newTree(c Call, p Policy) (*tree, error) {
	t := &tree{}
	why := refuse("there is no project here in which paths could lie")
	if real, ok := root(c.Project); ok && holds(real, c.Home) {
		why = refuse("the project holds the home directory, with all settings and credentials; start in a project, or name it in allow_dirs of policy.json")
	} else if ok {
		t.roots = append(t.roots, real)
	} else {
		return nil, why
	}
	for _, dir := range p.AllowDirs {
		if real, ok := root(dir); ok {
			t.roots = append(t.roots, real)
		}
	}
	if len(t.roots) == 0 {
		return nil, why
	}
	var err error
	if t.cwd, err = filepath.EvalSymlinks(c.Cwd); err != nil {
		return nil, refuse("the current directory is not known")
	}
	return t, nil
}

// root is the real path of a directory in which paths may lie, which the root of a file system is not.
func root(dir string) (real string, ok bool) {
	real, err := filepath.EvalSymlinks(dir)
	return real, err == nil && filepath.IsAbs(dir) && filepath.Dir(real) != real
}

// holds reports whether the home directory lies in a directory, or is it.
func holds(dir, home string) bool {
	real, err := filepath.EvalSymlinks(home)
	if err != nil || home == "" {
		return false
	}
	_, in := (&tree{roots: []string{dir}}).below(real)
	return in
}

// real is a path of the caller's without symbolic links, found in the same way as the commands find it. Of one that does not
// exist yet the directory has to.
func (t *tree) real(path string) (string, error) {
	if len(path) > longestPath {
		return "", refuse("longer than %d bytes", longestPath)
	}
	if runtime.GOOS == "windows" && converted(path) {
		return "", refuse("the shell would make another path of it; write it as C:/…, or relative")
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(t.cwd, path)
	}
	path = filepath.Clean(path)
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		return real, nil
	}
	if _, lerr := os.Lstat(path); !errors.Is(lerr, fs.ErrNotExist) {
		return "", refuse("a link that leads nowhere, or a place that cannot be read")
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return "", refuse("its directory is not there")
	}
	return filepath.Join(dir, filepath.Base(path)), nil
}

// converted reports a path that the shell of Git for Windows hands to a program in another form: /c/x as C:/x, lists as lists.
func converted(path string) bool {
	if len(path) > 2 && path[1] == ':' && (path[2] == '/' || path[2] == '\\') {
		path = path[3:]
	}
	return strings.HasPrefix(path, "/") || strings.HasPrefix(path, "\\") || strings.Contains(path, ":")
}

// below is where in the tree a real path lies, relative to its root.
func (t *tree) below(real string) (rel string, ok bool) {
	for _, root := range t.roots {
		rel, err := filepath.Rel(root, real)
		if err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) && !filepath.IsAbs(rel) {
			return rel, true
		}
	}
	return "", false
}

// inside finds where in the project a path lies.
func (j *judgement) inside(what, path string) (rel, real string, err error) {
	if j.paths++; j.paths > pathLimit {
		return "", "", refuse("more than %d paths; name a directory in the task instead", pathLimit)
	}
	if j.tree == nil {
		if j.tree, err = newTree(j.call, j.policy); err != nil {
			return "", "", err
		}
	}
	if path == "" {
		return "", "", refuse("%s: empty", what)
	}
	if real, err = j.tree.real(path); err != nil {
		return "", "", refuse("%s %.80q: %v", what, path, err)
	}
	rel, ok := j.tree.below(real)
	if !ok {
		return "", "", refuse("%s %.80q does not lie in the project", what, path)
	}
	return rel, real, nil
}

// runIn is for the directory of a run. In a git directory nobody would look after its hooks and its configuration: the
// repository that a run looks after is that of its work tree.
func (j *judgement) runIn(what, path string) error {
	rel, real, err := j.inside(what, path)
	if err != nil {
		return err
	}
	if fi, err := os.Stat(real); err != nil || !fi.IsDir() {
		return refuse("%s %.80q is not a directory", what, path)
	}
	if has(rel, ".git") {
		return refuse("%s %.80q is a git directory; name one of the work tree", what, path)
	}
	return nil
}

// has reports whether one of the names stands in a path of the tree. Some file systems do not tell .git from .GIT.
func has(rel string, names ...string) bool {
	for _, part := range strings.Split(filepath.ToSlash(rel), "/") {
		if slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(part, name) }) {
			return true
		}
	}
	return false
}

// mayRead is for a file that is handed to the worker. The worker itself may not read .env files.
func (j *judgement) mayRead(what, path string) error {
	_, real, err := j.inside(what, path)
	if err != nil {
		return err
	}
	if permission.Secret(filepath.Base(real)) {
		return refuse("%s %.80q: a file of that name holds secrets", what, path)
	}
	return nil
}

// mayReadWord is for a word that is a path if something of that name is there.
func (j *judgement) mayReadWord(word string) error {
	at := word
	if !filepath.IsAbs(at) {
		at = filepath.Join(j.call.Cwd, at)
	}
	if _, err := os.Lstat(at); err != nil || strings.TrimSpace(word) == "" || word == "-" {
		return nil
	}
	return j.mayRead("the path", word)
}

// steering are names below which a file makes programs run, or decides what an agent may do.
var steering = []string{".git", ".claude", ".claude-plugin", ".mcp.json", ".opencode", "opencode.json", "opencode.jsonc", ".vscode", ".idea", ".husky", ".envrc"}

// mayWrite is for a path that a call writes itself, or opens to the worker, which looks after the repository of its own run only.
func (j *judgement) mayWrite(what, path string) error {
	rel, _, err := j.inside(what, path)
	if err != nil {
		return err
	}
	rel = filepath.ToSlash(rel)
	if rest, ok := strings.CutPrefix(rel, ".claude/worktrees/"); ok {
		rel = rest // where the host keeps its work trees
	}
	if has(rel, steering...) {
		return refuse("%s %.80q: what lies there steers programs; name another place", what, path)
	}
	return nil
}
