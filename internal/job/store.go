// Package job keeps the records of delegations: one directory a job, foreground and background alike.
//
// A job is alive exactly as long as its lease is held; state.json says what its supervisor last wrote. Writing goes
// evidence, result, state, so that whatever process dies at whatever moment, the next reader can decide what happened.
//
// Three kinds of lock say who may write:
//
//   - the lease of a job is held by its supervisor, who alone writes the record meanwhile;
//   - record.lock is held by whoever starts a background job until its supervisor has the lease, and by a reader that decides
//     about a job which nobody holds;
//   - create.lock, queue.lock and callers.lock of the state directory are held for the moment in which a job is found to be
//     without rival, in which a queued job takes its turn, and in which two callers are linked;
//   - landing.lock is held while the work of a job is brought into the user's files, or taken out of them; record.lock of the job too.
//
// Every lock ends with the process that holds it.
package job

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"opencode-delegate/internal/atomicfile"
	"opencode-delegate/internal/crashpoint"
	"opencode-delegate/internal/delegate"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/lock"
	"opencode-delegate/internal/record"
	"opencode-delegate/internal/redact"
)

// A Store is the state directory.
type Store struct {
	root  string
	set   *redact.Set
	links links
}

// The entries of the state directory.
const (
	jobsDir     = "jobs"               // a record each
	activeDir   = "active"             // an empty file for each job that may be alive, so that nobody has to read the others
	researchDir = delegate.ResearchDir // where runs work that have nothing to do with any files
	newsDir     = "news"               // by caller, an empty file for each background job whose end has not been told
	cachesDir   = "cache"
	trustDir    = delegate.TrustDir // package verify keeps which project files are trusted
	refsDir     = "refs"            // by id, the repository in which an isolated job has a ref
	// callersDir says which sessions are one caller.
	callersDir = "callers"
	// argumentsDir holds what a person has typed after a command of Claude Code, for moments; package plugin keeps it.
	argumentsDir = "arguments"
	ledgerDir    = "ledger" // what runs have spent; package ledger keeps it

	createLock  = "create.lock"
	queueLock   = "queue.lock"
	landingLock = "landing.lock"
	callersLock = callersDir + "/callers.lock"
)

// ownEntries are all that we ever make there, but for temporary files.
var ownEntries = []string{jobsDir, activeDir, newsDir, cachesDir, callersDir, argumentsDir, researchDir, ledgerDir, refsDir, trustDir, createLock, queueLock, landingLock}

// OpenStore opens the state directory at an absolute path and makes it when it is missing. An error is a
// fault.Usage that says what is wrong with the directory.
func OpenStore(root string, set *redact.Set) (*Store, error) {
	if err := makeRoot(root); err != nil {
		return nil, err
	}
	for _, name := range []string{jobsDir, activeDir} {
		if err := makeDir(filepath.Join(root, name)); err != nil {
			return nil, err
		}
	}
	return &Store{root: root, set: set}, nil
}

// TrustDir is where package verify keeps which project files are trusted.
func (s *Store) TrustDir() string { return filepath.Join(s.root, trustDir) }

// Root is the absolute path of the state directory.
func (s *Store) Root() string { return s.root }

// CacheDir is a directory for facts that can be found again; empty when it cannot be made.
func (s *Store) CacheDir() string {
	dir, err := cacheDir(s.root)
	if err != nil {
		return ""
	}
	return dir
}

// ResearchPath is where the directory is that [Store.ResearchDir] makes.
func ResearchPath(root string) string { return filepath.Join(root, researchDir) }

// ResearchDir is a directory without files, for runs that have nothing to do with any. It is a repository of its own: opencode takes the root of
// the repository for the project, and the state directory may lie in one of the user's.
func (s *Store) ResearchDir() (string, error) {
	path := ResearchPath(s.root)
	git := filepath.Join(path, ".git")
	for _, dir := range []string{path, git, filepath.Join(git, "objects"), filepath.Join(git, "refs")} {
		if err := makeDir(dir); err != nil {
			return "", err
		}
	}
	// With these three git takes it for a repository.
	head := filepath.Join(git, "HEAD")
	if err := atomicfile.WriteFast(head, []byte("ref: refs/heads/main\n"), 0o600); err != nil {
		return "", stateError(head, err)
	}
	return filepath.EvalSymlinks(path)
}

func (s *Store) dir(id string) string { return filepath.Join(s.root, jobsDir, id) }

// Record is the record of a job. The id must have passed CheckID.
func (s *Store) Record(id string) record.Dir { return record.Open(s.dir(id), s.set) }

func (s *Store) lease(id string) string { return s.Record(id).File(record.Lease) }

// lockTime bounds the wait for a lock that is held for moments only; its holder may have been stopped.
const lockTime = 3 * time.Second

// locked takes one of the locks of the state directory itself. Unlock is the function that comes back.
func (s *Store) locked(ctx context.Context, name string) (unlock func(), err error) {
	inTime, cancel := context.WithTimeout(ctx, lockTime)
	defer cancel()
	l, err := lock.Take(inTime, filepath.Join(s.root, name))
	if errors.Is(err, lock.ErrHeld) {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fault.New(fault.RunFailed, "%s is held by another process that does not go on", filepath.Join(s.root, name)).
			With("oc-job doctor tells which locks are held; end or resume that process")
	}
	if err != nil {
		return nil, stateError(s.root, err)
	}
	return l.Release, nil
}

// IDs lists the jobs, newest first. Names that are no ids are not jobs.
func (s *Store) IDs() ([]string, error) { return s.ids(jobsDir) }

func (s *Store) ids(dir string) ([]string, error) {
	d, err := os.Open(filepath.Join(s.root, dir))
	if err != nil {
		return nil, stateError(s.root, err)
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, stateError(s.root, err)
	}
	names = slices.DeleteFunc(names, func(n string) bool { return CheckID(n) != nil })
	slices.Sort(names)
	slices.Reverse(names)
	return names, nil
}

// activate notes that a job may be alive, before there is a job. What cannot be noted for want of room costs only that
// the job is not counted.
func (s *Store) activate(id string) error { return touch(filepath.Join(s.root, activeDir, id)) }

// deactivate notes that a job has ended, after its last state was written.
func (s *Store) deactivate(id string) {
	os.Remove(filepath.Join(s.root, activeDir, id))
	crashpoint.Here("inactive", id)
}

// touch makes an empty file.
func touch(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	crashpoint.Here("touched", path)
	return f.Close()
}
