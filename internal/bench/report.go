package main

import (
	"fmt"
	"io"
	"slices"
	"time"
)

// A comparison is two columns of samples, taken alternately.
type comparison struct {
	title, nameA, nameB string
	a, b                []sample
}

func (c comparison) print(out io.Writer) {
	fmt.Fprintf(out, "\n### %s (%d pairs, alternately)\n\n| | wall, median (min to max) | CPU, median | memory of the tool itself |\n|---|---|---|---|\n", c.title, len(c.a))
	row := func(name string, s []sample) {
		walls := each(s, wall)
		fmt.Fprintf(out, "| %s | %s (%s to %s) | %s | %s |\n", name,
			millis(median(walls)), millis(slices.Min(walls)), millis(slices.Max(walls)), millis(median(each(s, cpu))), megabytes(median(each(s, memory))))
	}
	row(c.nameA, c.a)
	row(c.nameB, c.b)
	fmt.Fprintf(out, "| added, median of the pairs | **%s** | %s | |\n", millis(median(differences(c.a, c.b, wall))), millis(median(differences(c.a, c.b, cpu))))
	fmt.Fprintf(out, "| ratio of the medians | %.3f | %.3f | |\n", ratio(c.a, c.b, wall), ratio(c.a, c.b, cpu))
}

func ratio(a, b []sample, get func(sample) time.Duration) float64 {
	base := median(each(a, get))
	if base == 0 {
		return 0
	}
	return float64(median(each(b, get))) / float64(base)
}

func millis(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
}

func megabytes(n int64) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}
