package worktree

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"opencode-delegate/internal/plain"
)

// A Kind is what a run did to the history of a repository, or to work that was in no commit.
type Kind string

// These take something away that the user had. Restore with History gives it back.
const (
	Reset     Kind = "reset"     // a branch, or a HEAD without one, is at an older commit than before
	Rewritten Kind = "rewritten" // its old commit is no part of it any more; a tag or another ref leads elsewhere
	Deleted   Kind = "deleted"   // a branch, a tag or another ref is gone
	Stashed   Kind = "stashed"   // uncommitted work was put away
	Unstashed Kind = "unstashed" // a stash that was there is gone
	Discarded Kind = "discarded" // uncommitted changes of tracked files are gone: these are as they were committed
	Cleaned   Kind = "cleaned"   // all untracked files are gone, and there were several
	Hidden    Kind = "hidden"    // git was told to overlook what becomes of tracked files
	Broken    Kind = "broken"    // the repository is gone, or cannot be read any more
)

// These are only noted.
const (
	Committed  Kind = "committed"  // new commits on top
	Created    Kind = "created"    // a branch, a tag or another ref
	Switched   Kind = "switched"   // HEAD is at another branch
	Removed    Kind = "removed"    // some untracked files are gone
	Mirrored   Kind = "mirrored"   // what is known of a remote repository is another
	Unfinished Kind = "unfinished" // a merge, rebase or the like was begun, gone on with or ended
	Unknown    Kind = "unknown"    // what was done cannot be told, and why
)

// Violation reports whether this is nothing that a run may do unasked.
func (k Kind) Violation() bool {
	return slices.Contains([]Kind{Reset, Rewritten, Deleted, Stashed, Unstashed, Discarded, Cleaned, Hidden, Broken}, k)
}

// A Rewrite is one thing that a run did to the history.
type Rewrite struct {
	Kind Kind   `json:"kind"`
	Ref  string `json:"ref,omitempty"` // its full name; HEAD where there is no branch
	// What is one sentence for a person. What comes from the repository in it is made printable.
	What  string   `json:"what"`
	Paths []string `json:"paths,omitempty"` // files without their history: at most PathsTold, as tree.Quote gives them
}

// PathsTold is how many files a Rewrite names; one with so many may be about more.
const PathsTold = 100

// HistoryOptions say what History needs beside the snapshot.
type HistoryOptions struct {
	Environ []string
	// Cage is closed around each git: it reads objects that a worker may have written.
	Cage Cage
}

// maxTold bounds the refs that are told of one by one.
const maxTold = 50

