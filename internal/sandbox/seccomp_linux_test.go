package sandbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// callsRole makes the test binary try what the filter refuses, on the process whose id is its argument.
const callsRole = "__calls"

// callsMain plays that role when args ask for it.
func callsMain(args []string) (exit int, ok bool) {
	if len(args) != 3 || args[1] != callsRole {
		return 0, false
	}
	return tryCalls(args[2]), true
}

// tryCalls prints what became of each call, a line each.
func tryCalls(victim string) int {
	pid, err := strconv.Atoi(victim)
	if err != nil {
		return 2
	}
	say := func(name string, err error) { fmt.Printf("%s: %v\n", name, err) }
	var old unix.Rlimit
	say("read own", unix.Prlimit(0, unix.RLIMIT_CPU, nil, &old))
	say("set own", unix.Prlimit(0, unix.RLIMIT_CPU, &old, nil))
	say("read other", unix.Prlimit(pid, unix.RLIMIT_CPU, nil, &old))
	say("set other", unix.Prlimit(pid, unix.RLIMIT_CPU, &unix.Rlimit{}, nil))
	say("exchange other", unix.Prlimit(pid, unix.RLIMIT_CPU, &unix.Rlimit{}, &old))
	say("signal other", unix.Kill(pid, unix.SIGTERM))
	say("attach other", unix.PtraceAttach(pid))
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return 2
	}
	_, err = unix.PidfdGetfd(fd, 0, 0)
	say("take descriptor", err)
	say("signal by descriptor", unix.PidfdSendSignal(fd, unix.SIGTERM, nil, 0))
	word := []byte{0}
	_, err = unix.ProcessVMWritev(pid, []unix.Iovec{{Base: &word[0], Len: 1}}, []unix.RemoteIovec{{Base: 4096, Len: 1}}, 0)
	say("write memory", err)
	say("type", unix.IoctlSetInt(0, unix.TIOCSTI, 0))
	_, err = unix.KeyctlInt(unix.KEYCTL_GET_KEYRING_ID, unix.KEY_SPEC_USER_KEYRING, 0, 0, 0)
	say("keyring", err)
	return 0
}

func TestOtherProcessesAreOutOfReach(t *testing.T) {
	b := newBench(t)
	victim := exec.Command("sleep", "60")
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = victim.Process.Kill(); _ = victim.Wait() }()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, code := b.exec(t, b.readOnly(t), []string{self, callsRole, strconv.Itoa(victim.Process.Pid)})
	if code != 0 {
		t.Fatalf("exit %d, %s", code, out)
	}
	said := map[string]string{}
	for line := range strings.Lines(out) {
		name, result, _ := strings.Cut(strings.TrimSpace(line), ": ")
		said[name] = result
	}
	for name, want := range map[string]string{
		"read own": "<nil>", "set own": "<nil>", "read other": "<nil>",
		"set other": unix.EPERM.Error(), "exchange other": unix.EPERM.Error(), "signal other": unix.EPERM.Error(), "attach other": unix.EPERM.Error(),
		"take descriptor": unix.EPERM.Error(), "signal by descriptor": unix.EPERM.Error(), "write memory": unix.EPERM.Error(),
		"type": unix.EPERM.Error(), "keyring": unix.EPERM.Error(),
	} {
		if said[name] != want {
			t.Errorf("%s: %q, want %q", name, said[name], want)
		}
	}
	var limit unix.Rlimit
	if err := unix.Prlimit(victim.Process.Pid, unix.RLIMIT_CPU, nil, &limit); err != nil || limit.Max == 0 {
		t.Errorf("the process outside has limits %+v (%v)", limit, err)
	}
}

// What the filter must leave alone: a shell's ulimit, and terminals of the run's own.
func TestTheFilterLetsOrdinaryCallsThrough(t *testing.T) {
	b := newBench(t)
	tries := []try{
		{"ulimit", "ulimit -S -n 64 && test $(ulimit -n) = 64 && ulimit -t 1000"}, {"nice", "nice -n 5 true"},
		{"terminal", "script -qec 'stty -echo && stty size' /dev/null"},
	}
	if _, err := exec.LookPath("script"); err != nil {
		tries = tries[:2]
	}
	for name, code := range b.results(t, b.readOnly(t), tries) {
		if code != 0 {
			t.Errorf("%s failed with %d:\n%s", name, code, tail(content(t, filepath.Join(b.run.Tmp, "said"))))
		}
	}
}

