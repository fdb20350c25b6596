package tree

import (
	"bufio"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"opencode-delegate/internal/gitconfig"
	"opencode-delegate/internal/repocode"
)

// objectTime bounds what git may take to give old contents, so that a damaged object store costs only the counts.
const objectTime = 5 * time.Second

// maxStores bounds the repositories below a directory whose objects are used.
const maxStores = 64

// objectStores are the object directories of the repository around dir and of those that the walk found in it.
func objectStores(dir string, found []string) []string {
	var stores []string
	add := func(dir string) {
		if _, common, _, ok := repocode.Dirs(dir); ok && len(stores) < maxStores {
			if store := filepath.Join(common, "objects"); !slices.Contains(stores, store) {
				stores = append(stores, store)
			}
		}
	}
	add(dir)
	for _, at := range found {
		if len(stores) < maxStores {
			add(filepath.Join(dir, filepath.FromSlash(at)))
		}
	}
	return stores
}

// objects reads old contents by their git name. The git that does it sees an empty repository of our own making with the object directory of the
// real one, so that nothing that a run may have configured is read: no hook, filter, fsmonitor, include, or promisor remote.
// What it returns is believed only when the checksum is that of the snapshot.
type objects struct {
	ctx     context.Context
	cancel  context.CancelFunc
	git     string
	cage    Cage
	stores  []string
	scratch string
	readers []*objectReader
}

type objectReader struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	bad bool
}

func newObjects(ctx context.Context, git string, stores []string, cage Cage) *objects {
	o := &objects{git: git, cage: cage, stores: stores}
	o.ctx, o.cancel = context.WithTimeout(ctx, objectTime)
	return o
}

// text returns what a file held before.
func (o *objects) text(e *entry) ([]byte, bool) {
	if e.content.text != nil || e.size == 0 {
		return e.content.text, true
	}
	if o.readers == nil {
		if err := o.start(); err != nil {
			o.stores = nil
		}
	}
	for _, r := range o.readers {
		if text, ok := r.blob(e.content.blob, e.size); ok && sha256.Sum256(text) == e.content.sum {
			return text, true
		}
	}
	return nil, false
}

func (o *objects) start() error {
	if len(o.stores) == 0 {
		return nil
	}
	git := o.git
	if git == "" {
		var err error
		if git, err = gitconfig.Program(); err != nil {
			return err
		}
	}
	var err error
	if o.scratch, err = os.MkdirTemp("", "oc-delegate-git-*"); err != nil {
		return err
	}
	for _, d := range []string{"refs", "objects"} {
		if err := os.Mkdir(filepath.Join(o.scratch, d), 0o700); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(o.scratch, "HEAD"), []byte("ref: refs/heads/none\n"), 0o600); err != nil {
		return err
	}
	for _, store := range o.stores {
		argv, more := []string{git, "cat-file", "--batch"}, []string(nil)
		if o.cage != nil {
			if argv, more, err = o.cage(argv); err != nil {
				return err
			}
		}
		r := &objectReader{cmd: exec.CommandContext(o.ctx, argv[0], argv[1:]...)}
		r.cmd.Dir = o.scratch
		r.cmd.WaitDelay = time.Second
		r.cmd.Env = []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + o.scratch, "SYSTEMROOT=" + os.Getenv("SYSTEMROOT"), "LC_ALL=C",
			"GIT_DIR=" + o.scratch, "GIT_OBJECT_DIRECTORY=" + store, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull,
			"GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "GIT_NO_REPLACE_OBJECTS=1", "GIT_ALLOW_PROTOCOL=none",
		}
		r.cmd.Env = append(r.cmd.Env, more...)
		if r.in, err = r.cmd.StdinPipe(); err != nil {
			return err
		}
		out, err := r.cmd.StdoutPipe()
		if err != nil {
			return err
		}
		r.out = bufio.NewReaderSize(out, 64<<10)
		if err := r.cmd.Start(); err != nil {
			return err
		}
		o.readers = append(o.readers, r)
	}
	return nil
}

// blob asks for one object and reads the whole answer.
func (r *objectReader) blob(name [20]byte, size int64) (text []byte, ok bool) {
	if r.bad {
		return nil, false
	}
	fail := func() ([]byte, bool) { r.bad = true; return nil, false }
	if _, err := fmt.Fprintf(r.in, "%x\n", name); err != nil {
		return fail()
	}
	head, err := r.out.ReadSlice('\n')
	if err != nil {
		return fail()
	}
	if string(head) == fmt.Sprintf("%x missing\n", name) {
		return nil, false
	}
	if string(head) != fmt.Sprintf("%x blob %d\n", name, size) {
		return fail()
	}
	text = make([]byte, size+1) // with the newline behind the content
	if _, err := io.ReadFull(r.out, text); err != nil {
		return fail()
	}
	return text[:size], true
}

func (o *objects) close() {
	for _, r := range o.readers {
		r.in.Close()
	}
	o.cancel() // the end of input alone ends a healthy git; a stuck one must not be waited for
	for _, r := range o.readers {
		_ = r.cmd.Wait()
	}
	if o.scratch != "" {
		os.RemoveAll(o.scratch)
	}
}
