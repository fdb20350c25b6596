package proc

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// hunt kills the children of parent that are of its kind as soon as it sees them, for the time d or until it has seen
// none for a while, and reports whether there were any. A process that starts its successor and ends lives for less than a walk
// of /proc; the list of one process's children is read in microseconds. Without it (CONFIG_PROC_CHILDREN) there is no hunt.
func hunt(parent int, d time.Duration, mine func(entry) bool) (any bool) {
	list, row := make([]byte, 8192), make([]byte, 1024)
	for end, idle := time.Now().Add(d), 0; idle < 10 && time.Now().Before(end); idle++ {
		for _, pid := range children(parent, list) {
			fd, err := unix.PidfdOpen(pid, 0)
			if err != nil {
				continue
			}
			// The descriptor is held: what is read now is of the same process, or it is dead.
			if e, ok := readEntry(strconv.Itoa(pid), row); ok && !e.dead && e.ppid == parent && mine(e) {
				_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
				any, idle = true, 0
			}
			unix.Close(fd)
		}
	}
	return any
}

// children lists, of all threads of a process, the direct children, the dead ones too; as many as fit into buf.
func children(pid int, buf []byte) []int {
	dir := "/proc/" + strconv.Itoa(pid) + "/task/"
	d, err := os.Open(dir)
	if err != nil {
		return nil
	}
	threads, _ := d.Readdirnames(-1)
	d.Close()
	var pids []int
	for _, tid := range threads {
		n, _ := readFile(dir+tid+"/children", buf)
		for _, f := range bytes.Fields(buf[:n]) {
			if p, err := strconv.Atoi(string(f)); err == nil {
				pids = append(pids, p)
			}
		}
	}
	return pids
}

// adoptedBy tells which children of self came by the death of a guardian. The guardian's session is not ours, and nobody can
// join another session; so a child of ours in our session was started by us. One that leads a session may be a daemon
// of the tree, or another guardian or supervisor, which run our own binary.
func adoptedBy(self int) func(entry) bool {
	own, ok := look(self)
	exe, err := os.Stat("/proc/self/exe")
	ours := []string{guardianName, "exe", commOf(self)}
	return func(e entry) bool {
		if !ok || err != nil || e.sid == own.sid {
			return false
		}
		if e.sid != e.pid {
			return true
		}
		if e.dead { // its binary is no longer told, only its name
			return !slices.Contains(ours, commOf(e.pid))
		}
		theirs, err := os.Stat("/proc/" + strconv.Itoa(e.pid) + "/exe")
		return err == nil && !os.SameFile(exe, theirs)
	}
}

func commOf(pid int) string {
	buf := make([]byte, 64)
	n, _ := readFile("/proc/"+strconv.Itoa(pid)+"/comm", buf)
	return string(bytes.TrimRight(buf[:n], "\n"))
}

// grouped is nil: with a subreaper descent is certain.
func grouped(int) map[int]bool { return nil }
