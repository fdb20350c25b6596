package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/gitconfig"
	"opencode-delegate/internal/plain"
	"opencode-delegate/internal/repocode"
	"opencode-delegate/internal/tree"
)

// A userGit is git as the user would call it: with configuration, hooks, filters and signing of the user. It is for what a person has asked for
// in a repository that no worker of an isolated run could write to. It has no terminal and opens no editor.
type userGit struct {
	top, gitDir string
	env         []string
}

// handed are the variables of git that a user sets for all repositories. Others, such as GIT_DIR in a hook, mean another one.
var handed = []string{"GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_CONFIG", "GIT_EXEC_PATH", "GIT_SSH", "GIT_ASKPASS"}

func newUserGit(top, gitDir string, environ []string) *userGit {
	u := &userGit{top: top, gitDir: gitDir}
	for _, kv := range environ {
		if !strings.HasPrefix(kv, "GIT_") || slices.ContainsFunc(handed, func(p string) bool { return strings.HasPrefix(kv, p) }) {
			u.env = append(u.env, kv)
		}
	}
	u.env = append(u.env, "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=true", "GIT_MERGE_AUTOEDIT=no", "GIT_OPTIONAL_LOCKS=0")
	return u
}

// userGitOf is the git of an idle repository whose work tree dir is.
func userGitOf(dir string, environ []string) (*userGit, error) {
	gitDir, _, top, ok := repocode.Dirs(dir)
	real, err := filepath.Abs(dir)
	if err == nil {
		real, err = filepath.EvalSymlinks(real)
	}
	if err != nil || !ok || top != real {
		return nil, fault.New(fault.Usage, "%s is not the top of a work tree of git", dir)
	}
	return newUserGit(top, gitDir, environ), idle(gitDir, top)
}

// aside is the same git with another index and work tree, for plumbing: it runs no hook, and no monitor of the user's own tree.
func (u *userGit) aside(workTree, index string) (*userGit, []string) {
	n := &userGit{top: workTree, gitDir: u.gitDir}
	n.env = append(u.env[:len(u.env):len(u.env)], "GIT_DIR="+u.gitDir, "GIT_WORK_TREE="+workTree, "GIT_INDEX_FILE="+index)
	return n, []string{"-c", "core.hooksPath=" + os.DevNull, "-c", "core.fsmonitor=false", "-c", "core.splitIndex=false", "-c", "core.untrackedCache=false"}
}

// run starts git, gives it an input (nil: none) and returns what it prints, of which there may be 64 MB. Its end is awaited when ctx ends: it is asked to stop, so
// that it takes its locks away.
func (u *userGit) run(ctx context.Context, in io.Reader, args ...string) (string, error) {
	program, err := gitconfig.Program()
	if err != nil {
		return "", fault.New(fault.Usage, "%w", err)
	}
	cmd := exec.CommandContext(ctx, program, append([]string{"--no-pager"}, args...)...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.WaitDelay = u.top, u.env, in, 20*time.Second
	cmd.Cancel = func() error {
		if cmd.Process.Signal(os.Interrupt) != nil {
			return cmd.Process.Kill()
		}
		return nil
	}
	out, said := &head{limit: 64 << 20}, &head{limit: 8 << 10}
	cmd.Stdout, cmd.Stderr = out, said
	err = cmd.Run()
	exit := (*exec.ExitError)(nil)
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case errors.As(err, &exit):
		text := said.text
		if len(bytes.TrimSpace(text)) == 0 {
			text = out.text
		}
		return string(out.text), &refusal{exit.ExitCode(), plain.Line(strings.TrimSpace(string(text)), 400)}
	case err != nil:
		return "", fmt.Errorf("git %s: %w", args[0], err)
	case len(out.text) == out.limit:
		return "", fmt.Errorf("git %s prints more than %d bytes", args[0], out.limit)
	}
	return string(out.text), nil
}

// one runs git for the one line that it prints.
func (u *userGit) one(ctx context.Context, args ...string) (string, error) {
	out, err := u.run(ctx, nil, args...)
	return strings.TrimSpace(out), err
}

// yes runs git for an exit code of 0 or 1.
func (u *userGit) yes(ctx context.Context, args ...string) (bool, error) {
	_, err := u.run(ctx, nil, args...)
	if said := (*refusal)(nil); errors.As(err, &said) && said.code == 1 {
		return false, nil
	}
	return err == nil, err
}

// paths runs git for a list of paths, each with a NUL behind it.
func (u *userGit) paths(ctx context.Context, args ...string) ([]string, error) {
	out, err := u.run(ctx, nil, args...)
	var all []string
	for p := range strings.SplitSeq(out, "\x00") {
		if p != "" {
			all = append(all, p)
		}
	}
	return all, err
}

// dirty are the paths that are not as in HEAD, with untracked ones on request.
func (u *userGit) dirty(ctx context.Context, untracked string) ([]string, error) {
	all, err := u.paths(ctx, "status", "--porcelain=v1", "-z", "--no-renames", "--ignore-submodules=dirty", "--untracked-files="+untracked)
	for i := range all {
		all[i] = all[i][min(3, len(all[i])):]
	}
	return all, err
}

// named are some paths in one line.
func named(paths []string) string {
	shown := mapped(paths[:min(len(paths), 10)], tree.Quote)
	if more := len(paths) - len(shown); more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(shown, ", "), more)
	}
	return strings.Join(shown, ", ")
}
