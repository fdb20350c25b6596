package proc

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
)

// fdLimit bounds the descriptors of one process that are looked at.
const fdLimit = 4096

// Holders lists the processes of this user that have a lock on a file, this process among them. A kernel does not say whose an
// open-file-description lock is (proc_locks(5) has -1 there); the descriptors of each process do (proc_pid_fdinfo(5)).
func Holders(path string) []Survivor {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil
	}
	table, _ := readTable()
	var found []Survivor
	for _, e := range table {
		if !e.dead && locks(e.pid, real) {
			found = append(found, survivors([]entry{e})...)
		}
	}
	return found
}

// locks reports whether a process has a lock on a file by one of its descriptors.
func locks(pid int, path string) bool {
	dir := "/proc/" + strconv.Itoa(pid)
	d, err := os.Open(dir + "/fd")
	if err != nil {
		return false // another user's
	}
	names, _ := d.Readdirnames(fdLimit)
	d.Close()
	buf := make([]byte, 4<<10)
	for _, name := range names {
		if to, err := os.Readlink(dir + "/fd/" + name); err != nil || to != path {
			continue
		}
		n, err := readFile(dir+"/fdinfo/"+name, buf)
		if err == nil && bytes.Contains(buf[:n], []byte("\nlock:")) {
			return true
		}
	}
	return false
}
