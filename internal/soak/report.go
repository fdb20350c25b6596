package main

import (
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// report prints what there is to know of a soak.
func (s *soak) report(out io.Writer, all []entry, wall time.Duration, left int, doctor *call) {
	states, outside := map[string]int{}, 0
	for _, e := range all {
		states[string(e.State)]++
		if !s.printed[e.ID] {
			outside++
		}
	}
	struck, untold := 0, 0
	for _, f := range s.fates {
		if len(f.hit) > 0 {
			struck++
		}
		if f.id == "" {
			untold++
		}
	}
	fmt.Fprintf(out, "\n%d jobs after %v: %s\n", len(all), wall.Round(time.Second), counts(states))
	fmt.Fprintf(out, "%d tasks, of them %d struck, %d without a job (refused, or their caller died before there was one); %d jobs whose caller never learnt the id\n", len(s.fates), struck, untold, outside)
	fmt.Fprintf(out, "%d signals: %s\n", total(s.kills), counts(s.kills))
	fmt.Fprintf(out, "%d calls: %s\n", total(s.calls), counts(s.calls))
	fmt.Fprintf(out, "%d sights of %d jobs; %d notices were repeated after a death\n", s.history.sights, len(s.history.seen()), s.history.repeated())
	fmt.Fprintf(out, "%d supervisors were killed when their result stood\n", s.sniped)
	fmt.Fprintf(out, "doctor --fix: exit %d; %d processes before it; %d daemons without environment whose supervisor and guardian were both killed\n", doctor.exit, left, s.orphans)

	files, bytes := usage(s.place.state)
	records, _ := usage(filepath.Join(s.place.state, "jobs"))
	fmt.Fprintf(out, "state directory: %d bytes in %d files, %d bytes and %d files a record\n", bytes, files, bytes/int64(max(1, len(all))), records/max(1, len(all)))
	fmt.Fprintf(out, "names of jobs that were cut off in their making: %d active\n", len(names(filepath.Join(s.place.state, "active"), "*")))
	for _, name := range []string{"tmp", "reserve", ".*"} {
		fmt.Fprintf(out, "left in records, %s: %d\n", name, len(names(filepath.Join(s.place.state, "jobs"), filepath.Join("*", name))))
	}
	fmt.Fprintf(out, "left in TMPDIR: %s\n", strings.Join(names(s.place.tmp, "*"), " "))
	fmt.Fprintf(out, "left in the temporary directory of the machine, by anybody: %d\n", len(names(os.TempDir(), "oc-delegate-*")))

	for _, b := range s.history.broken {
		fmt.Fprintln(out, "BROKEN:", b)
	}
	if len(s.history.broken) == 0 {
		fmt.Fprintln(out, "every promise held")
	}
}

func total(m map[string]int) (n int) {
	for _, v := range m {
		n += v
	}
	return n
}

// counts is a map in words, the most frequent first.
func counts(m map[string]int) string {
	keys := slices.Sorted(maps.Keys(m))
	slices.SortStableFunc(keys, func(a, b string) int { return m[b] - m[a] })
	var words []string
	for _, k := range keys {
		words = append(words, fmt.Sprintf("%d %s", m[k], k))
	}
	return strings.Join(words, ", ")
}

func names(dir, pattern string) (list []string) {
	found, _ := filepath.Glob(filepath.Join(dir, pattern))
	for _, f := range found {
		list = append(list, filepath.Base(f))
	}
	return list
}

// usage is how many files a directory holds, and how many bytes are in them.
func usage(dir string) (files int, bytes int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if fi, err := d.Info(); err == nil {
				files++
				bytes += fi.Size()
			}
		}
		return nil // what cannot be read is not counted
	})
	return files, bytes
}
