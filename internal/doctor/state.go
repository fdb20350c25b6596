package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"

	"opencode-delegate/internal/job"
	"opencode-delegate/internal/lock"
)

// state looks at the state directory and, where it can be used, at the jobs in it.
func (x *examination) state(ctx context.Context) []Finding {
	fail := func(err error) []Finding {
		return []Finding{of("state", Fail, err, "name a directory of your own in OC_DELEGATE_STATE")}
	}
	x.Host.CacheDir = ""
	root, err := job.RootPath(x.getenv, x.Host.Home)
	if err != nil {
		return fail(err)
	}
	store, err := job.OpenStore(root, x.Host.Secrets)
	if err != nil {
		return fail(err)
	}
	x.Host.CacheDir = store.CacheDir()
	list := []Finding{directory(root), space(root), locks(root)}
	jobs, err := x.jobs(ctx, store)
	if err != nil {
		return append(list, of("jobs", Fail, err, "see whether the directory can be read: "+root))
	}
	return append(list, jobs...)
}

// directory is whether the state directory can be written, by nobody else. That it is one of our own is seen to by whoever opens it.
func directory(root string) Finding {
	f := Finding{Name: "state", Level: OK, What: root}
	probe, err := os.CreateTemp(root, ".tmp-doctor-*")
	if err == nil {
		_, err = probe.WriteString("x")
		err = errors.Join(err, probe.Sync(), probe.Close(), os.Remove(probe.Name()))
	}
	if err != nil {
		return Finding{Name: "state", Level: Fail, What: fmt.Sprintf("%s cannot be written: %v", root, bare(err)), Remedy: "make room or see to its rights, or name another directory in OC_DELEGATE_STATE"}
	}
	if fi, err := os.Stat(root); err == nil && fi.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" {
		f.Level, f.What, f.Remedy = Warn, fmt.Sprintf("%s is open to others: mode %04o", root, fi.Mode().Perm()), "chmod 700 "+root
	}
	return f
}

// bare is an error without the path, which is named anyway.
func bare(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// The room below which it is told, and that below which jobs end badly. The longest result has 64 MiB.
const (
	littleSpace, noSpace   = 1 << 30, 50 << 20
	littleFiles, hardFiles = 10_000, 500
)

// space is whether there is room for what jobs write.
func space(root string) Finding {
	bytes, files, err := free(root)
	if err != nil {
		return Finding{Name: "space", Level: Warn, What: fmt.Sprintf("free space is not known: %v", err), Remedy: "see to it yourself that there is 1 GiB or more on the disk of " + root}
	}
	return judgeSpace(root, bytes, files)
}

// judgeSpace says whether so many bytes and files are enough. Files below 0 are not known, or have no limit.
func judgeSpace(root string, bytes uint64, files int64) Finding {
	f := Finding{Name: "space", Level: OK, What: sizeOf(bytes) + " free"}
	lower := func(level Level, what string) {
		if f.Level != Fail {
			f.Level = level
		}
		f.What = what
		f.Remedy = "make room on the disk of " + root + "; oc-job gc removes the records of old jobs"
	}
	switch {
	case bytes < noSpace:
		lower(Fail, "only "+sizeOf(bytes)+" free")
	case bytes < littleSpace:
		lower(Warn, "only "+sizeOf(bytes)+" free")
	}
	switch {
	case files < 0:
	case files < hardFiles:
		lower(Fail, f.What+", and room for only "+strconv.FormatInt(files, 10)+" more files")
	case files < littleFiles:
		lower(Warn, f.What+", and room for only "+strconv.FormatInt(files, 10)+" more files")
	}
	return f
}

func sizeOf(n uint64) string {
	if n < 1<<30 {
		return strconv.FormatUint(n>>20, 10) + " MiB"
	}
	return strconv.FormatFloat(float64(n)/(1<<30), 'f', 1, 64) + " GiB"
}

// locks is whether the file system really locks, tried with descriptors of our own: on one that only pretends, two supervisors would take
// each other for dead.
func locks(root string) Finding {
	if err := tryLocks(root); err != nil {
		return Finding{Name: "locks", Level: Fail, What: fmt.Sprintf("file locks in %s: %v", root, err), Remedy: "name a directory on a local disk in OC_DELEGATE_STATE"}
	}
	return Finding{Name: "locks", Level: OK, What: "file locks work"}
}

func tryLocks(root string) error {
	probe, err := os.CreateTemp(root, ".tmp-doctor-*")
	if err != nil {
		return bare(err)
	}
	path := probe.Name()
	defer os.Remove(path)
	if err := probe.Close(); err != nil {
		return err
	}
	first, err := lock.Try(path)
	if err != nil {
		return err
	}
	second, err := lock.Try(path)
	if err == nil {
		second.Release()
		first.Release()
		return errors.New("two descriptors hold the same lock")
	}
	first.Release()
	if !errors.Is(err, lock.ErrHeld) {
		return err
	}
	if held, err := lock.Held(path); err != nil || held {
		return errors.Join(errors.New("a lock is held that was released"), err)
	}
	return nil
}
