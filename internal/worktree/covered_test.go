package worktree

import (
	"slices"
	"strings"
	"testing"
)

// Each directory of the table is left out where git ignores it and its tool is at home, and covered where one of the two is not so.
func TestTheTableOfDependencies(t *testing.T) {
	for _, d := range dependencies {
		t.Run(d.why, func(t *testing.T) {
			t.Parallel()
			if d.why == "" {
				t.Error("no reason is given")
			}
			w := newWorld(t)
			w.write(".gitignore", "ignored/\n*.own\n"+d.name+"/\n!kept/"+d.name+"/\n")
			for _, dir := range []string{"app/", "kept/", "bare/"} {
				w.write(dir+d.name+"/f", "1")
				w.write(dir+d.name+"/sub/f.own", "1")
				if len(d.with) > 0 && dir != "bare/" {
					with := strings.Replace(d.with[0], "*", "some", 1)
					if in, ok := strings.CutPrefix(with, "/"); ok {
						with = d.name + "/" + in
					}
					w.write(dir+with, "1")
				}
			}
			s := w.take()
			holes, _ := s.Left()
			left := func(path string) bool {
				return slices.ContainsFunc(holes, func(h Hole) bool { return h.Path == path && h.Why == "dependencies, which git ignores" })
			}
			if !left("app/" + d.name) {
				t.Errorf("it is covered: %v", holes)
			}
			if s.list.find("kept/"+d.name+"/f") == nil {
				t.Error("what git does not ignore is left out")
			}
			if bare := s.list.find("bare/"+d.name+"/f") != nil; bare != (len(d.with) > 0) || bare == left("bare/"+d.name) {
				t.Errorf("away from its tool: covered %v", bare)
			}
		})
	}
}

// The same names count where nobody can be asked, in a directory without a repository: .env and what people write is covered.
func TestWithoutARepositoryLittleIsLeftOut(t *testing.T) {
	w := newWorld(t)
	w.dir = w.root + "/plain"
	for _, name := range []string{".env", "vendor/mine.go", "target/mine", "build/x", "bin/tool", "node_modules/m/f", "app/go.mod", "app/vendor/v"} {
		w.write(name, "1")
	}
	before := look(t, w.dir, false)
	s := w.take()
	holes, _ := s.Left()
	if len(holes) != 2 || holes[0].Path != "app/vendor" || holes[1].Path != "node_modules" {
		t.Errorf("%v", holes)
	}
	for _, name := range []string{".env", "vendor/mine.go", "target/mine", "bin/tool"} {
		w.write(name, "run")
	}
	w.end(s)
	w.restore(s, Undo{History: true})
	if got := look(t, w.dir, false); got != before {
		t.Errorf("%s", differs(before, got))
	}
}
