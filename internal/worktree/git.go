package worktree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/gitconfig"
	"opencode-delegate/internal/plain"
	"opencode-delegate/internal/repocode"
	"opencode-delegate/internal/tree"
)

// patience bounds one git. None of what is asked takes long; a pipe in the place of a file would take for ever.
const patience = time.Minute

// A git is the program with an empty git directory of our own. It knows the index, the objects and the work tree of a repository, and nothing
// of its configuration, hooks and attributes.
type git struct {
	environ             []string
	top, gitDir, common string
	scratch             string
	env                 []string
	cage                Cage
}

// A Cage is closed around a git that reads what a worker may have written; nil is none.
type Cage = tree.Cage

func newGit(environ []string, top, gitDir, common string) (*git, error) {
	return newGitWithIndex(environ, top, gitDir, common, filepath.Join(gitDir, "index"))
}

func newGitWithIndex(environ []string, top, gitDir, common, index string) (*git, error) {
	g := &git{environ: environ, top: top, gitDir: gitDir, common: common}
	if fi, err := os.Lstat(index); err == nil && !fi.Mode().IsRegular() {
		return nil, fault.New(fault.Usage, "the index of %s is no regular file", top)
	}
	var err error
	if g.scratch, err = os.MkdirTemp("", "oc-delegate-git-*"); err != nil {
		return nil, fault.New(fault.Usage, "no temporary directory: %w", err).With("set TMPDIR to a directory that you can write")
	}
	format, _ := configured(filepath.Join(common, "config"), "extensions.objectformat")
	if err := emptyRepository(g.scratch, format); err != nil {
		g.close()
		return nil, err
	}
	g.env = append(ownEnv(g.scratch), "GIT_WORK_TREE="+top, "GIT_INDEX_FILE="+index, "GIT_OBJECT_DIRECTORY="+filepath.Join(common, "objects"))
	g.env = append(g.env, settings(g.configuration(), append(repocode.UserConfig(g.lookup("HOME"), g.lookup), filepath.Join(common, "config"))...)...)
	return g, nil
}

// settled decide what a file's content is to git and which names are the same. None names a program.
var settled = []string{"core.autocrlf", "core.eol", "core.filemode", "core.symlinks", "core.ignorecase", "core.precomposeunicode"}

// settings hands them on from files of configuration, of which the last one that has a key counts.
func settings(c configuration, files ...string) (env []string) {
	for _, key := range settled {
		value, found := "", false
		for _, file := range files {
			if v, ok := c.value(file, key); ok {
				value, found = v, true
			}
		}
		if found {
			n := len(env) / 2
			env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", n, key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", n, value))
		}
	}
	return append(env, fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(env)/2))
}

func (g *git) close() { os.RemoveAll(g.scratch) }

func (g *git) lookup(name string) string {
	for _, kv := range g.environ {
		if k, v, ok := strings.Cut(kv, "="); ok && k == name {
			return v
		}
	}
	return ""
}

// emptyRepository makes what git takes for a repository in an existing directory.
func emptyRepository(dir, format string) error {
	config := "[core]\n\trepositoryformatversion = 0\n"
	if format == "sha256" {
		config = "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = sha256\n"
	}
	for _, sub := range []string{"objects/info", "refs"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.FromSlash(sub)), 0o700); err != nil {
			return err
		}
	}
	for name, text := range map[string]string{"HEAD": "ref: refs/heads/none\n", "config": config} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// ownEnv is the environment of a git that reads only the configuration in its git directory, which is ours, and reaches no other machine.
func ownEnv(gitDir string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "SYSTEMROOT=" + os.Getenv("SYSTEMROOT"), "TMPDIR=" + os.TempDir(), "HOME=" + gitDir, "XDG_CONFIG_HOME=" + gitDir, "LC_ALL=C",
		"GIT_DIR=" + gitDir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_SYSTEM=" + os.DevNull, "GIT_ATTR_NOSYSTEM=1",
		"GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "GIT_NO_REPLACE_OBJECTS=1", "GIT_ALLOW_PROTOCOL=none", "GIT_LITERAL_PATHSPECS=1",
	}
}

// A refusal is what git said when it ended with another exit code than 0.
type refusal struct {
	code int
	said string
}

func (r *refusal) Error() string {
	if r.said == "" {
		return fmt.Sprintf("git ended with exit %d and said nothing, perhaps by a hook of the repository", r.code)
	}
	return "git: " + r.said
}

// run starts git in the work tree, gives it an input (nil: none) and has its output read (nil: it is dropped).
func (g *git) run(ctx context.Context, in io.Reader, read func(io.Reader) error, args ...string) error {
	return runCaged(ctx, g.cage, g.top, g.env, in, read, args...)
}

func runGit(ctx context.Context, dir string, env []string, in io.Reader, read func(io.Reader) error, args ...string) error {
	return runCaged(ctx, nil, dir, env, in, read, args...)
}

func runCaged(ctx context.Context, cage Cage, dir string, env []string, in io.Reader, read func(io.Reader) error, args ...string) error {
	program, err := gitconfig.Program()
	if err != nil {
		return fault.New(fault.Usage, "%w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fault.New(fault.RunFailed, "git has not answered within %s", patience))
	defer cancel()
	argv := append([]string{program, "--no-pager", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull}, args...)
	if cage != nil {
		wrapped, more, err := cage(argv)
		if err != nil {
			return err
		}
		argv, env = wrapped, append(env[:len(env):len(env)], more...)
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.WaitDelay = dir, env, in, time.Second
	said := &head{limit: 4 << 10}
	cmd.Stderr = said
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return fmt.Errorf("git %s: %w", args[0], err)
	}
	var rerr error
	if read != nil {
		rerr = read(out)
	}
	io.Copy(io.Discard, out)
	err = cmd.Wait()
	exit := (*exec.ExitError)(nil)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case rerr != nil && fault.Of(rerr).Kind == fault.Usage: // a refusal of ours
		return rerr
	case rerr != nil:
		return fmt.Errorf("what git %s printed: %w", args[0], rerr)
	case errors.As(err, &exit):
		return &refusal{exit.ExitCode(), plain.Line(strings.TrimPrefix(strings.TrimSpace(string(said.text)), "fatal: "), 200)}
	case err != nil:
		return fmt.Errorf("git %s: %w", args[0], err)
	}
	return nil
}

// A head keeps the beginning of what is written to it.
type head struct {
	text  []byte
	limit int
}

func (h *head) Write(p []byte) (int, error) {
	h.text = append(h.text, p[:min(len(p), h.limit-len(h.text))]...)
	return len(p), nil
}
