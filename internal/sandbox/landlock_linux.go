package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	// The library's system calls, not its policies: those follow symbolic links in a path and have no rights by inode.
	landlock "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// Rights to files and directories, in the words of linux/landlock.h.
const (
	readFile = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_EXECUTE
	readDir  = unix.LANDLOCK_ACCESS_FS_READ_DIR
	read     = readFile | readDir
	// write leaves out the making of device files: one of a disk, made by root, would be a way out.
	write = read | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE |
		unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER
	makeDevice = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK
	device     = readFile | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	// onFile are the rights that a rule on something other than a directory may carry; the kernel refuses others.
	onFile = device
)

// minABI is the first version that governs truncation. Below it a "read-only" run could empty any file, so it counts as none.
const minABI = 3

// Detect says what the running kernel can enforce. getenv is os.Getenv, or a test's.
func Detect(getenv func(string) string) Support {
	if getenv(NoLandlockEnv) == "1" {
		return Support{Reason: NoLandlockEnv + " is set"}
	}
	version, err := landlock.LandlockGetABIVersion()
	switch {
	case errors.Is(err, unix.ENOSYS):
		return Support{Reason: "the kernel has no Landlock (Linux 6.2 or newer has what is needed)"}
	case errors.Is(err, unix.EOPNOTSUPP):
		return Support{Reason: "Landlock is switched off in this kernel (boot parameter lsm=)"}
	case err != nil:
		return Support{Reason: fmt.Sprintf("the kernel refuses Landlock: %v", err)}
	}
	s := supportOf(version)
	if gap := filterGap(); s.OK() && gap != "" {
		s.Gaps = append(s.Gaps, gap)
	}
	return s
}

func supportOf(abi int) Support {
	s := Support{ABI: abi}
	if abi < minABI {
		s.Reason = fmt.Sprintf("Landlock ABI %d of this kernel does not govern truncation (ABI %d, Linux 6.2, does)", abi, minABI)
		return s
	}
	if abi < 5 {
		s.Gaps = append(s.Gaps, "device control (ioctl) is not restricted")
	}
	if abi < 6 {
		s.Gaps = append(s.Gaps, "signals to other processes and abstract sockets are not restricted")
	}
	return s
}

// handled is what a ruleset of this ABI denies unless a rule grants it.
func handled(abi int) landlock.RulesetAttr {
	attr := landlock.RulesetAttr{HandledAccessFS: write | makeDevice}
	if abi >= 5 {
		attr.HandledAccessFS |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if abi >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	return attr
}

// A ruleset is a Landlock ruleset under construction.
type ruleset struct {
	fd      int
	handled uint64
}

func newRuleset(abi int) (ruleset, error) {
	attr := handled(abi)
	// The kernel takes the size as the version of the structure, and refuses fields that it does not know unless they are zero.
	fd, err := landlock.LandlockCreateRuleset(&attr, 0)
	if err != nil {
		return ruleset{}, fmt.Errorf("landlock_create_ruleset: %w", err)
	}
	return ruleset{fd, attr.HandledAccessFS}, nil
}

// allow grants rights below path. Nothing in path may be a symbolic link: it would carry the grant to another place. What
// does not exist, or cannot be reached by this user, needs no rule.
func (r ruleset) allow(path string, rights uint64) error {
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENOTDIR) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
	case unix.S_IFCHR:
		if rights&unix.LANDLOCK_ACCESS_FS_WRITE_FILE != 0 {
			rights |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
		}
		rights &= onFile
	default:
		rights &= onFile
	}
	rule := landlock.PathBeneathAttr{AllowedAccess: rights & r.handled, ParentFd: fd}
	if err := landlock.LandlockAddPathBeneathRule(r.fd, &rule, 0); err != nil {
		return fmt.Errorf("landlock_add_rule for %s: %w", path, err)
	}
	return nil
}

// devices may be written by every run. A terminal needs ioctl as well.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/ptmx"}

// fill turns the policy into rules.
func (r ruleset) fill(p Policy) error {
	for _, path := range p.Write {
		if err := r.allow(path, write); err != nil {
			return err
		}
	}
	for _, path := range p.Read {
		if err := r.allow(path, read); err != nil {
			return err
		}
	}
	for _, path := range devices {
		if err := r.allow(path, device); err != nil && !errors.Is(err, unix.ELOOP) { // in containers ptmx is a link into pts
			return err
		}
	}
	if err := r.allow("/dev/pts", device|readDir); err != nil {
		return err
	}
	if err := r.allow(sharedMemory, write); err != nil {
		return err
	}
	return r.readAround("/", p.Hide)
}

// readAround makes everything below dir readable but what is hidden. A rule holds for all that is below its
// directory and nothing can be taken out of it, so a directory that holds something hidden is only listed, and its
// other entries get a rule each. Entries that appear there later cannot be read.
func (r ruleset) readAround(dir string, hide []string) error {
	var below []string
	for _, h := range hide {
		if h == dir {
			return nil
		}
		if within(h, dir) {
			below = append(below, h)
		}
	}
	if len(below) == 0 {
		return r.allowChild(dir, read)
	}
	if err := r.allowChild(dir, readDir); err != nil {
		return err
	}
	names, err := list(dir)
	if err != nil { // it may be searched but not listed: then only the way to what is hidden is known
		names = nil
		for _, h := range below {
			names = append(names, firstName(dir, h))
		}
	}
	for _, name := range names {
		if err := r.readAround(filepath.Join(dir, name), below); err != nil {
			return err
		}
	}
	return nil
}

// allowChild is allow for what a listing named: a symbolic link there is no place of its own, and gets nothing.
func (r ruleset) allowChild(path string, rights uint64) error {
	err := r.allow(path, rights)
	if errors.Is(err, unix.ELOOP) {
		return nil
	}
	return err
}

// firstName is the first element of path below dir.
func firstName(dir, path string) string {
	rest := strings.TrimPrefix(strings.TrimPrefix(path, dir), "/")
	name, _, _ := strings.Cut(rest, "/")
	return name
}

func list(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

// restrictAndExec replaces this process by argv, restricted. It returns only with an error.
func restrictAndExec(p Policy, argv, environ []string) error {
	r, err := newRuleset(Detect(os.Getenv).ABI)
	if err != nil {
		return err
	}
	if err := r.fill(p); err != nil {
		return err
	}
	// Restriction, Landlock's and the filter's, is a property of a thread, and execve keeps that of the thread that calls it: so one thread is enough.
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	if err := restrictCalls(); err != nil {
		return err
	}
	if err := dropCapabilities(); err != nil {
		return err
	}
	if err := landlock.LandlockRestrictSelf(r.fd, 0); err != nil {
		return fmt.Errorf("landlock_restrict_self: %w", err)
	}
	unix.Close(r.fd)
	return fmt.Errorf("%s: %w", argv[0], syscall.Exec(argv[0], argv, environ))
}
