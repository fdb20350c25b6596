package watch

import (
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

var update = flag.Bool("update", false, "write testdata anew")

// worldly are jobs in words that are not easily laid out.
var worldly = []Row{
	{"20261129-193015-0k7u2m", "", "running", "flash", "12s", "$0.0012", "add a test for the parser of dates and run it"},
	{"20261129-193014-0k7x2a", "übersetzen", "succeeded", "code", "3m12s", "$0.12", "翻訳してください：このファイルを日本語に、そして英語にも"},
	{"20261129-193013-0k7x2b", "", "failed", "pro", "1h2m", "$12.30", "👩‍👩‍👧‍👦 family, 🇩🇪 flag, ❤️ heart, 👍🏽 thumb and more of them"},
	{"20261129-193012-0k7x2c", "한국어", "cancelled", "flash", "2d", "", "e\u0301\u0301\u0301 combining, नमस्ते दुनिया, สวัสดีชาวโลก"},
	{"20261129-193011-0k7x2d", "", "interrupted", "flash", "30d", "$0.001", "evil\x1b[2J\x1b]0;title\a\r\n\tand \u202eleft\u202c \x9b31mC1 \x00\x7f"},
	{"20261129-193010-0k7x2e", "a-very-long-name-that-goes-on", "queued", "", "", "", "مرحبا بالعالم"},
	{"20261129-193009-0k7x2f", "", "lost", "flash", "1m", "$0.5", ""},
}

func TestTable(t *testing.T) {
	m := shown(t, Source{}, worldly)
	press(t, m, "j")
	for name, measure := range map[string]ansi.Method{"wcwidth": ansi.WcWidth, "grapheme": ansi.GraphemeWidth} {
		if measure == ansi.GraphemeWidth {
			m.Update(tea.ModeReportMsg{Mode: ansi.ModeUnicodeCore, Value: ansi.ModeReset})
		} else {
			m.Update(tea.ModeReportMsg{Mode: ansi.ModeUnicodeCore, Value: ansi.ModeNotRecognized})
			m.measure = ansi.WcWidth
		}
		if m.measure != measure {
			t.Fatalf("%s: the text is measured by %v", name, m.measure)
		}
		golden := filepath.Join("testdata", "table-"+name+".txt")
		got := screen(m) + "\n"
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if got != strings.ReplaceAll(string(want), "\r\n", "\n") {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
	}
}

// In a terminal of any size each line has its width and nothing acts on the terminal but colours.
func TestAnySize(t *testing.T) {
	m := shown(t, Source{}, worldly)
	check := func() {
		t.Helper()
		lines := m.lines()
		if len(lines) != m.height {
			t.Fatalf("%d×%d: %d lines", m.width, m.height, len(lines))
		}
		for _, l := range lines {
			text := ansi.Strip(l)
			if n := width(m.measure, text); n > m.width {
				t.Fatalf("%d×%d: %q has %d columns", m.width, m.height, text, n)
			}
			for _, r := range text {
				if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
					t.Fatalf("%d×%d: %q holds %q", m.width, m.height, text, r)
				}
			}
			if rest := strings.NewReplacer(plainly, "", bold, "", faint, "", reverse, "", red, "", green, "", yellow, "", cyan, "").Replace(l); rest != text {
				t.Fatalf("%d×%d: %q is more than text and colours", m.width, m.height, l)
			}
		}
	}
	for _, measure := range []ansi.Method{ansi.WcWidth, ansi.GraphemeWidth} {
		m.measure = measure
		for width := 1; width <= 200; width += 1 + width/20 {
			m.Update(tea.WindowSizeMsg{Width: width, Height: 1 + width%13})
			check()
			for range worldly {
				press(t, m, "c")
				check()
				press(t, m, "n", "j")
			}
			check()
			if press(t, m, "home", "enter"); m.log == nil {
				t.Fatal("no log")
			}
			for _, r := range worldly {
				m.feed(cleaned(t, strings.Repeat(r.Name, 9)+"\n"+r.Task)...)
			}
			check()
			press(t, m, "esc")
		}
	}
}

// cleaned is a text as it comes out of the cleaner in front of a tail.
func cleaned(t *testing.T, s string) []string {
	f := newCommands(t.Context(), Source{Log: writes(s)}).follow("x")
	f.read()
	return f.tail.lines
}

func TestColumns(t *testing.T) {
	m := shown(t, Source{}, worldly)
	for width, want := range map[int]string{
		120: "ID STATE TIER AGE COST TASK", 80: "ID STATE TIER AGE COST TASK", 70: "ID STATE TIER AGE TASK", 60: "ID STATE TASK", 64: "ID STATE AGE TASK",
		50: "ID STATE TASK", 30: "ID STATE TASK",
	} {
		m.Update(tea.WindowSizeMsg{Width: width, Height: 12})
		head, _, _ := strings.Cut(screen(m), "\n")
		if got := strings.Join(strings.Fields(head), " "); got != want {
			t.Errorf("%d columns: %s, want %s", width, got, want)
		}
	}
	m.Update(tea.WindowSizeMsg{Width: 45, Height: 12})
	if s := screen(m); !strings.Contains(s, "0k7u2m  running") || !strings.Contains(s, "…") {
		t.Errorf("the end of an id is cut off:\n%s", s)
	}
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 12})
	m.Update(jobsMsg{rows: []Row{{ID: "a", State: strings.Repeat("long", 20), Tier: "👩‍👩‍👧‍👦", Task: "task"}}})
	if s := screen(m); !strings.Contains(s, "> a   longlonglon…  👩‍👩‍👧‍👦  task ") {
		t.Errorf("a long state:\n%s", s)
	}
	m.Update(tea.ModeReportMsg{Mode: ansi.ModeUnicodeCore, Value: ansi.ModeReset})
	if w := m.table.widest[tierColumn]; w != len("TIER") {
		t.Errorf("a family still has %d columns in a terminal that knows families", w)
	}
	m.Update(jobsMsg{rows: rows("a")})
	if head, _, _ := strings.Cut(screen(m), "\n"); strings.Contains(head, "TIER") || strings.Contains(head, "COST") {
		t.Errorf("columns without anything: %s", head)
	}
}

