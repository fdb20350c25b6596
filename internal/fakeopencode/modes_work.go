package fakeopencode

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// workModes touch the work tree for real, and report what came of it as opencode does.
var workModes = map[string]func(*fake, string){
	"write":   func(f *fake, arg string) { f.write(arg, "fake-out.txt") },
	"outside": func(f *fake, arg string) { f.write(arg, filepath.Join("..", "fake-outside.txt")) },
	"delete": func(f *fake, arg string) {
		err := os.Remove(arg)
		f.tool(toolCall{tool: "bash", input: map[string]any{"command": "rm " + arg}, output: message(err), metadata: map[string]any{"exit": code(err)}})
	},
	// todo:DONE:TOTAL is a list of which DONE are done and the next is in progress.
	"todo": func(f *fake, arg string) {
		first, rest, _ := strings.Cut(arg, ":")
		done, list := number(first, 1), []map[string]any{}
		for i := range number(rest, 3) {
			status := "pending"
			switch {
			case i < done:
				status = "completed"
			case i == done:
				status = "in_progress"
			}
			list = append(list, map[string]any{"content": fmt.Sprintf("thing %d", i+1), "status": status, "priority": "high"})
		}
		f.tool(toolCall{tool: "todowrite", input: map[string]any{"todos": list}, output: "[]", metadata: map[string]any{"todos": list, "truncated": false}})
	},
	"sh":       func(f *fake, _ string) { f.shell(os.Getenv("OC_FAKE_SH")) },
	"gitreset": func(f *fake, _ string) { f.shell("git reset --hard && git clean -fd") },
	"gitstash": func(f *fake, _ string) { f.shell("git stash -u") },
	"gitcommit": func(f *fake, _ string) {
		f.shell("echo committed > fake-committed.txt && git add fake-committed.txt && git -c user.name=w -c user.email=w@example.org commit -q -m work")
	},
	"githook": func(f *fake, arg string) {
		if arg == "" {
			arg = "post-checkout"
		}
		f.shell(`h="$(git rev-parse --git-dir)/hooks/` + arg + `"; mkdir -p "${h%/*}"; printf '#!/bin/sh\ntouch hook-ran\n' > "$h" && chmod +x "$h"`)
	},
	// gitconfig:KEY=VALUE sets a key of the repository that makes git run a program.
	"gitconfig": func(f *fake, arg string) {
		key, value, ok := strings.Cut(arg, "=")
		if !ok {
			key, value = "core.fsmonitor", "touch fsmonitor-ran; false"
		}
		f.execute("git config "+key+" "+value, "git", "config", key, value)
	},
}

func (f *fake) write(path, otherwise string) {
	if path == "" {
		path = otherwise
	}
	const content = "written by the fake worker\n"
	c := toolCall{tool: "write", input: map[string]any{"filePath": path, "content": content}, output: "Wrote file successfully."}
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(content), 0o666)); err != nil {
		c.err = err.Error()
	}
	f.tool(c)
}

func (f *fake) shell(command string) { f.execute(command, "/bin/sh", "-c", command) }

// execute runs a program as opencode's bash tool does.
func (f *fake) execute(command string, argv ...string) {
	cmd := exec.Command(argv[0], argv[1:]...)
	detach(cmd)
	out, err := cmd.CombinedOutput()
	f.tool(toolCall{tool: "bash", input: map[string]any{"command": command, "description": "run a command"}, output: string(out),
		metadata: map[string]any{"exit": code(err), "output": string(out), "truncated": false}})
}

func code(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	return 1
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error() + "\n"
}
