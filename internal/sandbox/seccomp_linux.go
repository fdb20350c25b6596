package sandbox

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Landlock's scopes end signals and ptrace at the sandbox, and know nothing of a few system calls that reach other processes of the
// user all the same. A seccomp filter refuses those with EPERM:
//
//   - prlimit(2) that sets a limit and names a process, be it the caller's own: RLIMIT_CPU 0 kills it, and the filter cannot know
//     which process is outside. setrlimit of every C library, and ulimit, name none (0).
//   - ioctl(2) TIOCSTI and TIOCLINUX, which type into a terminal that is shared with the user.
//   - add_key, request_key and keyctl: the keyrings are the user's, with Kerberos tickets and keys of file systems in them.
//
// Everything else is allowed.

// A callTable holds the numbers of those calls in one architecture.
type callTable struct {
	arch    uint32 // AUDIT_ARCH_*
	mask    uint32 // what of a number counts; the rest tells variants of the architecture
	prlimit uint32
	ioctl   []uint32
	keys    []uint32
}

// callTables are, for each GOARCH, the tables that its kernel may serve: a 64-bit process can make 32-bit calls. The numbers are from the
// kernel's syscall tables. x32 shares the arch of amd64 and differs in bit 30; its ioctl has a number of its own.
var callTables = map[string][]callTable{
	"amd64": {
		{unix.AUDIT_ARCH_X86_64, ^uint32(1 << 30), 302, []uint32{16, 514}, []uint32{248, 249, 250}},
		{unix.AUDIT_ARCH_I386, ^uint32(0), 340, []uint32{54}, []uint32{286, 287, 288}},
	},
	"arm64": {
		{unix.AUDIT_ARCH_AARCH64, ^uint32(0), 261, []uint32{29}, []uint32{217, 218, 219}},
		{unix.AUDIT_ARCH_ARM, ^uint32(0), 369, []uint32{54}, []uint32{309, 310, 311}},
	},
}

// Offsets in struct seccomp_data, and the halves of an argument: both architectures are little-endian.
const (
	atNumber = 0
	atArch   = 4
	atArgs   = 16
)

func low(arg uint32) uint32  { return atArgs + 8*arg }
func high(arg uint32) uint32 { return low(arg) + 4 }

func load(offset uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
}

// equal jumps over so many instructions when the loaded word is, or is not, value.
func equal(value uint32, is, isNot uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: is, Jf: isNot, K: value}
}

func verdict(action uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: action}
}

// when runs body, which must end in a verdict on every way, if the loaded word is value.
func when(value uint32, body ...unix.SockFilter) []unix.SockFilter {
	return append([]unix.SockFilter{equal(value, 0, uint8(len(body)))}, body...)
}

// filter is the program for the tables. A call of an architecture that has none is allowed.
func filter(tables []callTable) []unix.SockFilter {
	allow, deny := verdict(unix.SECCOMP_RET_ALLOW), verdict(unix.SECCOMP_RET_ERRNO|uint32(unix.EPERM))
	program := []unix.SockFilter{load(atArch)}
	for _, t := range tables {
		body := []unix.SockFilter{load(atNumber), {Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: t.mask}}
		body = append(body, when(t.prlimit,
			// The kernel takes the pid as 32 bits, whatever stands above them.
			load(low(0)), equal(0, 5, 0),
			load(low(2)), equal(0, 0, 2),
			load(high(2)), equal(0, 1, 0),
			deny, allow)...)
		for _, nr := range t.ioctl {
			body = append(body, when(nr, load(low(1)), equal(unix.TIOCSTI, 1, 0), equal(unix.TIOCLINUX, 0, 1), deny, allow)...)
		}
		for _, nr := range t.keys {
			body = append(body, when(nr, deny)...)
		}
		program = append(program, when(t.arch, append(body, allow)...)...)
	}
	return append(program, allow)
}

// filterGap says why the filter cannot be had here; empty when it can.
func filterGap() string {
	const open = ": limits of other processes of the user (prlimit), keyrings and terminal input are not restricted"
	if callTables[runtime.GOARCH] == nil {
		return "there is no system call filter for " + runtime.GOARCH + open
	}
	action := uint32(unix.SECCOMP_RET_ERRNO)
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	if errors.Is(errno, unix.ENOSYS) || errors.Is(errno, unix.EINVAL) {
		return "the kernel has no system call filters (seccomp)" + open
	}
	return ""
}

// restrictCalls puts the filter on the calling thread, for good. It does nothing where filterGap gives a reason.
func restrictCalls() error {
	if filterGap() != "" {
		return nil
	}
	program := filter(callTables[runtime.GOARCH])
	fprog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&fprog)))
	runtime.KeepAlive(program)
	if errno != 0 {
		return fmt.Errorf("seccomp filter: %w", errno)
	}
	return nil
}
