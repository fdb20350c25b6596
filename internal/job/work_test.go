package job

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"opencode-delegate/internal/delegate"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/lock"
	"opencode-delegate/internal/record"
	"opencode-delegate/internal/worktree"
)

// A site is a user's repository, and a state directory with the jobs that worked for it.
type site struct {
	*Store
	t   *testing.T
	dir string
	env []string
}

func newSite(t *testing.T) *site {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &site{Store: open(t), t: t, dir: filepath.Join(root, "my repo")}
	s.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + root, "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C"}
	s.write("a.txt", lines(nil))
	s.write("sub/b.txt", "b\n")
	s.git("init", "-q", "-b", "main")
	s.git("config", "user.name", "t")
	s.git("config", "user.email", "t@example.org")
	s.git("add", "-A")
	s.git("commit", "-q", "-m", "first")
	return s
}

// lines are thirty lines, of which some are others.
func lines(other map[int]string) string {
	var b strings.Builder
	for i := range 30 {
		text, ok := other[i]
		if !ok {
			text = fmt.Sprint("line ", i)
		}
		b.WriteString(text + "\n")
	}
	return b.String()
}

func (s *site) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) git(args ...string) string {
	s.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = s.dir, s.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("git %q: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// write writes a file of the repository, or one at an absolute path.
func (s *site) write(name, text string) {
	s.t.Helper()
	if !filepath.IsAbs(name) {
		name = filepath.Join(s.dir, name)
	}
	s.must(os.MkdirAll(filepath.Dir(name), 0o755))
	s.must(os.WriteFile(name, []byte(text), 0o644))
}

func (s *site) read(name string) string {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil {
		return "(none)"
	}
	return string(text)
}

// tree describes the files of the repository but for .git.
func (s *site) tree() string {
	s.t.Helper()
	var b strings.Builder
	s.must(filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() == ".git" {
			return fs.SkipDir
		}
		if !d.IsDir() {
			text, err := os.ReadFile(path)
			fmt.Fprintf(&b, "%s %q %v\n", strings.TrimPrefix(path, s.dir), text, err)
		}
		return nil
	}))
	return b.String()
}

func (s *site) refs() string {
	s.t.Helper()
	return s.git("for-each-ref", "--format=%(refname)", "refs/opencode-delegate/")
}

// begun is a job that runs, of a worker that may write.
func (s *site) begun(isolate bool, change func(*Order)) *Job {
	s.t.Helper()
	o := order()
	o.Request.Dir, o.Request.Profile, o.Request.Isolate = s.dir, "standard", isolate
	if change != nil {
		change(&o)
	}
	j := made(s.t, s.Store, o)
	s.must(j.Update(func(st *State) { now := time.Now(); st.State, st.StartedAt = Running, &now }))
	return j
}

// try has a worker work in a copy of its own.
func (s *site) try(j *Job, n int, work func(tree string)) *worktree.Copy {
	s.t.Helper()
	copies, err := j.Record.MakeDir(record.Copies)
	s.must(err)
	c, err := worktree.NewCopy(s.t.Context(), worktree.CopyOptions{Dir: s.dir, Place: filepath.Join(copies, strconv.Itoa(n)), ID: j.state.ID, Environ: s.env})
	s.must(err)
	work(c.Tree())
	return c
}

// end writes down what came of a job.
func (s *site) end(j *Job, status fault.Kind, verdict, path string) string {
	s.t.Helper()
	res := ended(j, status)
	res.Verification.Verdict = verdict
	if path != "" {
		res.Isolation = &delegate.Isolation{Path: path}
	}
	s.must(j.finish(res))
	return j.state.ID
}

// isolated is a job that has ended, whose worker wrote in a copy.
func (s *site) isolated(status fault.Kind, verdict string, work func(tree string)) string {
	s.t.Helper()
	j := s.begun(true, nil)
	c := s.try(j, 1, work)
	_, err := c.Result(s.t.Context(), filepath.Join(j.Record.File(record.Copies), "1", "after"), s.env)
	s.must(err)
	return s.end(j, status, verdict, c.Tree())
}

// inPlace is a job that has ended, whose worker wrote into the user's files.
func (s *site) inPlace(work func(tree string)) string {
	s.t.Helper()
	j := s.begun(false, nil)
	before, err := worktree.Take(s.t.Context(), s.dir, j.Record.File(record.Undo), worktree.Options{Environ: s.env})
	s.must(err)
	work(s.dir)
	s.must(before.End(s.t.Context()))
	return s.end(j, fault.OK, "none", "")
}

// lost is a job whose supervisor died while the worker was in a copy.
func (s *site) lost(work func(tree string)) string {
	s.t.Helper()
	j := s.begun(true, nil)
	s.try(j, 1, work)
	j.release()
	return j.state.ID
}

// edit is a worker that changes line 2 of a.txt and makes a file.
func edit(tree string) {
	os.WriteFile(filepath.Join(tree, "a.txt"), []byte(lines(map[int]string{2: "theirs"})), 0o644)
	os.WriteFile(filepath.Join(tree, "new"), []byte("new\n"), 0o755)
	os.Chmod(filepath.Join(tree, "new"), 0o755)
}

func (s *site) call() Call { return Call{By: "shell", Environ: s.env, Now: time.Now()} }

