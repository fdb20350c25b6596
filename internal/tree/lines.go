package tree

import (
	"bytes"
	"context"
	"io"
	"os"
)

const (
	// maxCounted bounds the text in bytes that is read to count lines, over all files.
	maxCounted = 64 << 20
	// maxEdits bounds the differences of two files, and maxSteps the work to find them: about 0.1 s.
	maxEdits = 20_000
	maxSteps = 50_000_000
)

// countLines sums inserted and deleted lines over all changes. ok is false when any of them is not known.
func countLines(ctx context.Context, before, after *Snapshot, pairs []pair) (ins, del int, ok bool) {
	root, err := os.OpenRoot(after.dir)
	if err != nil {
		return 0, 0, false
	}
	defer root.Close()
	old := newObjects(ctx, before.git, before.stores, after.cage)
	defer old.close()
	left := int64(maxCounted)
	for _, p := range pairs {
		if ctx.Err() != nil {
			return 0, 0, false
		}
		switch p.Kind {
		case Mode, Renamed:
			continue
		case Added:
			n, known := linesOf(p.after)
			if ins += n; !known {
				return 0, 0, false
			}
			continue
		case Deleted:
			n, known := linesOf(p.before)
			if del += n; !known {
				return 0, 0, false
			}
			continue
		}
		b, a := p.before, p.after
		if !b.mode.IsRegular() || !a.mode.IsRegular() {
			n, known := linesOf(b)
			m, also := linesOf(a)
			if ins, del = ins+m, del+n; !known || !also {
				return 0, 0, false
			}
			continue
		}
		if left -= b.size + a.size; left < 0 || b.content == nil || a.content == nil || b.size > maxText || a.size > maxText {
			return 0, 0, false
		}
		was, known := old.text(b)
		is, also := currentText(root, a)
		if !known || !also {
			return 0, 0, false
		}
		if isBinary(was) || isBinary(is) {
			continue
		}
		m, n, done := diffLines(was, is)
		if ins, del = ins+m, del+n; !done {
			return 0, 0, false
		}
	}
	return ins, del, true
}

// linesOf is the number of lines that come or go with a whole file. What is neither file nor link has none.
func linesOf(e *entry) (int, bool) {
	if e.content == nil {
		return 0, !e.mode.IsRegular()
	}
	return e.content.lines, true
}

// currentText reads a file that must still hold what it held when the snapshot was taken.
func currentText(root *os.Root, e *entry) ([]byte, bool) {
	if e.content.text != nil || e.size == 0 {
		return e.content.text, true
	}
	f, err := root.OpenFile(e.path, os.O_RDONLY|openNoBlock, 0)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	if fi, err := f.Stat(); err != nil || !fi.Mode().IsRegular() {
		return nil, false
	}
	text, err := io.ReadAll(io.LimitReader(f, e.size+1))
	return text, err == nil && newContent(text).sum == e.content.sum
}

// diffLines counts the lines of a shortest edit from a to b. done is false when that would take too long.
func diffLines(a, b []byte) (ins, del int, done bool) {
	x, y := number(splitLines(a), splitLines(b))
	for len(x) > 0 && len(y) > 0 && x[0] == y[0] {
		x, y = x[1:], y[1:]
	}
	for len(x) > 0 && len(y) > 0 && x[len(x)-1] == y[len(y)-1] {
		x, y = x[:len(x)-1], y[:len(y)-1]
	}
	// A line that the other side does not have is in no common subsequence.
	x, del = only(x, y)
	y, ins = only(y, x)
	d, done := editDistance(x, y)
	return ins + (d+len(y)-len(x))/2, del + (d+len(x)-len(y))/2, done
}

func splitLines(text []byte) [][]byte {
	lines := bytes.SplitAfter(text, []byte{'\n'})
	if len(lines[len(lines)-1]) == 0 {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// number replaces equal lines by equal numbers.
func number(a, b [][]byte) (x, y []int32) {
	ids := make(map[string]int32, len(a))
	side := func(lines [][]byte) []int32 {
		out := make([]int32, len(lines))
		for i, l := range lines {
			id, ok := ids[string(l)]
			if !ok {
				id = int32(len(ids))
				ids[string(l)] = id
			}
			out[i] = id
		}
		return out
	}
	return side(a), side(b)
}

// only removes from x what is not in y and counts it.
func only(x, y []int32) (rest []int32, removed int) {
	in := make(map[int32]bool, len(y))
	for _, v := range y {
		in[v] = true
	}
	for _, v := range x {
		if in[v] {
			rest = append(rest, v)
		}
	}
	return rest, len(x) - len(rest)
}

// editDistance is the number of insertions and deletions of a shortest edit (Myers 1986, without the path). done is false
// when it is above maxEdits or takes more than maxSteps.
func editDistance(x, y []int32) (d int, done bool) {
	n, m := len(x), len(y)
	if n == 0 || m == 0 {
		return n + m, true
	}
	limit := min(n+m, maxEdits)
	v := make([]int, 2*limit+3) // furthest place in x on each diagonal
	zero := limit + 1
	steps := 0
	for d := 0; d <= limit; d++ {
		for k := -d; k <= d; k += 2 {
			var i int
			if k == -d || k != d && v[zero+k-1] < v[zero+k+1] {
				i = v[zero+k+1]
			} else {
				i = v[zero+k-1] + 1
			}
			from := i
			for i < n && i-k < m && i >= 0 && i-k >= 0 && x[i] == y[i-k] {
				i++
			}
			v[zero+k] = i
			if i >= n && i-k >= m {
				return d, true
			}
			if steps += i - from + 1; steps > maxSteps {
				return 0, false
			}
		}
	}
	return 0, false
}
