package doctor

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"opencode-delegate/internal/sandbox"
)

// sandbox is what the kernel can enforce.
func (x *examination) sandbox() Finding {
	s := sandbox.Detect(x.getenv)
	switch {
	case !s.OK():
		f := Finding{Name: "sandbox", Level: Warn, What: "no policy can be enforced: " + s.Reason,
			Remedy: "Linux 6.2 or newer with Landlock has what is needed; until then permission rules and a comparison of the tree remain"}
		if runtime.GOOS != "linux" {
			f.Remedy = "run untrusted work in a Linux container or machine; here permission rules and a comparison of the tree remain"
		}
		return f
	case len(s.Gaps) > 0:
		return Finding{Name: "sandbox", Level: Warn, What: fmt.Sprintf("Landlock ABI %d; %s", s.ABI, strings.Join(s.Gaps, "; ")),
			Remedy: "Linux 6.12 or newer, with seccomp, leaves nothing of that open"}
	}
	return Finding{Name: "sandbox", Level: OK, What: fmt.Sprintf("Landlock ABI %d", s.ABI)}
}

// gitTime bounds the one question to git.
const gitTime = 10 * time.Second

// git is whether there is one: it counts the lines that a run changed.
func (x *examination) git(ctx context.Context) Finding {
	missing := func(what string) Finding {
		return Finding{Name: "git", Level: Warn, What: what, Remedy: "install git; without it the lines that a run changed are not counted"}
	}
	path := x.lookup("git")
	if path == "" {
		return missing("git is not on PATH")
	}
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Env, cmd.Dir, cmd.WaitDelay = x.Host.Environ, os.TempDir(), time.Second
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return missing(fmt.Sprintf("git cannot be started: %v", err))
	}
	said, _ := io.ReadAll(io.LimitReader(out, 4<<10))
	if err := cmd.Wait(); err != nil {
		return missing(fmt.Sprintf("%s --version: %v", path, err))
	}
	version, ok := strings.CutPrefix(strings.TrimSpace(string(said)), "git version ")
	if !ok {
		return missing(fmt.Sprintf("%s does not say its version, but %.80q", path, said))
	}
	return Finding{Name: "git", Level: OK, What: version + ", " + path}
}

// lookup is the first program of a name on PATH; empty when there is none. Relative entries are passed over: what lies in the current
// directory is the repository's.
func (x *examination) lookup(program string) string {
	for _, dir := range filepath.SplitList(x.getenv("PATH")) {
		for _, name := range names(program) {
			path := filepath.Join(dir, name)
			fi, err := os.Stat(path)
			if err == nil && filepath.IsAbs(dir) && fi.Mode().IsRegular() && (runtime.GOOS == "windows" || fi.Mode().Perm()&0o111 != 0) {
				return path
			}
		}
	}
	return ""
}