func TestFilter(t *testing.T) {
	const p, refused, allowed = 0x7fff00001000, unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM), unix.SECCOMP_RET_ALLOW
	amd64, arm64 := filter(callTables["amd64"]), filter(callTables["arm64"])
	for _, c := range []struct {
		name     string
		program  []unix.SockFilter
		arch, nr uint32
		args     [3]uint64
		want     uint32
	}{
		{"amd64 set other", amd64, unix.AUDIT_ARCH_X86_64, 302, [3]uint64{7, 0, p}, refused},
		{"amd64 set other, pointer above 4 GiB only", amd64, unix.AUDIT_ARCH_X86_64, 302, [3]uint64{7, 0, 1 << 32}, refused},
		{"amd64 set other, pointer below", amd64, unix.AUDIT_ARCH_X86_64, 302, [3]uint64{7, 0, 4096}, refused},
		{"amd64 read other", amd64, unix.AUDIT_ARCH_X86_64, 302, [3]uint64{7, 0, 0}, allowed},
		{"amd64 set own", amd64, unix.AUDIT_ARCH_X86_64, 302, [3]uint64{0, 0, p}, allowed},
		{"amd64 set own, rubbish above", amd64, unix.AUDIT_ARCH_X86_64, 302, [3]uint64{1 << 32, 0, p}, allowed},
		{"amd64 set other, rubbish above", amd64, unix.AUDIT_ARCH_X86_64, 302, [3]uint64{1<<32 | 7, 0, p}, refused},
		{"x32 set other", amd64, unix.AUDIT_ARCH_X86_64, 1<<30 | 302, [3]uint64{7, 0, p}, refused},
		{"i386 set other", amd64, unix.AUDIT_ARCH_I386, 340, [3]uint64{7, 0, 4096}, refused},
		{"i386 set own", amd64, unix.AUDIT_ARCH_I386, 340, [3]uint64{0, 0, 4096}, allowed},
		{"i386 302 is another call", amd64, unix.AUDIT_ARCH_I386, 302, [3]uint64{7, 0, p}, allowed},
		{"amd64 340 is another call", amd64, unix.AUDIT_ARCH_X86_64, 340, [3]uint64{7, 0, p}, allowed},
		{"arm64 set other", arm64, unix.AUDIT_ARCH_AARCH64, 261, [3]uint64{7, 0, p}, refused},
		{"arm64 set own", arm64, unix.AUDIT_ARCH_AARCH64, 261, [3]uint64{0, 0, p}, allowed},
		{"arm set other", arm64, unix.AUDIT_ARCH_ARM, 369, [3]uint64{7, 0, 4096}, refused},
		{"amd64 TIOCSTI", amd64, unix.AUDIT_ARCH_X86_64, 16, [3]uint64{0, 0x5412, p}, refused},
		{"amd64 TIOCSTI, rubbish above", amd64, unix.AUDIT_ARCH_X86_64, 16, [3]uint64{0, 1<<32 | 0x5412, p}, refused},
		{"amd64 TIOCLINUX", amd64, unix.AUDIT_ARCH_X86_64, 16, [3]uint64{0, 0x541c, p}, refused},
		{"amd64 TCGETS", amd64, unix.AUDIT_ARCH_X86_64, 16, [3]uint64{0, 0x5401, p}, allowed},
		{"x32 TIOCSTI", amd64, unix.AUDIT_ARCH_X86_64, 1<<30 | 514, [3]uint64{0, 0x5412, p}, refused},
		{"i386 TIOCSTI", amd64, unix.AUDIT_ARCH_I386, 54, [3]uint64{0, 0x5412, p}, refused},
		{"arm64 TIOCSTI", arm64, unix.AUDIT_ARCH_AARCH64, 29, [3]uint64{0, 0x5412, p}, refused},
		{"arm TIOCSTI", arm64, unix.AUDIT_ARCH_ARM, 54, [3]uint64{0, 0x5412, p}, refused},
		{"amd64 add_key", amd64, unix.AUDIT_ARCH_X86_64, 248, [3]uint64{}, refused},
		{"amd64 keyctl", amd64, unix.AUDIT_ARCH_X86_64, 250, [3]uint64{}, refused},
		{"i386 keyctl", amd64, unix.AUDIT_ARCH_I386, 288, [3]uint64{}, refused},
		{"arm64 keyctl", arm64, unix.AUDIT_ARCH_AARCH64, 219, [3]uint64{}, refused},
		{"arm keyctl", arm64, unix.AUDIT_ARCH_ARM, 311, [3]uint64{}, refused},
		{"amd64 read", amd64, unix.AUDIT_ARCH_X86_64, 0, [3]uint64{}, allowed},
		{"amd64 execve", amd64, unix.AUDIT_ARCH_X86_64, 59, [3]uint64{7, 0x5412, p}, allowed},
		{"an unknown architecture", amd64, unix.AUDIT_ARCH_ARM, 369, [3]uint64{7, 0, p}, allowed},
	} {
		got, err := judge(c.program, c.arch, c.nr, c.args)
		if err != nil || got != c.want {
			t.Errorf("%s: %#x, want %#x (%v)", c.name, got, c.want, err)
		}
	}
}

// judge interprets a program as the kernel does, for the architectures that do not run here.
func judge(program []unix.SockFilter, arch, nr uint32, args [3]uint64) (uint32, error) {
	data := make([]byte, 64)
	binary.LittleEndian.PutUint32(data, nr)
	binary.LittleEndian.PutUint32(data[4:], arch)
	for i, a := range args {
		binary.LittleEndian.PutUint64(data[16+8*i:], a)
	}
	var word uint32
	for at := 0; at < len(program); at++ {
		switch in := program[at]; in.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			word = binary.LittleEndian.Uint32(data[in.K:])
		case unix.BPF_ALU | unix.BPF_AND | unix.BPF_K:
			word &= in.K
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			if word == in.K {
				at += int(in.Jt)
			} else {
				at += int(in.Jf)
			}
		case unix.BPF_RET | unix.BPF_K:
			return in.K, nil
		default:
			return 0, fmt.Errorf("instruction %d is %#x", at, in.Code)
		}
	}
	return 0, errors.New("the program ends without a verdict")
}
