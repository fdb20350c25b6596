//go:build unix

package fakeopencode

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// processModes leave processes behind. Their pids are appended to OC_FAKE_STATE/pids, one a line.
var processModes = map[string]func(*fake, string){
	// In a session of its own, with our stdout and stderr open, deaf to SIGTERM when the argument says so.
	"child": func(f *fake, arg string) {
		script := "echo $$ >> " + f.pids() + "; exec sleep 300"
		if arg == "deaf" {
			script = `trap "" TERM INT HUP; echo $$ >> ` + f.pids() + "; while :; do sleep 1; done"
		}
		cmd := exec.Command("/bin/sh", "-c", script)
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		detach(cmd)
		f.launch(cmd)
	},
	// Forked twice, with an empty environment, no file of ours open, deaf to everything but SIGKILL.
	"daemon": func(f *fake, _ string) {
		loop := `trap "" TERM INT HUP; echo $$ >> ` + f.pids() + `; while :; do sleep 1; done`
		cmd := exec.Command("/bin/sh", "-c", `env -i /bin/sh -c "$1" >/dev/null 2>&1 </dev/null & :`, "sh", loop)
		detach(cmd)
		f.launch(cmd)
		cmd.Wait() // only the daemon stays
	},
	// With nothing after it, it is deaf and silent.
	"ignore-term": func(f *fake, _ string) {
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
		if f.modes[len(f.modes)-1].name == "ignore-term" {
			silence()
		}
	},
}

// launch starts a command and waits until it has written its pid: a test that looks for the process has to know it.
func (f *fake) launch(cmd *exec.Cmd) {
	before := f.listed()
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(f.err, "fake opencode:", err)
		return
	}
	for deadline := time.Now().Add(5 * time.Second); f.listed() == before && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond)
	}
	f.tool(toolCall{tool: "bash", input: map[string]any{"command": "a server in the background"}, output: "started\n", metadata: map[string]any{"exit": 0}})
}

// listed is how long the list of processes is.
func (f *fake) listed() int64 {
	fi, err := os.Stat(filepath.Join(f.state, "pids"))
	if err != nil {
		return 0
	}
	return fi.Size()
}

// pids is the path of the list of processes, as a word of the shell.
func (f *fake) pids() string {
	if err := os.MkdirAll(f.state, 0o700); err != nil {
		fmt.Fprintln(f.err, "fake opencode: state:", err)
	}
	return "'" + strings.ReplaceAll(filepath.Join(f.state, "pids"), "'", `'\''`) + "'"
}

// detach starts a command as opencode's bash tool does: in a session of its own.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// dieBy ends this process by a signal. Go's runtime turns some of them into an exit or a stack trace, so a shell takes our place
// for it.
func dieBy(s syscall.Signal) {
	if err := syscall.Exec("/bin/sh", []string{"sh", "-c", fmt.Sprintf("ulimit -c 0; kill -%d $$; sleep 60", int(s))}, os.Environ()); err != nil {
		fmt.Fprintln(os.Stderr, "fake opencode:", err)
		os.Exit(1)
	}
}
