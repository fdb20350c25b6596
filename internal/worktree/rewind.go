package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"opencode-delegate/internal/crashpoint"
	"opencode-delegate/internal/fault"
)

// A rewind puts HEAD, refs, index and what was under way back.
type rewind struct {
	s        *Snapshot
	was, now *gitState
	refs     []string // sorted
	head     bool
	index    bool
	files    []string // keys of gitState.Files, sorted
}

// planRewind lists what the run changed and what stands in the way because it was changed again since. A reason says why nothing can be done.
func (s *Snapshot) planRewind(force bool) (r *rewind, conflicts []string, err error) {
	was, end, err := s.gitStates()
	if err != nil || was == nil {
		return nil, nil, err
	}
	now := s.gitNow(was)
	if force && end == nil {
		end = now
	}
	for _, g := range []*gitState{was, end, now} {
		if g == nil || g.Unknown != "" {
			return nil, nil, fault.New(fault.Conflict, "the history cannot be put back: %s", reasonOf(g))
		}
	}
	r = &rewind{s: s, was: was, now: now}
	differ := func(name, was, end, now string) bool {
		if was == end || was == now {
			return false
		}
		if end != now {
			conflicts = append(conflicts, name)
		}
		return true
	}
	for _, name := range keysOf(was.Refs, end.Refs) {
		if strings.HasPrefix(name, "refs/remotes/") && end.Refs[name] != "" {
			continue // what a remote repository has does not go back
		}
		if differ(name, was.Refs[name], end.Refs[name], now.Refs[name]) {
			r.refs = append(r.refs, name)
		}
	}
	r.head = differ("HEAD", was.Head, end.Head, now.Head)
	r.index = was.Index != "" && differ("the index", was.Index, end.Index, now.Index)
	for _, name := range keysOf(was.Files, end.Files) {
		if name != commonPrefix+"shallow" && differ(strings.TrimPrefix(name, commonPrefix), string(was.Files[name]), string(end.Files[name]), string(now.Files[name])) {
			r.files = append(r.files, name)
		}
	}
	return r, conflicts, nil
}

// keysOf are the keys of both, sorted.
func keysOf[V any](a, b map[string]V) []string {
	all := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(all)
	return slices.Compact(all)
}

// changed names what is put back.
func (r *rewind) changed() []string {
	if r == nil {
		return nil
	}
	all := slices.Clone(r.refs)
	if r.head {
		all = append(all, "HEAD")
	}
	if r.index {
		all = append(all, "the index")
	}
	for _, name := range r.files {
		all = append(all, strings.TrimPrefix(name, commonPrefix))
	}
	slices.Sort(all)
	return all
}

// ready makes sure that the old commits are there: those that are gone come back first.
func (r *rewind) ready(ctx context.Context, o HistoryOptions) error {
	if r == nil {
		return nil
	}
	var tips []string
	for _, name := range append(r.refs[:len(r.refs):len(r.refs)], r.was.branch()) {
		if id := r.was.Refs[name]; id != "" {
			tips = append(tips, id)
		}
	}
	if r.head && r.was.commit() != "" {
		tips = append(tips, r.was.commit())
	}
	if slices.Contains(r.refs, stashRef) {
		tips = append(tips, r.was.stashes()...)
	}
	if len(tips) == 0 {
		return nil
	}
	slices.Sort(tips)
	need, known := strings.Join(slices.Compact(tips), "\n")+"\n", ""
	for _, id := range r.now.Refs {
		known += "^" + id + "\n"
	}
	if r.complete(ctx, o, need+known) == nil {
		return nil
	}
	gitDir, common, err := r.was.roots()
	if err != nil {
		return err
	}
	defer gitDir.Close()
	defer common.Close()
	if err := bringBack(ctx, common, r.s.store); err != nil {
		return err
	}
	if r.complete(ctx, o, need+known) == nil {
		return nil
	}
	if err := r.complete(ctx, o, need); err != nil {
		return fault.New(fault.Conflict, "the old commits are lost, so that the history cannot be put back: %w", err)
	}
	return nil
}

// complete asks a git that knows the repository's objects only whether all that these commits need is there.
func (r *rewind) complete(ctx context.Context, o HistoryOptions, tips string) error {
	git, err := r.s.pastGit(r.was, o)
	if err != nil {
		return err
	}
	defer git.close()
	git.env = append(git.env, "GIT_ALTERNATE_OBJECT_DIRECTORIES=")
	return git.run(ctx, strings.NewReader(tips), nil, "rev-list", "--objects", "--quiet", "--stdin")
}

