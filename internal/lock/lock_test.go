package lock

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestTheLockIsExclusiveWithinAProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lease")
	if held, err := Held(path); held || err != nil {
		t.Errorf("a missing file is held: %v, %v", held, err)
	}
	l, err := Try(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Try(path); !errors.Is(err, ErrHeld) || !strings.Contains(err.Error(), path) {
		t.Errorf("a second one: %v", err)
	}
	// A second descriptor that is closed must not drop the first one's lock, as it does with POSIX locks.
	for range 3 {
		if held, err := Held(path); !held || err != nil {
			t.Errorf("held %v, %v", held, err)
		}
	}
	l.Release()
	if held, err := Held(path); held || err != nil {
		t.Errorf("after the release: held %v, %v", held, err)
	}
	if fi, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && fi.Mode().Perm() != 0o600 {
		t.Errorf("the file after the release: %v, %v", fi, err)
	}
	if l, err = Try(path); err != nil {
		t.Fatalf("after the release: %v", err)
	}
	l.Release()
}

func TestModeOfTheFileHoldsWhateverItWas(t *testing.T) {
	if runtime.GOOS == "windows" {
		return
	}
	path := filepath.Join(t.TempDir(), "lease")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	l, err := Try(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()
	if fi, _ := os.Stat(path); fi.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", fi.Mode())
	}
}

// Who asks does not hold: a hundred who ask all the time keep nobody from taking the lock, and see no lock in each other.
func TestAskingTakesNothing(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("these systems ask with a shared lock that is dropped at once")
	}
	path := filepath.Join(t.TempDir(), "lease")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var stop atomic.Bool
	var saw atomic.Int64
	var asked sync.WaitGroup
	for range 8 {
		asked.Go(func() {
			for !stop.Load() {
				if held, err := Held(path); held || err != nil {
					saw.Add(1)
				}
			}
		})
	}
	time.Sleep(50 * time.Millisecond)
	stop.Store(true)
	asked.Wait()
	if n := saw.Load(); n != 0 {
		t.Errorf("readers saw each other %d times", n)
	}
	stop.Store(false)
	for range 8 {
		asked.Go(func() {
			for !stop.Load() {
				_, _ = Held(path)
			}
		})
	}
	for range 500 {
		l, err := Try(path)
		if err != nil {
			t.Errorf("a reader kept the lock from being taken: %v", err)
			break
		}
		l.Release()
	}
	stop.Store(true)
	asked.Wait()
}

func TestOneOfManyGetsIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lease")
	var inside, most, times atomic.Int64
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 10 {
				l, err := Take(t.Context(), path)
				if err != nil {
					t.Error(err)
					return
				}
				if n := inside.Add(1); n > most.Load() {
					most.Store(n)
				}
				times.Add(1)
				inside.Add(-1)
				l.Release()
			}
		})
	}
	all.Wait()
	if most.Load() != 1 || times.Load() != 160 {
		t.Errorf("%d at once, %d times", most.Load(), times.Load())
	}
}

func TestTakeEndsWithItsContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lease")
	l, err := Try(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := Take(ctx, path); !errors.Is(err, ErrHeld) {
		t.Errorf("%v", err)
	}
	if d := time.Since(began); d < 50*time.Millisecond || d > 10*time.Second {
		t.Errorf("took %v", d)
	}
	// A context that is over does not keep from a lock that is free.
	free, err := Take(ctx, path+"2")
	if err != nil {
		t.Fatal(err)
	}
	free.Release()
}

func TestFreeReturnsWhenTheContextEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lease")
	l, err := Try(path)
	if err != nil {
		t.Fatal(err)
	}
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(30*time.Millisecond, func() { cancel(cause) })
	if err := Free(ctx, path); !errors.Is(err, cause) {
		t.Errorf("%v", err)
	}
	// Whoever goes on waiting behind our back keeps nobody from the lock.
	l.Release()
	time.Sleep(20 * time.Millisecond)
	if l, err = Try(path); err != nil {
		t.Fatalf("the one who gave up waiting still holds: %v", err)
	}
	l.Release()
}

func TestFreeOfWhatIsFree(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lease")
	if err := Free(t.Context(), path); err != nil {
		t.Errorf("missing: %v", err)
	}
	l, err := Try(path)
	if err != nil {
		t.Fatal(err)
	}
	l.Release()
	if err := Free(t.Context(), path); err != nil {
		t.Errorf("free: %v", err)
	}
}

func TestWhatIsNoFileIsRefused(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	if err := os.WriteFile(target, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, link); err != nil {
		t.Skip(err)
	}
	dangling := filepath.Join(dir, "dangling")
	if err := os.Symlink(filepath.Join(dir, "nothing"), dangling); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{link, dangling, dir} {
		if l, err := Try(path); err == nil || errors.Is(err, ErrHeld) {
			t.Errorf("%s was taken: %v", path, l)
		}
		if held, err := Held(path); err == nil {
			t.Errorf("%s: held %v", path, held)
		}
		if err := Free(t.Context(), path); !errors.Is(err, ErrNoFile) {
			t.Errorf("%s: free %v", path, err)
		}
	}
	if fi, _ := os.Stat(target); runtime.GOOS != "windows" && fi.Mode().Perm() != 0o644 {
		t.Errorf("the target of a link has mode %v now", fi.Mode())
	}
	if _, err := os.Lstat(filepath.Join(dir, "nothing")); err == nil {
		t.Error("the target of a link was made")
	}
}
