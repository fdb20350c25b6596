//go:build linux || darwin

package proc

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

// Descriptors of a guardian. Its own 0, 1 and 2 are the null device, so that nothing it could say mixes with the child.
const (
	controlFD = 3 + iota // from the tool: one spec, then silence until the end of the tool
	statusFD             // to the tool: messages
	stdinFD              // the child's 0, 1 and 2
	stdoutFD
	stderrFD
)

// Linux accepts at most 6 MiB of arguments and environment, whatever the stack limit (execve(2)), macOS 1 MiB. What is above
// argLimit is not offered to it; specLimit is argLimit in base64, with room for punctuation.
const (
	argLimit  = 8 << 20
	specLimit = 16 << 20
)

// A spec is what the guardian starts. Bytes, not strings: JSON would replace what is not UTF-8.
type spec struct {
	Argv, Env [][]byte
	Dir       []byte
	Marker    string
}

// A message is one line from the guardian. Exactly one member is set.
type message struct {
	Started *started `json:",omitempty"`
	Failed  *failed  `json:",omitempty"`
	Ended   *ended   `json:",omitempty"`
	Empty   bool     `json:",omitempty"` // the guardian has no child left, hence no descendant
}

type started struct {
	PID   int
	Start uint64
}

type failed struct {
	Errno syscall.Errno // 0 when Text says it all
	Text  string
}

type ended struct {
	Status syscall.WaitStatus
	CPU    time.Duration
	MaxRSS int64
}

func toBytes(ss []string) [][]byte {
	bs := make([][]byte, len(ss))
	for i, s := range ss {
		bs[i] = []byte(s)
	}
	return bs
}

func toStrings(bs [][]byte) []string {
	ss := make([]string, len(bs))
	for i, b := range bs {
		ss[i] = string(b)
	}
	return ss
}

func writeSpec(w io.Writer, c Command) error {
	size := len(c.Dir)
	for _, list := range [][]string{c.Argv, c.Env} {
		for _, s := range list {
			size += len(s) + 1
		}
	}
	if size > argLimit {
		return syscall.E2BIG
	}
	b, err := json.Marshal(spec{Argv: toBytes(c.Argv), Env: toBytes(c.environ()), Dir: []byte(c.Dir), Marker: c.Marker})
	if err != nil {
		return err
	}
	if len(b) > specLimit {
		return syscall.E2BIG // a great many very short arguments
	}
	_, err = w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...))
	return err
}

func readSpec(r io.Reader) (spec, error) {
	var s spec
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return s, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > specLimit {
		return s, fmt.Errorf("spec of %d bytes", n)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		return s, err
	}
	err := json.Unmarshal(b, &s)
	if err == nil && len(s.Argv) == 0 {
		err = errors.New("spec without a program")
	}
	return s, err
}

// set translates the end of the child.
func (e *Exit) set(m ended) {
	e.Code, e.Signal = -1, ""
	switch {
	case m.Status.Exited():
		e.Code = m.Status.ExitStatus()
	case m.Status.Signaled():
		e.Signal = signalName(m.Status.Signal())
	}
	e.CPU, e.MaxRSS = m.CPU, m.MaxRSS
}

func endedFrom(ws syscall.WaitStatus, ru *syscall.Rusage) ended {
	cpu := time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
	return ended{Status: ws, CPU: cpu, MaxRSS: maxRSS(ru)}
}

// pipes are the five pipes between tool, guardian and child. Ours are pollable; the others are blocking, as a
// child expects of its standard descriptors.
type pipes struct {
	control, status, stdin, stdout, stderr *os.File    // our ends; stdin is nil when the child's is the null device
	theirs                                 [5]*os.File // in the order of the descriptors
}

func openPipes(stdin bool) (*pipes, error) {
	p := &pipes{}
	open := func(slot int, ours **os.File, weRead bool) error {
		r, w, err := newPipe()
		if err != nil {
			return err
		}
		mine, other := r, w
		if !weRead {
			mine, other = w, r
		}
		p.theirs[slot] = os.NewFile(uintptr(other), "pipe")
		if err := syscall.SetNonblock(mine, true); err != nil {
			syscall.Close(mine)
			return err
		}
		*ours = os.NewFile(uintptr(mine), "pipe")
		return nil
	}
	err := open(0, &p.control, false)
	if err == nil {
		err = open(1, &p.status, true)
	}
	switch {
	case err != nil:
	case stdin:
		err = open(2, &p.stdin, false)
	default:
		p.theirs[2], err = os.Open(os.DevNull)
	}
	if err == nil {
		err = open(3, &p.stdout, true)
	}
	if err == nil {
		enlarge(p.theirs[3])
	}
	if err == nil {
		err = open(4, &p.stderr, true)
	}
	if err != nil {
		p.closeTheirs()
		p.closeOurs()
		return nil, err
	}
	return p, nil
}

func (p *pipes) closeTheirs() {
	for _, f := range p.theirs {
		if f != nil {
			f.Close()
		}
	}
}

func (p *pipes) closeOurs() {
	for _, f := range []*os.File{p.control, p.status, p.stdin, p.stdout, p.stderr} {
		if f != nil {
			f.Close()
		}
	}
}