// The edges of each column stand in one line, whatever is in the cells.
func TestCellsAreAligned(t *testing.T) {
	pieces := []string{"a", "界", "e\u0301", "👍🏽", "\x1b[31m", "\t", "ｱ", "한", "🇩🇪", "\u200b", "ß", "\xff", " "}
	random := rand.New(rand.NewPCG(1, 2))
	text := func(n int) string {
		var b strings.Builder
		for range random.IntN(n) {
			b.WriteString(pieces[random.IntN(len(pieces))])
		}
		return b.String()
	}
	for range 100 {
		var all []Row
		for range 5 {
			all = append(all, Row{text(20), text(9), text(9), text(9), text(9), text(9), text(90)})
		}
		m := shown(t, Source{}, all)
		m.measure = ansi.Method(random.IntN(2))
		m.Update(tea.WindowSizeMsg{Width: 40 + random.IntN(90), Height: 12})
		widths := m.table.widths(m.width)
		edge := gap
		for i, w := range widths {
			if w == 0 {
				continue
			}
			for _, l := range m.lines()[1:6] {
				plainLine := ansi.Strip(l)
				if got := width(m.measure, plainLine); got != m.width {
					t.Fatalf("%q has %d columns of %d", plainLine, got, m.width)
				}
				if i == 0 {
					continue
				}
				from, _ := cut(m.measure, plainLine, edge-gap)
				to, at := cut(m.measure, plainLine, edge)
				if before := plainLine[from:to]; strings.Trim(before, " \u200b") != "" || at != edge {
					t.Fatalf("column %d begins within %q of %q", i, before, plainLine)
				}
			}
			edge += w + gap
		}
	}
}

func TestStatesHaveColours(t *testing.T) {
	m := shown(t, Source{}, worldly)
	lines := m.lines()
	for i, want := range []string{cyan + reverse, green, red, yellow, yellow, faint, red} {
		if !strings.HasPrefix(lines[i+1], want) || !strings.HasSuffix(lines[i+1], plainly) {
			t.Errorf("%s is shown as %q", worldly[i].State, lines[i+1])
		}
	}
}
