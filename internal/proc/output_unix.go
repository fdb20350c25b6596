//go:build linux || darwin

package proc

import (
	"errors"
	"io"
	"os"
	"syscall"
	"time"
)

// An Output is what the child and its tree write to one descriptor. It ends (io.EOF) at the latest when the tree is
// dead and what it had written is read, whoever may still hold the other end. One goroutine may read it at a time.
type Output struct{ f *os.File }

func newOutput(f *os.File) *Output { return &Output{f} }

// Read reads what has come. At the end it closes the descriptor.
func (o *Output) Read(p []byte) (int, error) {
	n, err := o.f.Read(p)
	if n == 0 && errors.Is(err, os.ErrDeadlineExceeded) {
		n, err = o.drain(p)
	}
	if err == io.EOF {
		o.f.Close()
	} else if errors.Is(err, os.ErrClosed) {
		err = io.EOF
	}
	return n, err
}

// Close gives up the rest; who still writes gets a broken pipe.
func (o *Output) Close() error {
	err := o.f.Close()
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

// treeIsDead lets Read return what is buffered, then the end.
func (o *Output) treeIsDead() { _ = o.f.SetReadDeadline(time.Unix(1, 0)) }

// drain reads past the deadline, without waiting.
func (o *Output) drain(p []byte) (n int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	raw, err := o.f.SyscallConn()
	if err != nil {
		return 0, err
	}
	cerr := raw.Control(func(fd uintptr) {
		for {
			n, err = syscall.Read(int(fd), p)
			if err != syscall.EINTR {
				return
			}
		}
	})
	switch {
	case cerr != nil:
		return 0, cerr
	case err == syscall.EAGAIN || err == nil && n == 0:
		return 0, io.EOF
	case err != nil:
		return 0, &os.PathError{Op: "read", Path: o.f.Name(), Err: err}
	}
	return n, nil
}
