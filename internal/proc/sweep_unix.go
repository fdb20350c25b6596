//go:build linux || darwin

package proc

import (
	"bytes"
	"context"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Marked lists the living processes that carry a marker in their environment, without this process. It ends nothing. A
// process that cleared its environment is not found by it.
func Marked(marker string) []Survivor {
	if checkMarker(marker) != nil {
		return nil
	}
	table, _ := readTable()
	carries := marked(marker)
	var found []entry
	for _, e := range table {
		if !e.dead && e.pid != os.Getpid() && carries(e) {
			found = append(found, e)
		}
	}
	return survivors(found)
}

// Carriers lists the living processes that carry the marker of any run, without this process: one look at all processes, where
// [Marked] takes one for each marker. A process that cleared its environment is not found by it.
func Carriers() []Carrier {
	table, _ := readTable()
	markerOf := markers()
	var found []Carrier
	for _, e := range table {
		if e.dead || e.pid == os.Getpid() {
			continue
		}
		if m := markerOf(e); checkMarker(m) == nil {
			found = append(found, Carrier{survivors([]entry{e})[0], m})
		}
	}
	return found
}

// markerIn is the value of the first marker in an environment of NUL-terminated entries, without the part behind a dot.
func markerIn(env []byte) string {
	for entry := range bytes.SplitSeq(env, []byte{0}) {
		if value, ok := bytes.CutPrefix(entry, []byte(MarkerEnv+"=")); ok {
			whole, _, _ := bytes.Cut(value, []byte{'.'})
			return string(whole)
		}
	}
	return ""
}

// Sweep ends every process that carries the marker, and their descendants: TERM, after the grace KILL, until none is
// left; the end of ctx cuts the grace short. It returns all that it found living, and is meant for what a dead tool has
// left. This process is spared, and so are its descendants that do not carry the marker.
func Sweep(ctx context.Context, marker string, grace time.Duration) []Survivor {
	if checkMarker(marker) != nil {
		return nil
	}
	t := orphans(marker)
	own, _ := look(t.self)
	began := time.Now()
	asked := map[identity]bool{}
	sessions := map[int]bool{}
	var list []Survivor
	for empty, pause := 0, time.Millisecond; empty < 2; pause = min(2*pause, 20*time.Millisecond) {
		table, err := readTable()
		for _, e := range table {
			if e.dead && e.ppid == t.self && (asked[e.identity] || sessions[e.sid]) {
				// It came to us because this process is a subreaper.
				_, _ = syscall.Wait4(e.pid, nil, syscall.WNOHANG, nil)
			}
		}
		alive := living(t.members(table))
		if len(alive) == 0 && err == nil {
			empty++
			if len(list) == 0 {
				break // nothing was there: no race with what we end
			}
		} else {
			empty = 0
		}
		since := time.Since(began)
		if since > grace+persistence {
			break
		}
		for _, e := range alive {
			if !asked[e.identity] {
				asked[e.identity] = true
				sessions[e.sid] = e.sid != own.sid
				list = append(list, survivors([]entry{e})...)
				ask(e)
			}
			if since >= grace || ctx.Err() != nil {
				_ = e.signal(syscall.SIGKILL)
			}
		}
		time.Sleep(pause)
	}
	return list
}

func orphans(marker string) *tree {
	return &tree{self: os.Getpid(), marker: marker, carries: marked(marker)}
}

func signalName(sig syscall.Signal) string {
	if name := unix.SignalName(sig); name != "" {
		return name
	}
	return sig.String()
}
