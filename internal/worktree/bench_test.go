//go:build unix

package worktree

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// spent is the time that all cores worked for this process: other programs are at work beside a benchmark.
func spent() time.Duration {
	var r syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

func benchTake(b *testing.B, n int, then func(s *Snapshot, dir, store string) error) {
	benchTakeIn(b, n, then, func(string) {})
}

func benchTakeIn(b *testing.B, n int, then func(s *Snapshot, dir, store string) error, prepare func(dir string)) {
	dir, stores := b.TempDir(), b.TempDir()
	manyFiles(b, dir, n)
	prepare(dir)
	time.Sleep(2 * unsettled)
	var cpu time.Duration
	i := 0
	for b.Loop() {
		i++
		store := fmt.Sprintf("%s/%d", stores, i)
		before := spent()
		s, err := Take(b.Context(), dir, store, Options{})
		if err == nil && then != nil {
			before = spent()
			err = then(s, dir, store+"s")
		}
		if err != nil {
			b.Fatal(err)
		}
		cpu += spent() - before
		b.StopTimer()
		os.RemoveAll(store)
		os.RemoveAll(store + "s")
		b.StartTimer()
	}
	b.ReportMetric(float64(cpu.Milliseconds())/float64(i), "cpu-ms/op")
}

// A small repository: what precedes each run that writes in place.
func BenchmarkTakeRepository(b *testing.B) {
	benchTakeIn(b, 100, nil, func(dir string) {
		for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=x", "-c", "user.email=x", "commit", "-q", "-m", "x"}} {
			cmd := exec.Command("git", args...)
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				b.Fatalf("%v: %s", err, out)
			}
		}
	})
}

func BenchmarkTake30000(b *testing.B) { benchTake(b, 30_000, nil) }
func BenchmarkTake100(b *testing.B)   { benchTake(b, 100, nil) }

// The times of these are those of Take with it; what they spend is without.
func BenchmarkEnd30000(b *testing.B) {
	benchTake(b, 30_000, func(s *Snapshot, _, _ string) error { return s.End(b.Context()) })
}

func BenchmarkTakeSince30000(b *testing.B) {
	benchTake(b, 30_000, func(s *Snapshot, dir, store string) error {
		_, err := Take(b.Context(), dir, store, Options{Since: s})
		return err
	})
}

func BenchmarkDependencies200000(b *testing.B) {
	dir := b.TempDir()
	for i := range 200_000 {
		name := fmt.Sprintf("%s/node_modules/p%d/lib/d%d/f%d.js", dir, i/200, i/20%10, i)
		if i%20 == 0 {
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				b.Fatal(err)
			}
		}
		if err := os.WriteFile(name, []byte("x"), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	s, err := Take(b.Context(), dir, b.TempDir()+"/s", Options{})
	if err != nil {
		b.Fatal(err)
	}
	before, n := spent(), 0
	for b.Loop() {
		n++
		if d, err := s.Dependencies(b.Context()); err != nil || len(d) != 1 {
			b.Fatal(err, len(d))
		}
	}
	b.ReportMetric(float64((spent()-before).Milliseconds())/float64(n), "cpu-ms/op")
}
