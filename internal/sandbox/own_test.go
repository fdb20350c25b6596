package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestOwn: of our records nothing may be written but the run's own copy.
func TestOwn(t *testing.T) {
	b := newBench(t)
	r := b.run
	own := filepath.Join(r.StateRoot, "jobs/x/copies/1/tree")
	r.Dir = filepath.Join(own, "sub")
	if err := os.MkdirAll(r.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Writing(); err == nil {
		t.Error("a directory in our records was granted to an ordinary run")
	}
	r.Own, r.Git = own, []string{own}
	p, err := r.Writing()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range p.Write {
		if within(path, dirOf(r.StateRoot)) && !within(path, dirOf(own)) && path != dirOf(r.Tmp) {
			t.Errorf("%s may be written", path)
		}
	}
	if !slices.Contains(p.Write, dirOf(r.Dir)) {
		t.Errorf("the copy may not be written: %q", p.Write)
	}
	for _, bad := range []string{r.StateRoot, b.run.Dir, filepath.Join(r.StateRoot, "jobs/y"), "/"} {
		r.Own = bad
		if _, err := r.Writing(); err == nil {
			t.Errorf("%s counts as a copy of ours", bad)
		}
	}
}

// TestKeep: what must stay closed is not opened by a grant that nobody has asked for, and is by one that somebody has.
func TestKeep(t *testing.T) {
	b := newBench(t)
	r := b.run
	repo, err := os.MkdirTemp("/tmp", "keep-*")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(repo)
	r.Keep = []string{repo}
	p, err := r.Writing()
	if err != nil {
		t.Fatal(err)
	}
	if slices.Contains(p.Write, "/tmp") {
		t.Errorf("/tmp may be written: %q", p.Write)
	}
	r.AllowWrite = []string{repo}
	if p, err = r.Writing(); err != nil || !slices.Contains(p.Write, repo) {
		t.Errorf("%q %v", p.Write, err)
	}
}

// TestChecking: a check has no use for opencode's directories.
func TestChecking(t *testing.T) {
	b := newBench(t)
	r := b.run
	with, err := r.Writing()
	if err != nil {
		t.Fatal(err)
	}
	p, err := r.Checking()
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{r.Opencode.Data, r.Opencode.Cache, r.Opencode.State} {
		if !slices.Contains(with.Write, dirOf(dir)) || slices.ContainsFunc(p.Write, func(w string) bool { return overlap(w, dirOf(dir)) }) {
			t.Errorf("%s: %q", dir, p.Write)
		}
	}
	if !slices.Contains(p.Write, dirOf(r.Dir)) || !slices.Contains(p.Write, dirOf(r.Tmp)) {
		t.Errorf("%q", p.Write)
	}
}
