package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		in   []int64
		want int64
	}{{nil, 0}, {[]int64{7}, 7}, {[]int64{9, 1, 5}, 5}, {[]int64{4, 1, 3, 2}, 2}} {
		if got := median(c.in); got != c.want {
			t.Errorf("median(%v) = %d, want %d", c.in, got, c.want)
		}
	}
}

func TestAlternate(t *testing.T) {
	var order strings.Builder
	step := func(name string) func() (sample, error) {
		return func() (sample, error) { order.WriteString(name); return sample{wall: time.Second}, nil }
	}
	as, bs, err := alternate(2, step("a"), step("b"))
	if err != nil || order.String() != "ababab" || len(as) != 2 || len(bs) != 2 {
		t.Errorf("order %s, %d and %d samples, %v", order.String(), len(as), len(bs), err)
	}
	broken := errors.New("broken")
	if _, _, err := alternate(2, step("a"), func() (sample, error) { return sample{}, broken }); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
}

func TestMeasure(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	s, err := measure(context.Background(), "", "x", os.Environ(), "", sh, "-c", "cat >/dev/null; sleep 0.1")
	if err != nil || s.wall < 100*time.Millisecond {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := measure(context.Background(), "", "", os.Environ(), "", sh, "-c", "echo first >&2; echo why >&2; exit 3"); err == nil || !strings.HasSuffix(err.Error(), ": why") {
		t.Errorf("a failure: %v", err)
	}
	if runtime.GOOS == "linux" {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		s, err := measure(context.Background(), self, "", append(os.Environ(), "BENCH_SLEEP=1"), "", self, "-test.run", "TestSleep$")
		if err != nil || s.memory < 1<<20 || s.memory > 1<<30 {
			t.Errorf("memory of a Go program: %+v, %v", s, err)
		}
	}
}

// TestSleep is the program that TestMeasure looks at.
func TestSleep(t *testing.T) {
	if os.Getenv("BENCH_SLEEP") == "" {
		return
	}
	time.Sleep(200 * time.Millisecond)
}

func TestComparison(t *testing.T) {
	var out strings.Builder
	comparison{"Title", "A", "B",
		[]sample{{wall: 100 * time.Millisecond, cpu: 10 * time.Millisecond}, {wall: 300 * time.Millisecond, cpu: 30 * time.Millisecond}},
		[]sample{{wall: 112 * time.Millisecond, cpu: 11 * time.Millisecond, memory: 9e6}, {wall: 310 * time.Millisecond, cpu: 31 * time.Millisecond, memory: 11e6}}}.print(&out)
	for _, want := range []string{"2 pairs", "| A | 200.0 ms (100.0 ms to 300.0 ms) | 20.0 ms | - |", "| 10.0 MB |", "**11.0 ms**", "| 1.055 | 1.050 |"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}
