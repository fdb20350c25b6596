package proc

import (
	"context"
	"io"
	"os"
	"os/exec"
	"testing"
)

// BenchmarkTrue is what a child costs under a guardian; the difference to BenchmarkTrueDirect is the price.
func BenchmarkTrue(b *testing.B) {
	c := Command{Argv: []string{"/bin/true"}, Dir: "/", Env: os.Environ(), Marker: "bench"}
	for b.Loop() {
		p, err := Start(context.Background(), c)
		if err != nil {
			b.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, p.Stdout)
		_, _ = io.Copy(io.Discard, p.Stderr)
		if x := p.Wait(); x.Code != 0 {
			b.Fatalf("%+v", x)
		}
	}
}

func BenchmarkTrueDirect(b *testing.B) {
	for b.Loop() {
		if err := exec.Command("/bin/true").Run(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCensus is one look at all processes.
func BenchmarkCensus(b *testing.B) {
	t := tree{self: os.Getpid(), root: 1 << 30, marker: "bench", carries: marked("bench")}
	n := 0
	for b.Loop() {
		table, err := readTable()
		if err != nil {
			b.Fatal(err)
		}
		n = len(table)
		t.members(table)
	}
	b.ReportMetric(float64(n), "processes")
}
