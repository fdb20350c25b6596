package main

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// processes are the living ones of the place.
func (p *place) processes() []process {
	names, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	all := map[int]process{}
	var order []int
	for _, n := range names {
		if pid, err := strconv.Atoi(n.Name()); err == nil && pid != os.Getpid() {
			if q, ok := p.look(pid); ok {
				all[pid] = q
				order = append(order, pid)
			}
		}
	}
	parents := map[int]bool{}
	for _, q := range all {
		parents[q.ppid] = true
	}
	var found []process
	for _, pid := range order {
		q := all[pid]
		if q.ppid <= 1 && !q.ours {
			continue
		}
		ours := q.ours
		q.busy = parents[pid]
		// What cleared its environment is known by who began it; a guardian has no environment that tells of a task.
		for up, depth := all[q.ppid], 0; up.pid > 1 && depth < 10 && (!ours || q.task == 0); up, depth = all[up.ppid], depth+1 {
			ours = ours || up.ours
			if q.task == 0 && up.ours {
				q.task = up.task
			}
		}
		if ours {
			found = append(found, q)
		}
	}
	return found
}

func (p *place) look(pid int) (process, bool) {
	dir := "/proc/" + strconv.Itoa(pid) + "/"
	stat, err := os.ReadFile(dir + "stat")
	if err != nil {
		return process{}, false
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return process{}, false
	}
	q := process{pid: pid, start: fields[19], stopped: fields[0] == "T"}
	q.ppid, _ = strconv.Atoi(fields[1])
	q.program, _ = os.Readlink(dir + "exe")
	words, _ := os.ReadFile(dir + "cmdline")
	q.words = strings.Split(strings.TrimSuffix(string(words), "\x00"), "\x00")
	env, _ := os.ReadFile(dir + "environ")
	q.ours = strings.HasPrefix(q.program, p.root+"/") || strings.Contains(string(words), p.root+"/")
	for entry := range strings.SplitSeq(string(env), "\x00") {
		name, value, _ := strings.Cut(entry, "=")
		switch {
		case entry == p.marker():
			q.ours = true
		case name == "OC_DELEGATE_RUN":
			q.marker = value
		case name == taskEnv:
			q.task, _ = strconv.Atoi(value)
		}
	}
	return q, true
}

// signal reaches this process or none.
func (q process) signal(name string) error {
	fd, err := unix.PidfdOpen(q.pid, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(q.pid) + "/stat")
	if err != nil {
		return err
	}
	if fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:])); len(fields) < 20 || fields[19] != q.start {
		return unix.ESRCH
	}
	return unix.PidfdSendSignal(fd, unix.SignalNum("SIG"+name), nil, 0)
}
