package testplace

import (
	"os/exec"
	"slices"
	"testing"
	"time"
)

// Pace is how much slower this machine starts programs at this moment than the one that limits of time are set on, where /bin/true takes 1 ms
// (docs/benchmarks.md); at least 1 and at most 4. Machines are shared, and some are slow in just that.
func Pace(t *testing.T) float64 {
	t.Helper()
	best := took(40)[0]
	pace := paceOf(best)
	t.Logf("true takes %v: limits of time are %.1f times as long", best, pace)
	return pace
}

// Busy is the same for a test that runs beside others: what counts is not how fast the machine can be, but how fast it is just now.
func Busy() float64 { return paceOf(took(20)[10]) }

func paceOf(d time.Duration) float64 { return min(4, max(1, float64(d)/float64(time.Millisecond))) }

// took are the times of some starts, the shortest first. On a machine without true they are 0.
func took(n int) []time.Duration {
	times := make([]time.Duration, n)
	for i := range times {
		began := time.Now()
		if exec.Command("true").Run() == nil {
			times[i] = time.Since(began)
		}
	}
	slices.Sort(times)
	return times
}

// Slower is a limit of time at a pace.
func Slower(limit time.Duration, pace float64) time.Duration {
	return time.Duration(float64(limit) * pace)
}
