//go:build unix

package repocode

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDirsFindsWhatGitFinds(t *testing.T) {
	w := newWorld(t)
	submodule(w)
	w.must(os.MkdirAll(w.dir+"/in/deep", 0o755))
	w.git(w.dir, "worktree", "add", "-q", w.root+"/linked")
	w.git(w.root, "init", "-q", "--separate-git-dir", w.root+"/elsewhere", w.root+"/separate")
	w.git(w.root, "init", "-q", "--bare", w.root+"/bare.git")
	w.must(os.Symlink("work/in", w.root+"/link"))
	for _, dir := range []string{"work", "work/in/deep", "linked", "work/libs/sub", "work/libs/sub/deep", "separate", "bare.git", "bare.git/refs", "link", "work/.git"} {
		path := filepath.Join(w.root, dir)
		out := strings.Split(w.git(path, "rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir"), "\n")
		top, err := w.tryGit(path, "rev-parse", "--show-toplevel")
		if err != nil {
			top = ""
		}
		gitDir, common, ourTop, ok := Dirs(path)
		if dir == "work/.git" {
			ourTop = "" // git calls the inside of a .git no work tree; it lies below one all the same
		}
		if !ok || gitDir != out[0] || common != out[1] || ourTop != strings.TrimSpace(top) {
			t.Errorf("%s: %q %q %q %v, git says %q %q", dir, gitDir, common, ourTop, ok, out, top)
		}
	}
}

func TestDirsFindsNothing(t *testing.T) {
	w := newWorld(t)
	w.must(os.MkdirAll(w.dir+"/x", 0o755))
	w.repo(w.root)
	w.write(w.dir+"/.git", "gitdir: nowhere\n")
	if _, err := w.tryGit(w.dir+"/x", "rev-parse", "--git-dir"); err == nil {
		t.Fatal("git looks further")
	}
	if g, _, _, ok := Dirs(w.dir + "/x"); ok {
		t.Errorf("behind a broken .git file: %s", g)
	}
	for _, dir := range []string{w.root + "/missing", w.home + "/\x00"} {
		if _, _, _, ok := Dirs(dir); ok {
			t.Errorf("%q is in a repository", dir)
		}
	}
}

// A .git that is a directory but no repository is passed over, as git does.
func TestDirsPassesAnEmptyGit(t *testing.T) {
	w := newWorld(t)
	w.repo(w.root)
	w.must(os.Mkdir(w.dir+"/.git", 0o755))
	if _, _, top, ok := Dirs(w.dir); !ok || top != w.root {
		t.Errorf("%q %v", top, ok)
	}
	if got := strings.TrimSpace(w.git(w.dir, "rev-parse", "--show-toplevel")); got != w.root {
		t.Errorf("git says %q", got)
	}
}
