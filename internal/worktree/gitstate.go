package worktree

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"opencode-delegate/internal/atomicfile"
	"opencode-delegate/internal/repocode"
	"opencode-delegate/internal/tree"
)

// Bounds of what is kept of a repository, in bytes and in refs.
const (
	maxIndex     = 64 << 20
	maxStateFile = 16 << 20
	maxStateSum  = 64 << 20
	maxRefs      = 100_000
	maxGitState  = 256 << 20
)

// A gitState is what a run could do to the history in a repository, as it is at one moment: read by us from the files, without a git.
type gitState struct {
	Version int               `json:"version"`
	Top     string            `json:"top"` // this and the next two as tree.Quote gives them
	GitDir  string            `json:"git_dir"`
	Common  string            `json:"common_dir"`
	Unknown string            `json:"unknown,omitempty"` // why nothing of the following is known
	Head    string            `json:"head,omitempty"`    // the line in the file
	Refs    map[string]string `json:"refs,omitempty"`
	Index   string            `json:"index,omitempty"`  // what it means, as a sum; "-": there is none; empty: not known
	Hidden  []string          `json:"hidden,omitempty"` // at an end: what git has stopped to look at since, as tree.Quote gives it; the first of it
	Files   map[string][]byte `json:"files,omitempty"`  // of the git directory, or below common: what is under way, the stash's log
	Ignored []string          `json:"ignored,omitempty"`
	Loose   string            `json:"loose,omitempty"` // why objects are not kept
}

// The files of a store that hold what a repository was.
const (
	gitBeforeName = "git.json"
	gitEndName    = "git-end.json"
	gitIndexName  = "index"
	gitKeptName   = "objects"
)

// Of the git directory of a work tree: what is under way, and what a commit of it would need.
var stateFiles = []string{
	"MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "AUTO_MERGE", "CHERRY_PICK_HEAD", "REVERT_HEAD",
	"BISECT_LOG", "BISECT_START", "BISECT_NAMES", "BISECT_TERMS", "BISECT_EXPECTED_REV",
}

var (
	stateDirs   = []string{"rebase-merge", "rebase-apply", "sequencer"}
	commonFiles = []string{"shallow", "logs/refs/stash"} // of the common directory
)

// commonPrefix stands before the name of a file of the common directory in gitState.Files.
const commonPrefix = "common:"

// readGitState looks at the repository that dir lies in. It is nil when there is none. index is the file's content.
func readGitState(dir string) (g *gitState, index []byte) {
	gitDir, common, top, ok := repocode.Dirs(dir)
	if !ok || top == "" {
		return nil, nil
	}
	g = &gitState{Version: 1, Top: tree.Quote(top), GitDir: tree.Quote(gitDir), Common: tree.Quote(common)}
	return g, g.read()
}

// again looks at the same repository as it is now.
func (g *gitState) again() (now *gitState, index []byte) {
	now = &gitState{Version: 1, Top: g.Top, GitDir: g.GitDir, Common: g.Common}
	return now, now.read()
}

func unquoted(name string) string {
	s, _ := tree.Unquote(name)
	return s
}

// roots opens the git directory and the common one, if they still are what they were: no way to them is a link.
func (g *gitState) roots() (gitDir, common *os.Root, err error) {
	for _, dir := range []string{unquoted(g.GitDir), unquoted(g.Common)} {
		if real, err := filepath.EvalSymlinks(dir); err != nil || real != dir {
			return nil, nil, fmt.Errorf("%s is not the repository any more", tree.Quote(dir))
		}
	}
	if gitDir, err = os.OpenRoot(unquoted(g.GitDir)); err != nil {
		return nil, nil, err
	}
	if common, err = os.OpenRoot(unquoted(g.Common)); err != nil {
		gitDir.Close()
		return nil, nil, err
	}
	return gitDir, common, nil
}

// read fills the state. What cannot be read makes it unknown: half of it would be worth nothing.
func (g *gitState) read() []byte {
	index, err := g.tryRead()
	if err != nil {
		*g = gitState{Version: g.Version, Top: g.Top, GitDir: g.GitDir, Common: g.Common, Unknown: err.Error()}
		return nil
	}
	return index
}

func (g *gitState) tryRead() ([]byte, error) {
	gitDir, common, err := g.roots()
	if err != nil {
		return nil, err
	}
	defer gitDir.Close()
	defer common.Close()
	if fi, err := common.Lstat("reftable"); err == nil && fi.IsDir() {
		return nil, errors.New("its refs are in a reftable, which is not read")
	}
	head, err := readIn(gitDir, "HEAD", maxRef)
	if err != nil {
		return nil, fmt.Errorf("HEAD cannot be read: %w", err)
	}
	g.Head = strings.TrimSpace(string(head))
	if g.branch() == "" && !commitID().MatchString(g.Head) {
		return nil, errors.New("HEAD is not as git writes it")
	}
	if err := g.readRefs(common); err != nil {
		return nil, err
	}
	if err := g.readFiles(gitDir, common); err != nil {
		return nil, err
	}
	return g.readIndex(gitDir)
}

