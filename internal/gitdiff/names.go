package gitdiff

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/lazyregexp"
)

// nameLimit bounds the name of a commit, in bytes.
const nameLimit = 250

// checkName refuses what can be no commit's name, before git sees it.
func checkName(flag, name string) error {
	switch {
	case strings.HasPrefix(name, "-"):
		return fault.New(fault.Usage, "%s: %.40q begins with a dash and names no commit; give a branch, a tag or a commit id", flag, name)
	case len(name) > nameLimit || strings.ContainsFunc(name, func(c rune) bool { return unicode.IsControl(c) || c == unicode.ReplacementChar }):
		return fault.New(fault.Usage, "%s: %.40q cannot be the name of a commit; give a branch, a tag or a commit id", flag, name)
	}
	return nil
}

var commitID = lazyregexp.New(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// line is what a command prints, if that is one short line.
func (r *repository) line(ctx context.Context, args ...string) (string, error) {
	var text []byte
	err := r.ask(ctx, func(out io.Reader) (err error) {
		text, err = io.ReadAll(io.LimitReader(out, 4<<10))
		return err
	}, args...)
	return strings.TrimSuffix(string(text), "\n"), err
}

// commit is the id of the commit that a name means; ok is false when it means none.
func (r *repository) commit(ctx context.Context, name string) (id string, ok bool, err error) {
	id, err = r.line(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
	if said := (*refusal)(nil); errors.As(err, &said) {
		return "", false, nil
	}
	return id, err == nil && commitID().MatchString(id), err
}

// base is the merge base of a named commit and HEAD.
func (r *repository) base(ctx context.Context, name, head string) (string, error) {
	id, ok, err := r.commit(ctx, name)
	if err != nil {
		return "", err
	}
	if !ok {
		return "", fault.New(fault.Usage, "--base: %q is no commit of %s; give a branch, a tag or a commit id", name, r.top)
	}
	shared, err := r.line(ctx, "merge-base", id, head)
	said := (*refusal)(nil)
	switch {
	case errors.As(err, &said) && said.code == 1:
		return "", fault.New(fault.Usage, "--base: %s and HEAD have no commit in common", name)
	case said != nil:
		return "", fault.New(fault.RunFailed, "the merge base of %s and HEAD cannot be found: %s", name, said.said)
	case err == nil && !commitID().MatchString(shared):
		return "", fault.New(fault.RunFailed, "git names %q as the merge base of %s and HEAD", shared, name)
	}
	return shared, err
}

// parent is the first parent of a commit; empty = it has none.
func (r *repository) parent(ctx context.Context, id string) (string, error) {
	first := ""
	err := r.ask(ctx, func(out io.Reader) error {
		text, err := io.ReadAll(io.LimitReader(out, 64<<10))
		for line := range strings.Lines(string(text)) {
			if p, ok := strings.CutPrefix(line, "parent "); ok && first == "" {
				first = strings.TrimSuffix(p, "\n")
			}
			if line == "\n" { // the message begins
				break
			}
		}
		return err
	}, "cat-file", "commit", id)
	switch {
	case err != nil:
		return "", explained(err, "the commit cannot be read")
	case first == "":
		return "", nil
	}
	there, ok, err := r.commit(ctx, first)
	if err == nil && !ok {
		err = fault.New(fault.Usage, "--commit: the parent of %.12s is not here, as in a shallow clone; fetch it first", id)
	}
	return there, err
}

// emptyTree is the id of the tree without a file, which every git knows: `git hash-object -t tree /dev/null` prints it.
func (r *repository) emptyTree() string {
	if r.sha256 {
		return "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"
	}
	return "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
}

// ahead finds what HEAD is ahead of: its upstream, else the default branch of the remote, else a branch that is usually the default one. The
// id is that of the merge base. Without such a branch the name is empty.
func (r *repository) ahead(ctx context.Context, head string) (name, id string, err error) {
	for _, candidate := range []string{"@{upstream}", "refs/remotes/origin/HEAD", "refs/heads/main", "refs/heads/master", "refs/remotes/origin/main", "refs/remotes/origin/master"} {
		there, ok, err := r.commit(ctx, candidate)
		if err != nil {
			return "", "", err
		}
		if !ok || there == head {
			continue
		}
		shared, err := r.base(ctx, there, head)
		if f := fault.Of(err); f != nil && f.Kind == fault.Usage || err == nil && shared == head {
			continue // another history, or HEAD is behind
		}
		if err != nil {
			return "", "", err
		}
		short, err := r.line(ctx, "rev-parse", "--abbrev-ref", candidate)
		if err != nil || checkName("", short) != nil || short == "" {
			short = candidate
		}
		return short, shared, nil
	}
	return "", "", nil
}

// settled are the settings that decide what a file's content is to git and which differences count. None names a program.
var settled = []string{"core.autocrlf", "core.eol", "core.filemode", "core.symlinks", "core.ignorecase", "core.precomposeunicode", "core.checkstat", "core.trustctime", "core.protecthfs", "core.protectntfs"}

// settle takes over from the configuration what the other git has to know.
func (r *repository) settle(ctx context.Context) error {
	values := map[string]string{}
	err := r.ask(ctx, func(out io.Reader) error {
		text, err := io.ReadAll(io.LimitReader(out, 4<<20))
		for entry := range strings.SplitSeq(string(text), "\x00") {
			key, value, _ := strings.Cut(entry, "\n")
			values[key] = value // of several the last one counts
		}
		return err
	}, "config", "--includes", "--list", "-z")
	if said := (*refusal)(nil); errors.As(err, &said) {
		return fault.New(fault.RunFailed, "the configuration of %s cannot be read: %s", r.top, said.said)
	}
	if err != nil {
		return err
	}
	for _, key := range settled {
		if v, ok := values[key]; ok {
			r.settings = append(r.settings, "-c", key+"="+v)
		}
	}
	r.settings = append(r.settings, "-c", "core.quotePath=false")
	r.ignores(values["core.excludesfile"])
	r.sha256 = values["extensions.objectformat"] == "sha256"
	return r.skeleton()
}

// ignores finds the files with patterns that are outside of the work tree.
func (r *repository) ignores(configured string) {
	home, config := lookup(r.env, "HOME"), lookup(r.env, "XDG_CONFIG_HOME")
	if rest, ok := strings.CutPrefix(configured, "~/"); ok {
		configured = filepath.Join(home, rest)
	}
	if configured == "" && config == "" && home != "" {
		config = filepath.Join(home, ".config")
	}
	if configured == "" && config != "" {
		configured = filepath.Join(config, "git", "ignore")
	}
	for _, path := range []string{configured, filepath.Join(r.commonDir, "info", "exclude")} {
		if fi, err := os.Stat(path); err == nil && fi.Mode().IsRegular() && filepath.IsAbs(path) {
			r.ignore = append(r.ignore, "--exclude-from="+path)
		}
	}
}

// skeleton makes the empty repository.
func (r *repository) skeleton() error {
	own := filepath.Join(r.scratch, "git")
	config := "[core]\n\trepositoryformatversion = 0\n"
	if r.sha256 {
		config = "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = sha256\n"
	}
	for name, text := range map[string]string{"HEAD": "ref: refs/heads/none\n", "config": config} {
		if err := os.WriteFile(filepath.Join(own, name), []byte(text), 0o600); err != nil {
			return fault.New(fault.Usage, "no temporary directory: %w", err)
		}
	}
	if fi, err := os.Lstat(filepath.Join(r.gitDir, "index")); err == nil && !fi.Mode().IsRegular() {
		return fault.New(fault.RunFailed, "the index of %s is no regular file", r.top)
	}
	return nil
}

func lookup(env []string, name string) string {
	for _, kv := range env {
		if k, v, ok := strings.Cut(kv, "="); ok && k == name {
			return v
		}
	}
	return ""
}
