package gitdiff

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPieces(t *testing.T) {
	header := "diff --git a/x b/x\n--- a/x\n+++ b/x\n"
	first := strings.Repeat(" a\n", 60) + "-" + strings.Repeat("b", 60) + "\n+" + strings.Repeat("c", 60) + "\n d\n"
	second := "+e\n+" + strings.Repeat("f", 300) + "\n\\ No newline at end of file\n"
	f := File{Text: header + "@@ -1,62 +1,62 @@ func f() {\n" + first + "@@ -80,0 +81,2 @@\n" + second}
	if got := f.Pieces(1000); len(got) != 1 || got[0] != f.Text {
		t.Errorf("a text that is short enough: %q", got)
	}
	got := f.Pieces(480)
	if len(got) != 2 || got[0] != header+"@@ -1,62 +1,62 @@\n"+first {
		t.Fatalf("%d pieces: %q", len(got), got)
	}
	if !strings.HasPrefix(got[1], header+"@@ -80,0 +81,2 @@\n+e\n+ffff") || !strings.HasSuffix(got[1], "f [cut: a line of 301 characters]\n\\ No newline at end of file\n") {
		t.Errorf("the second is %q", got[1])
	}
	if got := f.Pieces(300); len(got) != 2 || !strings.HasPrefix(got[0], header+"@@ -1,60 +1,60 @@\n a\n") || !strings.HasPrefix(got[1], header+"@@ -61,2 +61,2 @@\n-bbb") {
		t.Errorf("within a hunk: %q", got)
	}
	if got := (File{Text: strings.Repeat("x\n", 1000)}).Pieces(100); len(got) != 1 {
		t.Errorf("a text without hunks became %d", len(got))
	}
}

// What pieces show is what the whole shows: put together they patch the file in the same way.
func TestPiecesPatchAsTheWholeDoes(t *testing.T) {
	w := newWorld(t)
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 10 {
		old := make([]string, r.IntN(300))
		for i := range old {
			old[i] = fmt.Sprintf("line %d %s\n", i, strings.Repeat("ü", r.IntN(30)))
		}
		var changed []string
		for _, line := range old {
			switch r.IntN(12) {
			case 0:
			case 1:
				changed = append(changed, "changed "+line)
			case 2:
				changed = append(changed, line, strings.Repeat("new\n", 1+r.IntN(60)))
			default:
				changed = append(changed, line)
			}
		}
		if round%3 == 0 {
			changed = append(changed, "without an end")
		}
		name := fmt.Sprintf("f%d", round)
		w.write(name, strings.Join(old, ""))
		w.git(w.dir, "add", name)
		w.git(w.dir, "commit", "-q", "--allow-empty", "-m", name)
		want := strings.Join(changed, "")
		w.write(name, want)
		var f File
		for _, f = range w.mustCollect(w.options()).Shown {
			if f.Path == name {
				break
			}
		}
		if f.Path != name { // nothing was changed
			continue
		}
		limit := 400 + r.IntN(2000)
		pieces := f.Pieces(limit)
		w.write(name, strings.Join(old, ""))
		for i := len(pieces) - 1; i >= 0; i-- { // from the end, so that the numbers of lines stay
			if n := utf8.RuneCountInString(pieces[i]); n > limit && len(pieces) > 1 {
				t.Errorf("a piece of %d characters, limit %d", n, limit)
			}
			w.write(w.root+"/piece", pieces[i])
			if out, err := w.tryGit(w.dir, "apply", "--unidiff-zero", "--recount", w.root+"/piece"); err != nil {
				t.Fatalf("piece %d of %d: %v %s\n%s", i, len(pieces), err, out, pieces[i])
			}
		}
		got, err := os.ReadFile(filepath.Join(w.dir, name))
		if err != nil || string(got) != want {
			t.Fatalf("round %d, %d pieces: %v\n%q, want\n%q", round, len(pieces), err, got, want)
		}
		if s := strings.Join(pieces, ""); strings.Contains(s, "[cut: ") {
			t.Errorf("a line was cut in %q", s)
		}
	}
}

func FuzzPieces(f *testing.F) {
	f.Add("diff --git a/x b/x\n@@ -1,2 +1 @@\n-a\n-b\n+c\n@@ x\n", 50)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		for _, p := range (File{Text: text}).Pieces(max(0, limit%5000)) {
			if p == "" && text != "" {
				t.Error("an empty piece")
			}
		}
	})
}
