package breakeven

import (
	"slices"
	"strings"
	"testing"
)

func TestAdvice(t *testing.T) {
	long := strings.Repeat("and so on ", 400)
	for _, c := range []struct {
		brief  string
		writes bool
		files  int
		bytes  int64
		advice bool
	}{
		{"What does the flag -x in main.go do?", false, 1, 2000, true},
		{"What does the flag -x in main.go do?", false, 1, 3235, true},
		{"What does the flag -x in main.go do?", false, 1, 3236, false},
		{"Rename foo to bar in main.go", true, 1, 3000, true},
		{"Rename foo to bar in main.go", true, 1, 3200, false},
		{"What do a.go and b.go have in common?", false, 2, 500, true},
		{"What does the flag -x do?", false, 0, 0, false},                // nobody knows how much it has to read
		{"Summarize main.go. " + long, false, 1, 8000, false},            // a long file
		{"Summarize main.go. " + long, false, 1, 2000, true},             // the brief is twice as long as what it saves
		{"Write tests for main.go", true, 1, 2000, false},                // tests are longer than what they test
		{"Where is every caller of f of main.go?", false, 1, 100, false}, // it has to read more than it names
		{"Why does main.go not compile?", false, 1, 100, false},
		{"Fallen: read main.go", false, 1, 100, true}, // a word that only begins like one
	} {
		got := Unit{Brief: c.brief, Writes: c.writes, Files: c.files, Bytes: c.bytes}.Advice()
		if (got != "") != c.advice {
			t.Errorf("%.40q with %d bytes: %q", c.brief, c.bytes, got)
		}
		if got != "" && (strings.Contains(got, "\n") || c.files == 2 && !strings.Contains(got, "2 files")) {
			t.Errorf("%q", got)
		}
	}
}

func TestPaths(t *testing.T) {
	for brief, want := range map[string][]string{
		"Read `cmd/main.go`, then README.md and (docs/a b.md).": {"cmd/main.go", "README.md", "docs/a", "b.md"},
		"main.go and main.go.": {"main.go"},
		"No path here":         nil,
		"über/größe.go; ../../etc/passwd -f.x @a/b.": {"über/größe.go", "../../etc/passwd", "f.x", "@a/b"},
		strings.Repeat("a/b.go ", 2000):              nil,
	} {
		if got := Paths(brief); !slices.Equal(got, want) {
			t.Errorf("%.40q: %q, want %q", brief, got, want)
		}
	}
	many := ""
	for i := range 100 {
		many += " a" + strings.Repeat("x", i) + ".go"
	}
	if got := Paths(many); len(got) != pathLimit {
		t.Errorf("%d paths", len(got))
	}
}
