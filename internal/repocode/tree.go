package repocode

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	defaultMaxEntries = 2_000_000
	maxTreeDepth      = 512
)

// tree looks through the directory of the run for repositories: every .git, and every bare one, since git uses a
// bare repository that it is started in. It follows no link.
func (s *scanner) tree() {
	left := s.options.MaxEntries
	if left <= 0 {
		left = defaultMaxEntries
	}
	s.treeDir(s.dir, 0, &left)
	if left < 0 {
		s.problem(s.dir, errors.New("too many files to look for repositories among all of them"))
	}
}

func (s *scanner) treeDir(dir string, depth int, left *int) {
	if s.ctx.Err() != nil || *left < 0 {
		return
	}
	if depth > maxTreeDepth {
		s.problem(dir, errors.New("too many levels of directories"))
		return
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		if !s.closed(dir) {
			s.problem(dir, err)
		}
	}
	if *left -= len(entries); *left < 0 {
		return
	}
	var head, config, common, objects bool
	for _, e := range entries {
		switch name := e.Name(); {
		case isDotGit(name):
			s.git(filepath.Join(dir, name))
		case e.IsDir():
			objects = objects || name == "objects"
			s.treeDir(filepath.Join(dir, name), depth+1, left)
		default:
			head, config, common = head || name == "HEAD", config || name == "config", common || name == "commondir"
		}
	}
	if head && (objects || common || config) {
		s.gitDir(dir, 0)
	}
}

// closed reports that the run could not have put anything into a directory that we cannot read: it is another user's
// and we may neither search nor write it. The run had no more rights than we have.
func (s *scanner) closed(dir string) bool {
	fi, err := os.Lstat(dir)
	if err != nil || !foreign(fi) {
		return false
	}
	_, err = os.Lstat(filepath.Join(dir, "."+string(filepath.Separator)+"x"))
	return errors.Is(err, fs.ErrPermission)
}
