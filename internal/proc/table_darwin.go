package proc

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// States of a process in <sys/proc.h>.
const (
	stateStopped = 4
	stateZombie  = 5
)

// readTable asks the kernel for all processes (sysctl kern.proc.all).
func readTable() ([]entry, error) {
	rows, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, fmt.Errorf("kern.proc.all: %w", err)
	}
	table := make([]entry, len(rows))
	for i := range rows {
		table[i] = row(&rows[i])
	}
	return table, nil
}

func row(k *unix.KinfoProc) entry {
	t := k.Proc.P_starttime
	return entry{
		identity: identity{int(k.Proc.P_pid), uint64(t.Sec)*1e6 + uint64(t.Usec)},
		ppid:     int(k.Eproc.Ppid), pgid: int(k.Eproc.Pgid),
		dead: k.Proc.P_stat == stateZombie, stopped: k.Proc.P_stat == stateStopped,
	}
}

// look reads one process's row.
func look(pid int) (entry, bool) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(k.Proc.P_pid) != pid {
		return entry{}, false
	}
	return row(k), true
}

func (id identity) lives() bool {
	e, ok := look(id.pid)
	return ok && e.identity == id && !e.dead
}

// signal has no descriptor to hold the process by: between the look and the signal its pid could be used again.
func (id identity) signal(sig syscall.Signal) error {
	if !id.lives() {
		return unix.ESRCH
	}
	return syscall.Kill(id.pid, sig)
}

// marked returns a test for one marker. The kernel shows the environment of the user's own processes only, and not
// that of system binaries under System Integrity Protection.
func marked(marker string) func(entry) bool {
	want := []byte("\x00" + MarkerEnv + "=" + marker)
	return func(e entry) bool {
		env := environ(e.pid)
		return bytes.Contains(env, append(want[:len(want):len(want)], 0)) || bytes.Contains(env, append(want[:len(want):len(want)], '.'))
	}
}

// markers returns a function that reads the marker of a process; empty where it has none.
func markers() func(entry) string {
	return func(e entry) string { return markerIn(environ(e.pid)) }
}

// environ returns what follows the arguments in kern.procargs2: a count, the path, padding, the arguments, the environment.
func environ(pid int) []byte {
	_, rest := procargs(pid)
	if len(rest) == 0 {
		return nil
	}
	return append(append([]byte{0}, rest...), 0)
}

func procargs(pid int) (args, env []byte) {
	b, err := unix.SysctlRaw("kern.procargs2", pid)
	if err != nil || len(b) < 4 {
		return nil, nil
	}
	n := binary.NativeEndian.Uint32(b)
	b = b[4:]
	path := bytes.IndexByte(b, 0)
	if path < 0 {
		return nil, nil
	}
	b = bytes.TrimLeft(b[path:], "\x00")
	rest := b
	for range n {
		i := bytes.IndexByte(rest, 0)
		if i < 0 {
			return b, nil
		}
		rest = rest[i+1:]
	}
	return b[:len(b)-len(rest)], rest
}

func nameOf(pid int) string {
	if args, _ := procargs(pid); len(args) > 0 {
		return printable(args[:min(len(args), nameLimit)])
	}
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return "[]"
	}
	comm := k.Proc.P_comm[:]
	var b []byte
	for _, c := range comm {
		if c == 0 {
			break
		}
		b = append(b, byte(c))
	}
	return "[" + printable(b) + "]"
}

// adoptedBy: there is no subreaper, orphans go to launchd.
func adoptedBy(int) func(entry) bool { return func(entry) bool { return false } }

// grouped starts the set of process groups with that of the child: an orphan is known by its group.
func grouped(child int) map[int]bool { return map[int]bool{child: true} }

func becomeSubreaper() error { return nil }

func nameGuardian() {}

func ownBinary() (string, error) { return os.Executable() }

// newPipe returns both ends, close-on-exec and blocking.
func newPipe() (r, w int, err error) {
	var fd [2]int
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := syscall.Pipe(fd[:]); err != nil {
		return 0, 0, err
	}
	syscall.CloseOnExec(fd[0])
	syscall.CloseOnExec(fd[1])
	return fd[0], fd[1], nil
}

// childAttributes: a group of its own, so that a group signal of the child spares the guardian.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// closeOnExecFrom keeps every descriptor from first on out of the programs that this process starts.
func closeOnExecFrom(first int) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	for fd := first; uint64(fd) < min(limit.Cur, 10240); fd++ {
		syscall.CloseOnExec(fd)
	}
	return nil
}

// maxRSS: the kernel counts in bytes.
func maxRSS(ru *syscall.Rusage) int64 { return ru.Maxrss }

// enlarge: the kernel sizes pipes by their use, up to 64 KiB.
func enlarge(*os.File) {}
