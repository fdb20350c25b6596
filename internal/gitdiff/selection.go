package gitdiff

import (
	"cmp"
	"slices"
)

// The lists have limits: of the files with a text, and each of those that are only named. Longer paths than pathLimit bytes are not even named.
const (
	shownLimit = 500
	namedLimit = 200
	pathLimit  = 1000
)

// A selection keeps the smallest differences whose texts fit together into a limit, whatever comes and in whatever order. It never holds more
// than that and one text.
type selection struct {
	limit, size int
	shown       []sized
	left        []sized // sorted, the smallest first
	named       []File
	more        Rest
	seen        int
}

// A sized file knows how much room its text takes and when it came.
type sized struct {
	File
	size  int64 // characters
	order int
}

func newSelection(limit int) *selection { return &selection{limit: limit} }

// name adds a file of which no text is to be shown.
func (s *selection) name(path, why string) {
	if len(s.named) >= namedLimit || len(path) > pathLimit {
		s.more.Files++
		return
	}
	s.named = append(s.named, File{Path: path, Why: why})
}

// add takes a file with its text, of which size is the whole length; of one that is longer than the limit the text may be missing.
func (s *selection) add(f File, size int64) {
	s.seen++
	n := sized{f, size, s.seen}
	if len(f.Path) > pathLimit {
		s.more.Files++
		s.more.Lines += f.Added + f.Deleted
		return
	}
	if size > int64(s.limit) {
		s.leave(n)
		return
	}
	at, _ := slices.BinarySearchFunc(s.shown, n, bySize)
	s.shown = slices.Insert(s.shown, at, n)
	for s.size += int(size); s.size > s.limit || len(s.shown) > shownLimit; {
		last := s.shown[len(s.shown)-1]
		s.shown = s.shown[:len(s.shown)-1]
		s.size -= int(last.size)
		s.leave(last)
	}
}

func bySize(a, b sized) int {
	return cmp.Or(cmp.Compare(a.size, b.size), cmp.Compare(a.order, b.order))
}

// leave names a file for which there is no room. Of too many the biggest are only counted.
func (s *selection) leave(n sized) {
	n.Text = ""
	at, _ := slices.BinarySearchFunc(s.left, n, bySize)
	s.left = slices.Insert(s.left, at, n)
	if len(s.left) > namedLimit {
		last := s.left[namedLimit]
		s.left = s.left[:namedLimit]
		s.more.Files++
		s.more.Lines += last.Added + last.Deleted
	}
}

// fill sets what was selected, the texts in the order in which they came.
func (s *selection) fill(c *Change) {
	slices.SortFunc(s.shown, func(a, b sized) int { return cmp.Compare(a.order, b.order) })
	files := func(list []sized) (fs []File) {
		for _, n := range list {
			fs = append(fs, n.File)
		}
		return fs
	}
	c.Shown, c.Left, c.Named, c.More = files(s.shown), files(s.left), s.named, s.more
}
