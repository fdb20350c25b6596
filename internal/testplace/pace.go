package testplace

import (
	"os/exec"
	"testing"
	"time"
)

// Pace is how much slower this machine starts programs at this moment than the one that limits of time are set on, where /bin/true takes 1 ms
// (docs/benchmarks.md); at least 1 and at most 4. Machines are shared, and some are slow in just that.
func Pace(t *testing.T) float64 {
	t.Helper()
	best := time.Hour
	for range 40 {
		began := time.Now()
		if err := exec.Command("true").Run(); err != nil {
			t.Fatal(err)
		}
		best = min(best, time.Since(began))
	}
	pace := min(4, max(1, float64(best)/float64(time.Millisecond)))
	t.Logf("true takes %v: limits of time are %.1f times as long", best, pace)
	return pace
}

// Slower is a limit of time at a pace.
func Slower(limit time.Duration, pace float64) time.Duration {
	return time.Duration(float64(limit) * pace)
}
