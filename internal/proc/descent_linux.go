package proc

import (
	"bytes"
	"os"
	"slices"
	"strconv"
)

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
