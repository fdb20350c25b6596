package proc

import (
	"math"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// guardianName is what is shown of a guardian where arguments are not, at most 15 bytes; started from /proc/self/exe it
// would be "exe".
const guardianName = "oc-guardian"

func nameGuardian() { _ = os.WriteFile("/proc/self/comm", []byte(guardianName), 0) }

// becomeSubreaper makes this process the parent of whatever its descendants orphan.
func becomeSubreaper() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// ownBinary stays valid when the file is replaced or removed by an update.
func ownBinary() (string, error) { return OwnBinary, nil }

// OwnBinary is this program for whatever process of it looks: of a child that is to become another part of us it is the
// program as it was when we started, also when the file has been replaced or removed since.
const OwnBinary = "/proc/self/exe"

// newPipe returns both ends, close-on-exec and blocking.
func newPipe() (r, w int, err error) {
	var fd [2]int
	err = unix.Pipe2(fd[:], unix.O_CLOEXEC)
	return fd[0], fd[1], err
}

// childAttributes: a group of its own, so that a group signal of the child spares the guardian; and KILL when the
// guardian dies, for the case that it and the tool die at once.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// closeOnExecFrom keeps every descriptor from first on out of the programs that this process starts, those that we
// inherited ourselves too: an open file passes any sandbox.
func closeOnExecFrom(first int) error {
	err := unix.CloseRange(uint(first), math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	if err == nil {
		return nil
	}
	d, err := os.Open("/proc/self/fd")
	if err != nil {
		return err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	for _, name := range names {
		if fd, aerr := strconv.Atoi(name); aerr == nil && fd >= first {
			unix.CloseOnExec(fd)
		}
	}
	return err
}

// maxRSS: the kernel counts in KiB.
func maxRSS(ru *syscall.Rusage) int64 { return ru.Maxrss << 10 }

// roomy is the size of the pipe for stdout: the most that every user may ask for (/proc/sys/fs/pipe-max-size). A child that
// does not wait for its own output at its end loses what the pipe does not hold.
const roomy = 1 << 20

// enlarge does what it can: a user with very many pipes is refused.
func enlarge(pipe *os.File) {
	_, _ = unix.FcntlInt(pipe.Fd(), unix.F_SETPIPE_SZ, roomy)
}
