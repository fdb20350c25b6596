package worktree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"opencode-delegate/internal/lazyregexp"
)

// Bounds of what is read in a worker's git directory, in bytes, and how many files of one kind are looked at.
const (
	maxRef        = 4 << 10
	maxPackedRefs = 16 << 20
	maxObjects    = 500_000
)

// refs reads the refs of a worker, through no link that leads out and from nothing but regular files.
type refs struct {
	root   *os.Root
	packed map[string]string
}

// regular opens a file that is one and not too large.
func regular(root *os.Root, name string, limit int64) (*os.File, error) {
	fi, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !fi.Mode().IsRegular() {
		return nil, fs.ErrInvalid
	}
	f, err := root.OpenFile(name, os.O_RDONLY|openNoBlock, 0)
	if err != nil {
		return nil, err
	}
	if fi, err = f.Stat(); err != nil || !fi.Mode().IsRegular() || fi.Size() > limit {
		f.Close()
		return nil, fs.ErrInvalid
	}
	return f, nil
}

func (r *refs) text(name string, limit int64) (string, error) {
	f, err := regular(r.root, name, limit)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, limit))
	return string(text), err
}

// head is the commit that is checked out, and the ref that it is known by.
func (r *refs) head() (id, ref string, err error) {
	text, err := r.text("HEAD", maxRef)
	if err != nil {
		return "", "", lost("HEAD of the copy cannot be read")
	}
	for range 5 {
		text = strings.TrimSpace(text)
		if commitID().MatchString(text) {
			return text, ref, nil
		}
		name, ok := strings.CutPrefix(text, "ref:")
		if ref = strings.TrimSpace(name); !ok || !isRef(ref) {
			return "", "", lost("HEAD of the copy is not as git writes it")
		}
		if text, err = r.text(ref, maxRef); errors.Is(err, fs.ErrNotExist) {
			text, err = r.fromPacked(ref)
		}
		if err != nil {
			return "", "", lost("the branch %s of the copy cannot be read", ref)
		}
		if text == "" {
			return "", "", lost("the branch %s of the copy has no commit", ref)
		}
	}
	return "", "", lost("HEAD of the copy leads nowhere")
}

// isRef reports whether a name can be one of a ref, so that it leads to nothing else than a file below refs.
func isRef(name string) bool {
	return strings.HasPrefix(name, "refs/") && len(name) < 1024 && fs.ValidPath(name) && filepath.IsLocal(filepath.FromSlash(name)) && !strings.ContainsAny(name, "\x00\n\\ ")
}

// fromPacked is the commit of a ref in packed-refs, empty when it is not there.
func (r *refs) fromPacked(ref string) (string, error) {
	err := r.readPacked()
	return r.packed[ref], err
}

func (r *refs) readPacked() error {
	if r.packed != nil {
		return nil
	}
	r.packed = map[string]string{}
	text, err := r.text("packed-refs", maxPackedRefs)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for line := range strings.Lines(text) {
		if id, name, ok := strings.Cut(strings.TrimSpace(line), " "); ok && commitID().MatchString(id) && isRef(name) {
			r.packed[name] = id
		}
	}
	return err
}

// elsewhere names refs that are at other commits than the base, but for the one of HEAD and for those that the copy began with.
func (r *refs) elsewhere(head, base string, began map[string]string) []string {
	found := map[string]string{}
	r.readPacked()
	for name, id := range r.packed {
		found[name] = id
	}
	left := 10_000
	r.loose("refs", &left, found)
	var names []string
	for name, id := range found {
		if name != head && id != base && began[name] != id {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names[:min(len(names), 100)]
}

// loose reads the refs that are files, at most left of them.
func (r *refs) loose(dir string, left *int, found map[string]string) {
	for _, name := range namesIn(r.root, dir, *left) {
		if *left--; *left < 0 || strings.Count(dir, "/") > 20 {
			return
		}
		name = path.Join(dir, name)
		fi, err := r.root.Lstat(name)
		switch {
		case err != nil:
		case fi.IsDir():
			r.loose(name, left, found)
		case isRef(name):
			if text, err := r.text(name, maxRef); err == nil && commitID().MatchString(strings.TrimSpace(text)) {
				found[name] = strings.TrimSpace(text)
			}
		}
	}
}

// namesIn are names in a directory, no more than limit. One that is none, or that cannot be read, has none.
func namesIn(root *os.Root, dir string, limit int) []string {
	if fi, err := root.Lstat(dir); err != nil || !fi.IsDir() || limit <= 0 {
		return nil
	}
	f, err := root.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	names, _ := f.Readdirnames(limit)
	return names
}

var (
	fanOut    = lazyregexp.New(`^[0-9a-f]{2}$`)
	looseName = lazyregexp.New(`^([0-9a-f]{38}|[0-9a-f]{62})$`)
	packName  = lazyregexp.New(`^pack-[0-9a-f]{40,64}\.pack$`)
)

// takeObjects copies the objects of a worker's git directory into one of ours: loose ones and packs, of which git makes a new index. Whatever else lies there stays there, and a
// pack that is damaged counts as missing.
func takeObjects(ctx context.Context, git *os.Root, dir string) error {
	t := &objects{ctx: ctx, git: git, dir: filepath.Join(dir, "objects"), left: maxPack, files: maxObjects}
	for _, fan := range namesIn(git, "objects", maxObjects) {
		if !fanOut().MatchString(fan) {
			continue
		}
		if err := os.Mkdir(filepath.Join(t.dir, fan), 0o700); err != nil {
			return err
		}
		for _, name := range namesIn(git, "objects/"+fan, maxObjects) {
			if looseName().MatchString(name) {
				if err := t.take(fan + "/" + name); err != nil {
					return err
				}
			}
		}
	}
	if err := os.Mkdir(filepath.Join(t.dir, "pack"), 0o700); err != nil {
		return err
	}
	for _, name := range namesIn(git, "objects/pack", maxObjects) {
		if !packName().MatchString(name) {
			continue
		}
		if err := t.take("pack/" + name); err != nil {
			return err
		}
		err := runGit(ctx, dir, ownEnv(dir), nil, nil, "index-pack", filepath.Join(t.dir, "pack", name))
		if said := (*refusal)(nil); err != nil && !errors.As(err, &said) {
			return err
		}
	}
	return nil
}

// objects copies them one by one, no more than both bounds allow.
type objects struct {
	ctx   context.Context
	git   *os.Root
	dir   string
	left  int64
	files int
}

func (o *objects) take(name string) error {
	if o.ctx.Err() != nil {
		return context.Cause(o.ctx)
	}
	in, err := regular(o.git, "objects/"+name, o.left)
	if errors.Is(err, fs.ErrInvalid) {
		if fi, err := o.git.Lstat("objects/" + name); err == nil && fi.Mode().IsRegular() {
			return lost("the objects in the copy have more than %d bytes", int64(maxPack))
		}
	}
	if err != nil {
		return nil // it counts as missing
	}
	defer in.Close()
	if o.files--; o.files < 0 {
		return lost("there are more than %d objects in the copy", maxObjects)
	}
	out, err := os.OpenFile(filepath.Join(o.dir, filepath.FromSlash(name)), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(out, io.LimitReader(in, o.left))
	o.left -= n
	if err = errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