func (s *site) fateIs(id string, want Fate) {
	s.t.Helper()
	v := look(s.t, s.Store, id)
	if got := s.Fate(v); got != want || v.Isolated && v.Work != want {
		s.t.Errorf("its work is %q, in a list %q, want %q", got, v.Work, want)
	}
}

func (s *site) patch(id string) string {
	s.t.Helper()
	f, err := s.Patch(s.t.Context(), id, s.env)
	s.must(err)
	defer f.Close()
	text, err := io.ReadAll(f)
	s.must(err)
	return string(text)
}

func TestWorkIsFound(t *testing.T) {
	s := newSite(t)
	id := s.isolated(fault.OK, "pass", edit)
	s.fateIs(id, Unlanded)
	patch := s.patch(id)
	cmd := exec.Command("git", "apply", "-")
	cmd.Dir, cmd.Env, cmd.Stdin = s.dir, s.env, strings.NewReader(patch)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s\n%s", err, out, patch)
	}
	if s.read("new") != "new\n" || s.read("a.txt") != lines(map[int]string{2: "theirs"}) {
		t.Error(s.tree())
	}
	counts, err := s.Counts(t.Context(), id, s.env)
	if err != nil || fmt.Sprint(counts) != "[{a.txt false 1 1} {new false 1 0}]" {
		t.Errorf("%v %v", counts, err)
	}
}

// What result.json says of paths counts only where it names one of the record's own places.
func TestTheChosenTryIsOneOfTheRecord(t *testing.T) {
	s := newSite(t)
	for path, want := range map[string]int{"1/tree": 1, "1": 1, "2/tree": 2, "": 2, "../../elsewhere": 2, "/etc": 2, "1/../../../x": 1, "3": 2} {
		j := s.begun(true, nil)
		for _, n := range []int{1, 2} {
			s.must(os.MkdirAll(filepath.Join(j.Record.File(record.Copies), strconv.Itoa(n)), 0o700))
		}
		for _, other := range []string{"0", "03", "x", "-1", "1001"} {
			s.must(os.MkdirAll(filepath.Join(j.Record.File(record.Copies), other), 0o700))
		}
		s.must(os.Symlink(s.dir, filepath.Join(j.Record.File(record.Copies), "4")))
		full := path
		if path != "" && !filepath.IsAbs(path) {
			full = j.Record.File(record.Copies) + "/" + path
		}
		id := s.end(j, fault.OK, "pass", full)
		w, err := s.Work(look(t, s.Store, id))
		if err != nil || w.Chosen != want || fmt.Sprint(w.Tries) != "[1 2]" {
			t.Errorf("%q: %d of %v, %v", path, w.Chosen, w.Tries, err)
		}
	}
}

// A worker that is killed leaves a copy, and whoever asks for its work gets what there is.
func TestWorkOfALostJob(t *testing.T) {
	s := newSite(t)
	id := s.lost(edit)
	if v := look(t, s.Store, id); v.State.State != Lost || v.Work != Unlanded {
		t.Fatalf("%s %q", v.State.State, v.Work)
	}
	if p := s.patch(id); !strings.Contains(p, "+theirs") || !strings.Contains(p, "new file mode 100755") {
		t.Errorf("%s", p)
	}
	if _, again, err := s.Apply(t.Context(), id, s.call()); again || err != nil { // no check was asked for
		t.Fatal(again, err)
	}
	if s.read("new") != "new\n" {
		t.Error(s.tree())
	}
	s.fateIs(id, Applied)
}

func TestNoWork(t *testing.T) {
	s := newSite(t)
	reads := made(t, s.Store, order())
	s.must(reads.Update(func(st *State) { st.State = Running }))
	readOnly := s.end(reads, fault.OK, "none", "")
	early := s.begun(true, nil)
	noCopy := s.end(early, fault.Cancelled, "none", "")
	for id, want := range map[string]string{readOnly: "it could only read", noCopy: "it ended before it had a copy"} {
		_, err := s.Patch(t.Context(), id, s.env)
		_, _, aerr := s.Apply(t.Context(), id, s.call())
		for _, err := range []error{err, aerr} {
			if kindOf(err) != fault.NotFound || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		}
		s.fateIs(id, NoWork)
	}
	running := s.begun(true, nil)
	defer running.release()
	held, err := lock.Try(running.Record.File(record.Lease))
	s.must(err)
	defer held.Release()
	s.try(running, 1, edit)
	ctx := context.Background()
	_, perr := s.Patch(ctx, running.state.ID, s.env)
	_, _, aerr := s.Apply(ctx, running.state.ID, s.call())
	for _, err := range []error{perr, aerr} {
		if kindOf(err) != fault.JobRunning {
			t.Errorf("%v", err)
		}
	}
}

// A copy in which nothing was changed holds no work.
func TestAnEmptyPatchIsNoWork(t *testing.T) {
	s := newSite(t)
	id := s.isolated(fault.OK, "pass", func(string) {})
	s.fateIs(id, Unlanded) // as far as is known before there is a patch
	if p := s.patch(id); p != "" {
		t.Error(p)
	}
	s.fateIs(id, NoWork)
	if r := s.gc(false); len(r.Gone) != 1 {
		t.Errorf("%+v", r)
	}
}

func (s *site) gc(unlanded bool) Removals {
	s.t.Helper()
	zero := time.Duration(0)
	r, err := s.Remove(s.t.Context(), Limits{Older: &zero, Unlanded: unlanded}, time.Now().Add(time.Hour), false)
	s.must(err)
	return r
}
