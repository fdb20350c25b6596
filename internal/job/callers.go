package job

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"opencode-delegate/internal/atomicfile"
	"opencode-delegate/internal/call"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/proc"
	"opencode-delegate/internal/record"
)

// A caller is a process of Claude Code, and what it calls itself changes under it: /clear and /resume give it another session. Records
// keep the session that made them. A link says that two sessions are one caller; a session without one is a caller of its own.
//
// A link leads from the larger key to the smaller one. So no chain of links comes back to where it began, whoever wrote
// them and in whatever order, and chains stay short: keys are hashes.

// A link is a file of callers/ that is named by the key of its session.
type link struct {
	Session string `json:"session"`
	Of      string `json:"of"` // has the smaller key
}

// A presence is the file of callers/ that says as which session a process calls.
type presence struct {
	Session string `json:"session"`
	Boot    string `json:"boot,omitempty"` // pid and start of a process can come again after the machine was restarted
}

const (
	// callerFile bounds what is read of a file of callers/; a session has at most 128 bytes.
	callerFile = 4 << 10
	// callerFiles is how many of them are known of; gc keeps those of a month.
	callerFiles = 1 << 16
	// linkHops bounds a chain of links.
	linkHops = 64
	// linksAge is how long what was read of links is believed: a process that watches jobs for hours hears of new ones.
	linksAge = time.Second
)

// links is what a Store has read of callers/.
type links struct {
	mu    sync.Mutex
	read  time.Time
	files map[string]bool   // the keys that have a link; replaced and never changed, so that it can be read without the lock
	names map[string]string // what CallerOf came to, by caller
}

// forget makes the next look-up read the links again.
func (l *links) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.read = time.Time{}
}

// Link notes that a process calls as a session from now on. The session that it called as before and this one are one caller. A session
// that it calls as already changes nothing.
func (s *Store) Link(ctx context.Context, process proc.ID, session string) error {
	switch {
	case !call.IsSession(session):
		return fault.New(fault.Usage, "%.40q cannot be a session of Claude Code; a session is one line of at most 128 bytes", session)
	case process.PID < 1 || process.Start == 0:
		return fault.New(fault.Usage, "process %d cannot be told from others; a process is named by pid and start", process.PID)
	}
	if was, ok := s.present(process); ok && was == session {
		return nil
	}
	if err := makeDir(filepath.Join(s.root, callersDir)); err != nil {
		return err
	}
	unlock, err := s.locked(ctx, callersLock)
	if err != nil {
		return err
	}
	defer unlock()
	// The link comes first: a process that dies between the two has linked all that the next one does not know of.
	if was, ok := s.present(process); ok && was != session {
		if err := s.unite(was, session); err != nil {
			return err
		}
	}
	if err := s.writeCaller(presenceOf(process), presence{session, process.Boot}); err != nil {
		return err
	}
	s.sweepPresences(process)
	return nil
}

// present is the session that a process calls as.
func (s *Store) present(process proc.ID) (session string, ok bool) {
	var p presence
	ok = s.readCaller(presenceOf(process), &p) && p.Boot == process.Boot && call.IsSession(p.Session)
	return p.Session, ok
}

// unite makes two sessions one caller. callers.lock is held.
func (s *Store) unite(a, b string) error {
	s.links.forget()
	defer s.links.forget()
	a, b = s.CallerOf(a), s.CallerOf(b)
	if callerKey(a) < callerKey(b) {
		a, b = b, a
	}
	if callerKey(a) == callerKey(b) {
		return nil
	}
	return s.writeCaller(callerKey(a), link{a, b})
}

// CallerOf is the name of all callers that are linked with this one: two are one caller when it is equal. A name is not to be kept, since it
// changes when another one is linked. A caller without links, or whose links are damaged, has its own.
func (s *Store) CallerOf(caller string) string {
	s.links.mu.Lock()
	defer s.links.mu.Unlock()
	if time.Since(s.links.read) > linksAge {
		s.links.read, s.links.files, s.links.names = time.Now(), s.linkFiles(), map[string]string{}
	}
	if len(s.links.files) == 0 {
		return caller
	}
	name, ok := s.links.names[caller]
	if !ok {
		name = s.follow(caller, s.links.files)
		s.links.names[caller] = name
	}
	return name
}

// SameCaller reports whether two callers are one.
func (s *Store) SameCaller(a, b string) bool { return a == b || s.CallerOf(a) == s.CallerOf(b) }

// follow is where the links of a caller lead. A chain that does not end is none.
func (s *Store) follow(caller string, files map[string]bool) string {
	at := caller
	for range linkHops {
		key := callerKey(at)
		if !files[key] {
			return at
		}
		l, ok := s.readLink(key)
		if !ok {
			return at
		}
		at = l.Of
	}
	return caller
}

// readLink reads a link; false when it is none that Link can have written.
func (s *Store) readLink(key string) (l link, ok bool) {
	ok = s.readCaller(key, &l) && call.IsSession(l.Session) && call.IsSession(l.Of) && callerKey(l.Session) == key && callerKey(l.Of) < key
	return l, ok
}

// linkFiles are the keys that have a link.
func (s *Store) linkFiles() map[string]bool {
	files := map[string]bool{}
	for _, name := range s.namesIn(callersDir) {
		if isKey(name) {
			files[name] = true
		}
	}
	return files
}

// namesIn are the names of what is in a directory of the root; none when that is no directory of our own.
func (s *Store) namesIn(dir string) []string {
	dir = filepath.Join(s.root, dir)
	if fi, err := os.Lstat(dir); err != nil || !fi.IsDir() || !ownedByUs(fi) {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(callerFiles)
	return names
}

// noticesOf are the directories that hold the notices of a caller and of those that are linked with it, in the order in which their
// locks are taken.
func (s *Store) noticesOf(caller string) (dirs []string) {
	name := s.CallerOf(caller)
	s.links.mu.Lock()
	files := s.links.files
	s.links.mu.Unlock()
	keys := map[string]bool{callerKey(name): true}
	if len(files) > 0 {
		d, err := os.Open(filepath.Join(s.root, newsDir))
		if err == nil {
			defer d.Close()
			names, _ := d.Readdirnames(-1)
			for _, key := range names {
				if !files[key] {
					continue
				}
				if l, ok := s.readLink(key); ok && s.CallerOf(l.Session) == name {
					keys[key] = true
				}
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		dirs = append(dirs, filepath.Join(newsDir, key))
	}
	return dirs
}

// readCaller reads a file of callers/.
func (s *Store) readCaller(name string, v any) bool {
	data, err := record.Read(filepath.Join(s.root, callersDir, name), callerFile)
	return err == nil && json.Unmarshal(data, v) == nil
}

func (s *Store) writeCaller(name string, v any) error {
	data, err := json.Marshal(v)
	if err == nil {
		err = atomicfile.WriteFast(filepath.Join(s.root, callersDir, name), append(data, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("callers: %w", err)
	}
	return nil
}
