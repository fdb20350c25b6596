package main

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A watcher samples the memory of processes while they live; the kernel forgets it with them.
type watcher struct {
	quit chan struct{}
	done chan int64
}

// watchMemory watches the descendants of pid, itself included, that run the executable own: of a delegation these are the tool
// and its guardian, but not opencode.
func watchMemory(pid int, own string) watcher {
	w := watcher{quit: make(chan struct{}), done: make(chan int64, 1)}
	if own == "" {
		w.done <- 0
		return w
	}
	go func() {
		var most int64
		for {
			var sum int64
			for _, p := range family(pid) {
				if exe, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(p), "exe")); err == nil && exe == own {
					sum += share(p)
				}
			}
			most = max(most, sum)
			select {
			case <-w.quit:
				w.done <- most
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	}()
	return w
}

// stop returns the largest sum that was seen, in bytes.
func (w watcher) stop() int64 {
	close(w.quit)
	return <-w.done
}

// family is a process and its descendants, as far as the kernel still knows them.
func family(pid int) []int {
	all := []int{pid}
	for i := 0; i < len(all); i++ {
		tasks, _ := filepath.Glob(filepath.Join("/proc", strconv.Itoa(all[i]), "task", "*", "children")) // none: it has gone
		for _, t := range tasks {
			text, _ := os.ReadFile(t)
			for _, word := range strings.Fields(string(text)) {
				if child, err := strconv.Atoi(word); err == nil {
					all = append(all, child)
				}
			}
		}
	}
	return all
}

// share is the proportional set size in bytes, in which a page that two processes share counts half for each; 0 when the process
// has gone.
func share(pid int) int64 {
	f, err := os.Open(filepath.Join("/proc", strconv.Itoa(pid), "smaps_rollup"))
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), "Pss:"); ok {
			kb, _ := strconv.ParseInt(strings.Fields(value)[0], 10, 64) // the kernel writes a number
			return kb << 10
		}
	}
	return 0
}