// History names what the run did to the history of the repository that the directory lies in, the worst first. It comes after End and looks at nothing that has
// happened since, but that files are read again. Nothing of the run may be alive. No git reads its configuration; refs and index are read by us. Not looked at are repositories inside
// of the directory, submodules included.
func (s *Snapshot) History(ctx context.Context, o HistoryOptions) ([]Rewrite, error) {
	before, end, err := s.gitStates()
	if err != nil {
		return nil, fmt.Errorf("the history of %s: %w", s.list.dir, err)
	}
	t := &teller{ctx: ctx, s: s, before: before, end: end}
	switch {
	case before == nil && end == nil:
		return nil, nil
	case before == nil:
		t.tell(Created, "", "a repository was made")
		return t.told, nil
	case before.Unknown != "":
		t.tell(Unknown, "", "what was done to the history is not known: %s", before.Unknown)
		return t.told, nil
	case end == nil || end.Unknown != "":
		t.tell(Broken, "", "the repository cannot be read any more: %s", reasonOf(end))
		return t.told, nil
	}
	if t.git, err = s.pastGit(before, o); err != nil {
		return nil, fmt.Errorf("the history of %s: %w", s.list.dir, err)
	}
	defer t.git.close()
	t.refs()
	t.head()
	t.stash()
	t.underWay()
	t.hidden()
	if err := t.uncommitted(); err != nil {
		return nil, fmt.Errorf("the history of %s: %w", s.list.dir, err)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	slices.SortStableFunc(t.told, func(a, b Rewrite) int {
		switch {
		case a.Kind.Violation() == b.Kind.Violation():
			return 0
		case a.Kind.Violation():
			return -1
		}
		return 1
	})
	return t.told, nil
}

func reasonOf(g *gitState) string {
	if g == nil {
		return "it is gone"
	}
	return g.Unknown
}

// gitStates are those before the run and at its end; at its end is now, where End was not called.
func (s *Snapshot) gitStates() (before, end *gitState, err error) {
	if before, err = readGitStateFile(filepath.Join(s.store, gitBeforeName)); err != nil {
		return nil, nil, err
	}
	if end, err = readGitStateFile(filepath.Join(s.store, gitEndName)); err != nil {
		return nil, nil, err
	}
	if _, serr := os.Lstat(filepath.Join(s.store, endName)); end == nil && serr != nil {
		end = s.gitNow(before)
	}
	return before, end, nil
}

// gitNow is the repository as it is.
func (s *Snapshot) gitNow(before *gitState) *gitState {
	if before == nil {
		now, _ := readGitState(s.list.dir)
		return now
	}
	now, index := before.again()
	was, err := readRegular(filepath.Join(s.store, gitIndexName), maxIndex)
	if err == nil && index != nil {
		now.Hidden = newlyHidden(was, index, before.idSize())
	}
	return now
}

// pastGit is a git of ours that knows the objects of the repository, and those that were kept.
func (s *Snapshot) pastGit(g *gitState, o HistoryOptions) (*git, error) {
	git, err := newGitWithIndex(o.Environ, unquoted(g.Top), unquoted(g.GitDir), unquoted(g.Common), filepath.Join(s.store, gitIndexName))
	if err != nil {
		return nil, err
	}
	git.top, git.cage = git.scratch, o.Cage // the work tree may be gone; nothing of it is needed
	kept := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(filepath.Join(s.store, gitKeptName))
	git.env = append(git.env, `GIT_ALTERNATE_OBJECT_DIRECTORIES="`+kept+`"`)
	if text, ok := g.Files[commonPrefix+"shallow"]; ok {
		if err := os.WriteFile(filepath.Join(git.scratch, "shallow"), text, 0o600); err != nil {
			git.close()
			return nil, err
		}
	}
	return git, nil
}

// A teller finds out what was done.
type teller struct {
	ctx         context.Context
	s           *Snapshot
	before, end *gitState
	git         *git
	told        []Rewrite
}

func (t *teller) tell(k Kind, ref, format string, args ...any) {
	t.told = append(t.told, Rewrite{Kind: k, Ref: ref, What: plain.Line(fmt.Sprintf(format, args...), 300)})
}

// refs compares them one by one, the first ones exactly.
func (t *teller) refs() {
	var changed []string
	for name := range maps.Keys(t.before.Refs) {
		if t.end.Refs[name] != t.before.Refs[name] {
			changed = append(changed, name)
		}
	}
	for name := range maps.Keys(t.end.Refs) {
		if _, known := t.before.Refs[name]; !known {
			changed = append(changed, name)
		}
	}
	slices.Sort(changed)
	mirrored, more := 0, 0
	for _, name := range changed {
		was, is := t.before.Refs[name], t.end.Refs[name]
		switch {
		case name == "refs/stash":
		case strings.HasPrefix(name, "refs/remotes/") && is != "":
			mirrored++
		case len(t.told) >= maxTold:
			more++
		case was == "" && strings.HasPrefix(name, "refs/replace/"):
			t.tell(Rewritten, name, "a replacement of the object %s was made, so that git shows another history", short(filepath.Base(name)))
		case was == "":
			t.tell(Created, name, "%s was made", called(name))
		case is == "":
			t.tell(Deleted, name, "%s was deleted%s", called(name), t.lost(was))
		default:
			t.moved(name, called(name), was, is)
		}
	}
	if mirrored > 0 {
		t.tell(Mirrored, "", "%d remote-tracking branches were brought up to date", mirrored)
	}
	if more > 0 {
		t.tell(Rewritten, "", "%d more refs were made, changed or deleted", more)
	}
}

// called is what a person calls a ref.
func called(name string) string {
	for prefix, kind := range map[string]string{"refs/heads/": "branch ", "refs/tags/": "tag ", "refs/remotes/": "remote-tracking branch "} {
		if n, ok := strings.CutPrefix(name, prefix); ok {
			return kind + n
		}
	}
	return name
}

func short(id string) string { return id[:min(len(id), 10)] }

// moved tells of a ref, or of HEAD, that leads to another commit.
func (t *teller) moved(ref, name, was, is string) {
	old, young, err := t.between(was, is)
	if strings.HasPrefix(ref, "refs/tags/") && err == nil {
		t.tell(Rewritten, ref, "%s leads to %s, no longer to %s", name, short(is), short(was))
		return
	}
	switch {
	case err != nil:
		t.tell(Rewritten, ref, "%s leads to %s, which git cannot compare with %s", name, short(is), short(was))
	case old == 0:
		t.tell(Committed, ref, "%s made on %s", commits(young, "was", "were"), name)
	case young == 0:
		t.tell(Reset, ref, "%s was moved back by %s, from %s to %s%s", name, commits(old, "", ""), short(was), short(is), t.lost(was))
	default:
		t.tell(Rewritten, ref, "%s was rewritten: %s replaced by %d%s", name, commits(old, "was", "were"), young, t.lost(was))
	}
}

func commits(n int, one, many string) string {
	if n == 1 {
		return strings.TrimSpace("1 commit " + one)
	}
	return strings.TrimSpace(fmt.Sprintf("%d commits %s", n, many))
}

// between counts the commits that only one of two has.
func (t *teller) between(was, is string) (old, young int, err error) {
	text, err := t.ask("", "rev-list", "--left-right", "--count", was+"..."+is)
	if err != nil {
		return 0, 0, err
	}
	left, right, _ := strings.Cut(strings.TrimSpace(text), "\t")
	if old, err = strconv.Atoi(left); err == nil {
		young, err = strconv.Atoi(right)
	}
	return old, young, err
}

// lost says how many commits of an old one nothing leads to any more.
func (t *teller) lost(was string) string {
	var in strings.Builder
	fmt.Fprintln(&in, was)
	for _, id := range t.end.Refs {
		fmt.Fprintf(&in, "^%s\n", id)
	}
	if is := t.end.commit(); is != "" {
		fmt.Fprintf(&in, "^%s\n", is)
	}
	text, err := t.ask(in.String(), "rev-list", "--ignore-missing", "--count", "--stdin")
	n, nerr := strconv.Atoi(strings.TrimSpace(text))
	switch {
	case err != nil || nerr != nil:
		return "; whether its commits can still be reached is not known"
	case n == 0:
		return "; its commits are still reachable"
	}
	return "; nothing leads to " + commits(n, "", "") + " any more"
}

func (t *teller) ask(in string, args ...string) (string, error) {
	var text []byte
	err := t.git.run(t.ctx, strings.NewReader(in), func(out io.Reader) (err error) {
		text, err = io.ReadAll(io.LimitReader(out, 4<<10))
		return err
	}, args...)
	return string(text), err
}

func (t *teller) head() {
	was, is := t.before.branch(), t.end.branch()
	old, young := t.before.commit(), t.end.commit()
	lost := ""
	if was == "" && is != "" {
		lost = t.lost(old)
	}
	switch {
	case was != is:
		t.tell(Switched, "HEAD", "HEAD is at %s, no longer at %s%s", at(is, young), at(was, old), lost)
	case was == "" && old != young:
		t.moved("HEAD", "the HEAD without a branch", old, young)
	}
}

func at(branch, commit string) string {
	if branch != "" {
		return called(branch)
	}
	return "the commit " + short(commit)
}
