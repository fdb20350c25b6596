package gitdiff

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/gitconfig"
	"opencode-delegate/internal/plain"
	"opencode-delegate/internal/proc"
	"opencode-delegate/internal/repocode"
	"opencode-delegate/internal/sandbox"
)

// A repository is one that git is asked about.
type repository struct {
	top, gitDir, commonDir string

	git     string
	scratch string // ours: the empty repository and an empty home
	env     []string
	wrap    func(argv []string) (wrapped, env []string, err error)

	sha256   bool     // the names of its objects are of that kind
	settings []string // -c arguments for the git that looks at files
	ignore   []string // arguments that name the files with patterns of what is ignored
}

// open finds the repository of a directory and makes the scratch one.
func open(ctx context.Context, o Options) (*repository, error) {
	gitDir, common, top, ok := repocode.Dirs(o.Dir)
	if !ok || top == "" {
		return nil, fault.New(fault.Usage, "%s is in no work tree of git; name a directory of one with --dir", o.Dir)
	}
	git, err := gitconfig.Program()
	if err != nil {
		return nil, fault.New(fault.Usage, "%w", err)
	}
	scratch, err := os.MkdirTemp("", "oc-delegate-git-*")
	if err == nil {
		scratch, err = filepath.EvalSymlinks(scratch)
	}
	if err != nil {
		return nil, fault.New(fault.Usage, "no temporary directory: %w", err).With("set TMPDIR to a directory that you can write")
	}
	r := &repository{top: top, gitDir: gitDir, commonDir: common, git: git, scratch: scratch, env: ordinary(o.Environ)}
	if err := r.cage(o); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

func (r *repository) close() { os.RemoveAll(r.scratch) }

// cage closes the kernel's sandbox around every git, where there is one: a second line behind what git is told.
func (r *repository) cage(o Options) error {
	for _, dir := range []string{"git/objects", "git/refs", "home", "tmp"} {
		if err := os.MkdirAll(filepath.Join(r.scratch, dir), 0o700); err != nil {
			return fault.New(fault.Usage, "no temporary directory: %w", err)
		}
	}
	r.wrap = func(argv []string) ([]string, []string, error) { return argv, nil, nil }
	if !sandbox.Detect(os.Getenv).OK() {
		return nil
	}
	room := filepath.Join(r.scratch, "tmp")
	run := sandbox.Run{
		Home: o.Home, Dir: r.top, Tmp: room, StateRoot: o.StateRoot, Environ: o.Environ,
		Opencode: sandbox.OpencodeDirs{Data: room, Cache: room, State: room, Config: filepath.Join(r.scratch, "home")}, // there is none in this cage
	}
	policy, err := run.ReadOnly()
	if err != nil {
		return err
	}
	r.wrap = func(argv []string) ([]string, []string, error) { return policy.Command(o.Self, argv) }
	return nil
}

// kept are the variables that a git needs. None of git's own is among them: a caller that is a hook has some that lead elsewhere.
var kept = []string{
	"PATH", "HOME", "XDG_CONFIG_HOME",
	"SYSTEMROOT", "USERPROFILE", "HOMEDRIVE", "HOMEPATH", "APPDATA", "PROGRAMDATA", "PROGRAMFILES", "TEMP", "TMP",
}

func ordinary(environ []string) []string {
	env := slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return !slices.Contains(kept, strings.ToUpper(name))
	})
	// A missing object of a partial clone would be fetched, by whatever transport the configuration names.
	return append(env, "LC_ALL=C", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", "GIT_ATTR_NOSYSTEM=1")
}

// harmless stands before every command. It repeats what the environment says, for a git that does not know all of it.
var harmless = []string{"--no-pager", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull, "-c", "protocol.allow=never"}

// ask runs a git that reads the repository's configuration. Only commands that run no program of it may be asked.
func (r *repository) ask(ctx context.Context, read func(io.Reader) error, args ...string) error {
	env := append(r.env[:len(r.env):len(r.env)], "GIT_DIR="+r.gitDir, "GIT_WORK_TREE="+r.top)
	return r.run(ctx, env, append(harmless[:len(harmless):len(harmless)], args...), read)
}

// look runs a git that knows the repository's objects and index, and nothing of its configuration.
func (r *repository) look(ctx context.Context, read func(io.Reader) error, args ...string) error {
	own := filepath.Join(r.scratch, "git")
	env := overlay(r.env, "HOME="+filepath.Join(r.scratch, "home"), "XDG_CONFIG_HOME="+filepath.Join(r.scratch, "home"),
		"GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_DIR="+own, "GIT_WORK_TREE="+r.top, "GIT_INDEX_FILE="+filepath.Join(r.gitDir, "index"), "GIT_OBJECT_DIRECTORY="+filepath.Join(r.commonDir, "objects"))
	return r.run(ctx, env, slices.Concat(harmless, r.settings, args), read)
}

func overlay(env []string, add ...string) []string {
	kept := slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.ContainsFunc(add, func(a string) bool { return strings.HasPrefix(a, name+"=") })
	})
	return append(kept, add...)
}

// A refusal is what git said when it ended with another exit code than 0.
type refusal struct {
	code int
	said string
}

func (r *refusal) Error() string { return fmt.Sprintf("git: %s", r.said) }

// run starts git in the work tree and has its output read to the end.
func (r *repository) run(ctx context.Context, env, args []string, read func(io.Reader) error) error {
	argv, add, err := r.wrap(append([]string{r.git}, args...))
	if err != nil {
		return err
	}
	child, err := proc.Start(ctx, proc.Command{
		Argv: argv, Dir: r.top, Env: append(env, add...), Marker: filepath.Base(r.scratch), Grace: time.Second,
	})
	if err != nil {
		return fmt.Errorf("git %s: %w", args[len(harmless)], err)
	}
	said := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(io.LimitReader(child.Stderr, 4<<10))
		io.Copy(io.Discard, child.Stderr)
		said <- string(text)
	}()
	rerr := read(child.Stdout)
	if errors.Is(rerr, errEnough) {
		child.Kill()
		rerr = nil
	}
	io.Copy(io.Discard, child.Stdout)
	text := <-said
	exit := child.Wait()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case rerr != nil:
		return fmt.Errorf("what git printed: %w", rerr)
	case exit.Code != 0 && !exit.ByUs:
		return &refusal{exit.Code, plain.Line(strings.TrimPrefix(strings.TrimSpace(text), "fatal: "), 200)}
	}
	return nil
}

// errEnough is how a reader says that it needs no more.
var errEnough = errors.New("enough was read")