// apply puts everything back. It can be repeated.
func (r *rewind) apply(ctx context.Context) error {
	if r == nil {
		return nil
	}
	gitDir, common, err := r.was.roots()
	if err != nil {
		return err
	}
	defer gitDir.Close()
	defer common.Close()
	if err := r.putRefs(ctx, common); err != nil {
		return err
	}
	if r.head {
		if err := lockedPut(gitDir, "HEAD", []byte(r.was.Head+"\n"), 0o644); err != nil {
			return err
		}
	}
	logHead(gitDir, r.now.commit(), r.was.commit())
	if r.index {
		if err := r.putIndex(gitDir); err != nil {
			return err
		}
	}
	for _, key := range r.files {
		root, name := gitDir, key
		if n, ok := strings.CutPrefix(key, commonPrefix); ok {
			root, name = common, n
		}
		if err := putFile(root, name, r.was.Files[key], r.was.has([]string{key})); err != nil {
			return err
		}
		crashpoint.Here("put back", "a file of the repository")
	}
	return nil
}

// putRefs has git do it, for its locks and logs: a git directory of ours, with configuration of ours, of which refs and logs lead to
// the repository's. Nothing in these is a link. What goes is gone before what comes: one name may lie below the other.
func (r *rewind) putRefs(ctx context.Context, common *os.Root) error {
	if len(r.refs) == 0 {
		return nil
	}
	if link := linkIn(common, "refs") + linkIn(common, "packed-refs") + linkIn(common, "logs"); link != "" {
		return fault.New(fault.Conflict, "%s in the repository is a link; nothing is written through it", link)
	}
	// The run may have removed all logs, and git makes no directory behind a link that leads nowhere.
	if err := common.Mkdir("logs", 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	scratch, err := os.MkdirTemp("", "oc-delegate-git-*")
	if err != nil {
		return fault.New(fault.Usage, "no temporary directory: %w", err).With("set TMPDIR to a directory that you can write")
	}
	defer os.RemoveAll(scratch)
	format := ""
	if r.was.idSize() == 32 {
		format = "sha256"
	}
	if err := emptyRepository(scratch, format); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(scratch, "refs")); err != nil {
		return err
	}
	dir := unquoted(r.was.Common)
	for _, name := range []string{"refs", "packed-refs", "logs"} {
		if err := os.Symlink(filepath.Join(dir, name), filepath.Join(scratch, name)); err != nil {
			return err
		}
	}
	env := append(ownEnv(scratch), "GIT_OBJECT_DIRECTORY="+filepath.Join(dir, "objects"), "GIT_COMMITTER_NAME=oc-delegate", "GIT_COMMITTER_EMAIL=oc-delegate@localhost")
	var gone, come strings.Builder
	for _, name := range r.refs {
		switch was, now := r.was.Refs[name], r.now.Refs[name]; {
		case was == "":
			fmt.Fprintf(&gone, "delete %s\x00%s\x00", name, now)
		case now == "":
			fmt.Fprintf(&come, "create %s\x00%s\x00", name, was)
		default:
			fmt.Fprintf(&come, "update %s\x00%s\x00%s\x00", name, was, now)
		}
	}
	for _, in := range []string{gone.String(), come.String()} {
		if in == "" {
			continue
		}
		// A git that is killed would leave its locks in the user's repository, so this one is awaited.
		err := runGit(context.WithoutCancel(ctx), scratch, env, strings.NewReader(in), nil,
			"-c", "core.bare=true", "-c", "core.logAllRefUpdates=true", "-c", "core.filesRefLockTimeout=10000", "-c", "core.packedRefsTimeout=10000", "update-ref", "-m", undoMessage, "--no-deref", "--stdin", "-z")
		if err != nil {
			return fmt.Errorf("the refs: %w", err)
		}
		crashpoint.Here("put back", "refs")
	}
	return nil
}

// undoMessage stands in the logs of refs.
const undoMessage = "oc-job undo"

// logHead adds to the log of HEAD, where there is one.
func logHead(gitDir *os.Root, now, was string) {
	fi, err := gitDir.Lstat("logs/HEAD")
	if err != nil || !fi.Mode().IsRegular() || now == was || now == "" || was == "" {
		return
	}
	f, err := gitDir.OpenFile("logs/HEAD", os.O_WRONLY|os.O_APPEND|openNoBlock, 0)
	if err != nil {
		return
	}
	defer f.Close()
	fmt.Fprintf(f, "%s %s oc-delegate <oc-delegate@localhost> %d +0000\t%s\n", now, was, time.Now().Unix(), undoMessage)
}

func (r *rewind) putIndex(gitDir *os.Root) error {
	if r.was.Index == "-" {
		return putFile(gitDir, "index", nil, false)
	}
	data, err := readRegular(filepath.Join(r.s.store, gitIndexName), maxIndex)
	if err != nil {
		return err
	}
	return lockedPut(gitDir, "index", data, 0o644)
}
