package job

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"opencode-delegate/internal/atomicfile"
	"opencode-delegate/internal/crashpoint"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/record"
	"opencode-delegate/internal/worktree"
)

// An isolated job has a ref in the user's repository, which keeps the base of its copies alive. A note in refs/ says in which one: it is made before the record and
// goes after the ref, so that a ref whose record has gone is found, whatever died, and those of another state directory are left alone.

// A Ref is a ref that nobody needs any more: its record has gone.
type Ref struct{ ID, Repo string }

// noteLimit bounds what is read of a note: it is a path.
const noteLimit = 16 << 10

func (s *Store) note(id string) string { return filepath.Join(s.root, refsDir, id) }

// noteRef says where a job is going to have a ref.
func (s *Store) noteRef(st State) error {
	if err := makeDir(filepath.Join(s.root, refsDir)); err != nil {
		return err
	}
	return atomicfile.WriteFast(s.note(st.ID), []byte(st.Repo+"\n"), 0o600)
}

// refAt is the repository that a note names; empty when there is none.
func (s *Store) refAt(id string) string {
	data, err := record.Read(s.note(id), noteLimit)
	if repo := strings.TrimSuffix(string(data), "\n"); err == nil && filepath.IsAbs(repo) {
		return repo
	}
	return ""
}

// releaseRef removes the ref of a job, and the note about it. A repository that has gone has none.
func (s *Store) releaseRef(ctx context.Context, id string) error {
	if !exists(s.note(id)) {
		return nil
	}
	if repo := s.refAt(id); repo != "" {
		if _, err := worktree.ReleaseID(ctx, repo, id); err != nil {
			return fault.New(fault.RunFailed, "refs/opencode-delegate/%s in %s cannot be removed: %w", id, repo, err).
				With(fmt.Sprintf("by hand: git -C %s update-ref -d refs/opencode-delegate/%s", repo, id))
		}
	}
	crashpoint.Here("released", id)
	err := os.Remove(s.note(id))
	crashpoint.Here("removed", s.note(id))
	return err
}

// orphanRefs lists the refs of records that have gone.
func (s *Store) orphanRefs(now time.Time) (refs []Ref) {
	entries, _ := os.ReadDir(filepath.Join(s.root, refsDir))
	for _, e := range entries {
		fi, err := e.Info()
		if err == nil && CheckID(e.Name()) == nil && fi.Mode().IsRegular() && now.Sub(fi.ModTime()) > entryAge && !exists(s.dir(e.Name())) {
			refs = append(refs, Ref{e.Name(), s.refAt(e.Name())})
		}
	}
	return refs
}

// ReleaseRefs removes refs of records that have gone, and returns how many it could remove.
func (s *Store) ReleaseRefs(ctx context.Context, refs []Ref) (n int) {
	for _, r := range refs {
		if s.releaseRef(ctx, r.ID) == nil {
			n++
		}
	}
	return n
}
