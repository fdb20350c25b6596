package proc

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// environLimit bounds what is read of one process's environment. The kernel allows arguments and environment together
// a quarter of the stack limit, 2 MiB by default.
const environLimit = 4 << 20

// readTable reads /proc. It is no snapshot: what forks and ends meanwhile may be missing.
func readTable() ([]entry, error) {
	d, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	names, err := d.Readdirnames(-1)
	d.Close()
	if err != nil && len(names) == 0 {
		return nil, err
	}
	table := make([]entry, 0, len(names))
	buf := make([]byte, 1024)
	for _, name := range names {
		if name[0] < '1' || name[0] > '9' {
			continue
		}
		if e, ok := readEntry(name, buf); ok {
			table = append(table, e)
		}
	}
	return table, nil
}

func readEntry(pid string, buf []byte) (entry, bool) {
	n, err := readFile("/proc/"+pid+"/stat", buf)
	if err != nil {
		return entry{}, false
	}
	return parseStat(buf[:n])
}

// readFile reads at most len(buf) bytes. os.ReadFile takes twice the system calls, and a census reads hundreds.
func readFile(path string, buf []byte) (int, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	total := 0
	for total < len(buf) {
		n, err := unix.Read(fd, buf[total:])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return total, err
		}
		if n == 0 {
			break
		}
		total += n
	}
	return total, nil
}

// parseStat reads a line of /proc/pid/stat (proc_pid_stat(5)). The command name, field 2, may hold anything, blanks and
// parentheses too; the last ')' ends it.
func parseStat(b []byte) (entry, bool) {
	open, end := bytes.IndexByte(b, ' '), bytes.LastIndexByte(b, ')')
	if open < 0 || end < open {
		return entry{}, false
	}
	f := bytes.Fields(b[end+1:]) // f[0] is field 3
	if len(f) < 20 || len(f[0]) != 1 {
		return entry{}, false
	}
	var e entry
	var errs [6]error
	e.pid, errs[0] = strconv.Atoi(string(b[:open]))
	e.ppid, errs[1] = strconv.Atoi(string(f[1]))
	e.pgid, errs[2] = strconv.Atoi(string(f[2]))
	e.sid, errs[3] = strconv.Atoi(string(f[3]))
	threads, err := strconv.Atoi(string(f[17]))
	errs[4] = err
	e.start, errs[5] = strconv.ParseUint(string(f[19]), 10, 64)
	if errors.Join(errs[:]...) != nil {
		return entry{}, false
	}
	switch f[0][0] {
	case 'Z', 'X', 'x':
		// A leader that has left its threads behind is shown as a zombie while the process runs on.
		e.dead = threads <= 1
	case 'T', 't':
		e.stopped = true
	case 'D':
		e.stuck = true
	}
	return e, true
}

// look reads one process's row.
func look(pid int) (entry, bool) {
	return readEntry(strconv.Itoa(pid), make([]byte, 1024))
}

// lives reports whether the process is there and no zombie.
func (id identity) lives() bool {
	e, ok := look(id.pid)
	return ok && e.identity == id && !e.dead
}

// signal reaches this process or none: the descriptor is bound to it before its start time is compared.
func (id identity) signal(sig syscall.Signal) error {
	fd, err := unix.PidfdOpen(id.pid, 0)
	if err == unix.ESRCH {
		return err
	}
	if err == nil {
		defer unix.Close(fd)
	}
	if !id.lives() {
		return unix.ESRCH
	}
	if err == nil {
		err = unix.PidfdSendSignal(fd, sig, nil, 0)
	}
	switch err {
	case nil, unix.ESRCH, unix.EPERM:
		return err
	}
	// No descriptor to be had: a kernel before 5.3, a filter, or too many open files.
	return syscall.Kill(id.pid, sig)
}

// marked returns a test for one marker. Environments of other users cannot be read and do not carry it.
func marked(marker string) func(entry) bool {
	want := []byte(MarkerEnv + "=" + marker)
	buf := make([]byte, 32<<10)
	return func(e entry) bool {
		var env []byte
		env, buf = environ(e.pid, buf)
		return hasEntry(env, want)
	}
}

// environ reads a process's environment, NUL-terminated entries, into a buffer that it makes larger where it has to.
func environ(pid int, buf []byte) (env, larger []byte) {
	path := "/proc/" + strconv.Itoa(pid) + "/environ"
	n, err := readFile(path, buf)
	for err == nil && n == len(buf) && n < environLimit {
		buf = make([]byte, 2*len(buf))
		n, err = readFile(path, buf)
	}
	return buf[:n], buf
}

// markers returns a function that reads the marker of a process; empty where it has none.
func markers() func(entry) string {
	buf := make([]byte, 32<<10)
	return func(e entry) string {
		var env []byte
		env, buf = environ(e.pid, buf)
		return markerIn(env)
	}
}

// hasEntry finds a whole NUL-terminated entry, or one that goes on with a dot: see [Command.Marker].
func hasEntry(env, want []byte) bool {
	for at := 0; ; {
		i := bytes.Index(env[at:], want)
		if i < 0 {
			return false
		}
		first, end := at+i, at+i+len(want)
		if (first == 0 || env[first-1] == 0) && (end == len(env) || env[end] == 0 || env[end] == '.') {
			return true
		}
		at = first + 1
	}
}

// nameOf is what a person would see in ps.
func nameOf(pid int) string {
	dir := "/proc/" + strconv.Itoa(pid)
	buf := make([]byte, nameLimit)
	if n, _ := readFile(dir+"/cmdline", buf); n > 0 {
		return printable(buf[:n])
	}
	return "[" + printable([]byte(commOf(pid))) + "]"
}
