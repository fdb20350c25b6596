package plugin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"opencode-delegate/internal/atomicfile"
	"opencode-delegate/internal/job"
	"opencode-delegate/internal/lock"
	"opencode-delegate/internal/proc"
	"opencode-delegate/internal/record"
)

const (
	// watchEvery is how often a watcher looks. It has to be gone two seconds after its Claude Code.
	watchEvery = time.Second
	// watchTime is how long one stays, so that none is left for ever whatever happens.
	watchTime = 12 * time.Hour
	// handover is how long one waits for another that is about to step aside.
	handover = 3 * watchEvery
	// settled is how old an end is that wakes: whoever waits for a job in the foreground hears of it at once, and then nobody is woken.
	settled = 1500 * time.Millisecond
	// watchMemory is a watcher's share of the machine.
	watchMemory = 16 << 20
)

// A watcher waits beside one process of Claude Code, while that is idle, for ends of jobs that its conductor does not know.
type watcher struct {
	*hook
	store   *job.Store
	process proc.ID
	parent  int
	name    string // path: what begins the names of its files
	turn    string // the turn after which it watches
}

// watch stays until there is something to wake Claude Code for: then it has said what on stderr, and woken is true. Where there is no
// person whom a wake would reach, where another one watches, and when Claude Code has gone, it ends without a word; and when a prompt begins a
// turn. Within a turn a wake reaches the model, but no prompt comes of it that would tell that it has (measured), so that it would be told twice.
//
// The end of a turn starts one, also of the turn that a wake has begun.
func (h *hook) watch() (woken bool, err error) {
	if h.Getenv("CLAUDE_CODE_ENTRYPOINT") != "cli" { // `claude -p` would wait for it before its first request, for ever (measured)
		return false, nil
	}
	store, err := h.newsStore()
	if store == nil {
		return false, err
	}
	w := &watcher{hook: h, store: store, parent: os.Getppid()}
	var known bool
	if w.process, known = h.claude(); !known {
		return false, nil
	}
	dir, err := store.CallersDir()
	if err != nil {
		return false, err
	}
	w.name = filepath.Join(dir, watchName(w.process))
	if w.turn = h.in.Turn; w.turn == "" { // of the beginning of a session nobody says after which turn it is
		w.turn = w.begun()
	}
	ctx, cancel := context.WithTimeout(h.ctx, handover)
	defer cancel()
	one, err := lock.Take(ctx, w.name+".lock")
	if errors.Is(err, lock.ErrHeld) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer one.Release()
	sweepWatches(dir, w.process)
	h.in.Prompt, h.in.ToolInput = "", nil
	debug.SetGCPercent(20)
	debug.SetMemoryLimit(watchMemory)
	debug.FreeOSMemory()
	return w.wait()
}

// watchName begins the names of the files of a watcher.
func watchName(process proc.ID) string { return fmt.Sprintf("w-%d-%d", process.PID, process.Start) }

func (w *watcher) wait() (bool, error) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for end := w.Now().Add(watchTime); w.Now().Before(end); {
		select {
		case <-w.ctx.Done():
			return false, nil
		case <-tick.C:
		}
		if !w.process.Lives() || os.Getppid() != w.parent || w.begun() != w.turn {
			return false, nil
		}
		woken, err := w.look()
		if woken || err != nil {
			return woken, err
		}
	}
	return false, nil
}

// look wakes when a job has ended of which nobody has told the conductor, and for which nobody was woken yet.
func (w *watcher) look() (bool, error) {
	session := w.in.Session
	if present, ok := w.store.Present(w.process); ok {
		session = present // after /clear
	}
	ended, err := w.store.Unheard(w.ctx, session)
	if err != nil || len(ended) == 0 {
		return false, nil // what is wrong with the state directory is told by whoever needs it
	}
	before, err := w.wokenFor()
	if err != nil {
		return false, err
	}
	var fresh []job.View
	keep := []string{}
	for _, v := range ended {
		old := slices.Contains(before, v.ID)
		if !old && (v.EndedAt == nil || w.Now().Sub(*v.EndedAt) >= settled) {
			fresh = append(fresh, v)
			old = true
		}
		if old {
			keep = append(keep, v.ID)
		}
	}
	if len(fresh) == 0 {
		return false, nil
	}
	// It is noted first: what cannot be noted would wake again and again.
	if err := atomicfile.WriteFast(w.name+".woken", []byte(strings.Join(keep, "\n")+"\n"), 0o600); err != nil {
		return false, err
	}
	text := w.neutral(notice(fresh[:min(len(fresh), named)], max(0, len(fresh)-named)), answerLimit)
	if _, err := fmt.Fprintln(w.Stderr, text); err != nil {
		return false, err
	}
	return true, nil
}

// begun is the turn that the last prompt has begun; empty before the first.
func (w *watcher) begun() string {
	data, err := record.Read(w.name+".turn", turnLimit)
	if err != nil {
		return ""
	}
	return string(data)
}

// turnLimit bounds the name of a turn, in bytes.
const turnLimit = 128

// begins notes that a prompt has begun a turn: whoever watches steps aside.
func (h *hook) begins(store *job.Store) error {
	process, ok := h.claude()
	if !ok {
		return nil
	}
	turn := h.in.Turn
	if turn == "" || len(turn) > turnLimit { // one that is like no other
		turn = h.Now().UTC().Format(time.RFC3339Nano)
	}
	dir, err := store.CallersDir()
	if err != nil {
		return err
	}
	return atomicfile.WriteFast(filepath.Join(dir, watchName(process)+".turn"), []byte(turn), 0o600)
}

// wokenLimit bounds the file of ids in bytes: some ten thousand.
const wokenLimit = 256 << 10

func (w *watcher) wokenFor() ([]string, error) {
	data, err := record.Read(w.name+".woken", wokenLimit)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return strings.Fields(string(data)), err
}

// sweepWatches removes what watchers of processes that have gone have left. It looks at some at a time: a hook has to be quick.
func sweepWatches(dir string, keep proc.ID) {
	d, err := os.Open(dir)
	if err != nil {
		return
	}
	defer d.Close()
	names, _ := d.Readdirnames(1 << 10)
	looked := 0
	for _, name := range names {
		p := proc.ID{Boot: proc.Boot()}
		stem, _, _ := strings.Cut(name, ".")
		if n, err := fmt.Sscanf(stem, "w-%d-%d", &p.PID, &p.Start); n != 2 || err != nil || watchName(p) != stem || p == keep {
			continue
		}
		if looked++; looked > 64 {
			return
		}
		if !p.Lives() {
			os.Remove(filepath.Join(dir, name))
		}
	}
}