// branch is the ref that HEAD is at; empty when it is detached.
func (g *gitState) branch() string {
	name, ok := strings.CutPrefix(g.Head, "ref:")
	if name = strings.TrimSpace(name); ok && isRef(name) {
		return name
	}
	return ""
}

// commit is the one that HEAD is at; empty when there is none yet.
func (g *gitState) commit() string {
	if b := g.branch(); b != "" {
		return g.Refs[b]
	}
	return g.Head
}

func (g *gitState) readRefs(common *os.Root) error {
	r := &refs{root: common}
	if err := r.readPacked(); err != nil {
		return fmt.Errorf("packed-refs cannot be read: %w", err)
	}
	g.Refs = maps.Clone(r.packed)
	left := maxRefs
	r.loose("refs", &left, g.Refs)
	if left < 0 || len(g.Refs) > maxRefs {
		return fmt.Errorf("it has more than %d refs", maxRefs)
	}
	maps.DeleteFunc(g.Refs, func(name, _ string) bool { return strings.HasPrefix(name, ownRefs) })
	return nil
}

// ownRefs are those that keep the bases of copies alive; they come and go.
const ownRefs = "refs/opencode-delegate/"

func (g *gitState) readFiles(gitDir, common *os.Root) error {
	g.Files = map[string][]byte{}
	left := int64(maxStateSum)
	add := func(root *os.Root, key, name string) error {
		text, err := readIn(root, name, min(left, maxStateFile))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s cannot be read: %w", tree.Quote(name), err)
		}
		left -= int64(len(text))
		g.Files[key] = text
		return nil
	}
	names := stateFiles
	for _, dir := range stateDirs {
		for _, name := range namesIn(gitDir, dir, 1000) {
			if fi, err := gitDir.Lstat(dir + "/" + name); err == nil && fi.Mode().IsRegular() {
				names = append(names[:len(names):len(names)], dir+"/"+name)
			}
		}
	}
	for _, name := range names {
		if err := add(gitDir, name, name); err != nil {
			return err
		}
	}
	for _, name := range commonFiles {
		if err := add(common, commonPrefix+name, name); err != nil {
			return err
		}
	}
	return nil
}

func (g *gitState) readIndex(gitDir *os.Root) ([]byte, error) {
	data, err := readIn(gitDir, "index", maxIndex)
	if errors.Is(err, fs.ErrNotExist) {
		g.Index = "-"
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the index cannot be read: %w", err)
	}
	x, err := parseIndex(data, g.idSize())
	if err != nil {
		return nil, err
	}
	if x.split {
		return nil, nil // with half of it nothing can be put back
	}
	g.Index = hex.EncodeToString(x.mean[:])
	return data, nil
}

// idSize is the length of an object's name, in bytes.
func (g *gitState) idSize() int {
	if format, _ := configured(filepath.Join(unquoted(g.Common), "config"), "extensions.objectformat"); format == "sha256" {
		return 32
	}
	return 20
}

func readIn(root *os.Root, name string, limit int64) ([]byte, error) {
	f, err := regular(root, name, limit)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}

func writeGitState(name string, g *gitState) error {
	text, err := json.Marshal(g)
	if err != nil {
		return err
	}
	return atomicfile.WriteFast(name, text, 0o600)
}

// readGitStateFile reads what writeGitState wrote; nil when there is nothing.
func readGitStateFile(name string) (*gitState, error) {
	text, err := readRegular(name, maxGitState)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var g gitState
	if err == nil {
		err = json.Unmarshal(text, &g)
	}
	if err == nil && !g.possible() {
		err = errors.New("it is not as it was written")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &g, nil
}

// possible reports whether what a record says can be so: no name in it leads out of a git directory.
func (g *gitState) possible() bool {
	for _, dir := range []string{g.Top, g.GitDir, g.Common} {
		if !filepath.IsAbs(unquoted(dir)) {
			return false
		}
	}
	for name, id := range g.Refs {
		if !isRef(name) || !commitID().MatchString(id) {
			return false
		}
	}
	for name := range g.Files {
		if !filepath.IsLocal(filepath.FromSlash(strings.TrimPrefix(name, commonPrefix))) {
			return false
		}
	}
	return g.Version == 1 && (g.Unknown != "" || g.branch() != "" || commitID().MatchString(g.Head))
}
