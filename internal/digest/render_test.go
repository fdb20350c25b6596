package digest

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestRender(t *testing.T) {
	f := Facts{
		Status: "OK", Known: true, Commands: 7, Failed: 3, Verdict: "pass", TextPath: "/state/jobs/1/result.md",
		Changes: []Change{{"a.go", "modified"}, {"dir/b c.go", "added"}, {"new\nline", "deleted"}},
	}
	d := Digest{Text: said, Files: []string{"a.go: a new parser", "**`dir/b c.go`** — tests", "ghost.go: never touched"}}
	want := "OK\n3 of 7 commands failed\nverdict: pass\n" +
		"files changed: 3\n- a.go (modified): a new parser\n- dir/b c.go (added): tests\n- \"new\\nline\" (deleted)\n" +
		"whole text: /state/jobs/1/result.md\n\n" + said + "\n"
	if got := Render(f, d, FromWorker, 0); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestFactsWinOverTheWorker(t *testing.T) {
	d := Digest{Text: "Key decisions:\n- all tests are green", Files: []string{"a.go: done", "b.go: done"}}
	got := Render(Facts{Status: "NO_CHANGES", Reason: "no file has changed", Known: true, Commands: 2, TextPath: "/t"}, d, FromWorker, 0)
	for _, part := range []string{"NO_CHANGES: no file has changed\n", "files changed: none (the worker lists 2)\n", "commands run: 2, none failed\n", "whole text: /t\n", "all tests are green"} {
		if !strings.Contains(got, part) {
			t.Errorf("%q is missing in\n%s", part, got)
		}
	}
	if strings.Contains(got, "a.go") {
		t.Errorf("a file that did not change is named:\n%s", got)
	}
	got = Render(Facts{Status: "OK", TextPath: "/t"}, d, Repaired, 0)
	if !strings.Contains(got, "files changed: not known; the worker says:\n- a.go: done\n") || !strings.Contains(got, "digest: given when asked for again\n") {
		t.Errorf("got\n%s", got)
	}
	got = Render(Facts{Status: "OK", Known: true, Changes: []Change{{"b.go", "added"}}, TextPath: "/t"}, Digest{}, FromNobody, 0)
	if want := "OK\ndigest: none\nfiles changed: 1\n- b.go (added)\nwhole text: /t\n"; got != want {
		t.Errorf("got\n%s", got)
	}
	got = Render(Facts{Status: "OK", Known: true, TextPath: "/t"}, Digest{Text: "the whole reply"}, Extracted, 0)
	if !strings.Contains(got, "extract of its text\n") || !strings.HasSuffix(got, "\n\nthe whole reply\n") {
		t.Errorf("got\n%s", got)
	}
}

func TestRenderStaysWithinItsLimit(t *testing.T) {
	many := make([]Change, 200_000)
	for i := range many {
		many[i] = Change{fmt.Sprintf("dir/file_%d.go", i), "modified"}
	}
	texts := map[string]string{
		"nothing": "", "short": said, "one long line": strings.Repeat("x", 1<<16), "combining marks": strings.Repeat("\u0301", 1<<13),
		"invalid": strings.Repeat("\xff", 1<<13), "emoji": strings.Repeat("👩‍👩‍👧", 1<<12), "escapes": strings.Repeat("\x1b[31m", 1<<12), "newlines": strings.Repeat("\n", 1<<13),
		"errors": strings.Repeat("error: no\n", 1<<12),
	}
	for name, text := range texts {
		for _, source := range []Source{FromWorker, Repaired, Extracted, FromNobody} {
			for _, limit := range []int{-1, 0, 500, 700, 20_000} {
				for _, changed := range [][]Change{nil, many[:3], many, {{strings.Repeat("p", 5000), "added"}}} {
					f := Facts{Status: "RUN_FAILED", Reason: strings.Repeat("why ", 500), Known: true, Changes: changed, Commands: 9, Failed: 9, Verdict: "fail", TextPath: "/state/" + strings.Repeat("é", 300) + "/result.md"}
					got := Render(f, Digest{Text: text, Files: []string{text}}, source, limit)
					allowed := max(limit, MinLimit)
					if limit == 0 {
						allowed = DefaultLimit
					}
					if n := utf8.RuneCountInString(got); n > allowed {
						t.Errorf("%s, %s, %d changes: %d code points of %d", name, source, len(changed), n, allowed)
					}
					if !utf8.ValidString(got) || strings.Contains(got, "\x1b") {
						t.Errorf("%s, %s: not clean", name, source)
					}
					if !strings.Contains(got, f.TextPath) || !strings.HasSuffix(got, "\n") {
						t.Errorf("%s, %s, limit %d: the path is missing in\n%s", name, source, limit, got)
					}
					if len(changed) == len(many) && !strings.Contains(got, "files changed: 200000") {
						t.Errorf("%s, %s, limit %d: the number of files is missing in\n%s", name, source, limit, got)
					}
				}
			}
		}
	}
}

func TestRoomIsShared(t *testing.T) {
	changed := make([]Change, 500)
	for i := range changed {
		changed[i] = Change{fmt.Sprintf("dir/file_%d.go", i), "modified"}
	}
	f := Facts{Status: "OK", Known: true, Changes: changed, TextPath: "/t"}
	got := Render(f, Digest{Text: strings.Repeat("prose ", 2000)}, FromWorker, 4000)
	files, prose := strings.Count(got, "- dir/"), strings.Count(got, "prose")
	if files < 50 || prose < 300 || !strings.Contains(got, "- and ") || !strings.Contains(got, "[… cut here]") {
		t.Errorf("%d files and %d words of prose", files, prose)
	}
	if n := utf8.RuneCountInString(got); n < 3900 {
		t.Errorf("only %d code points of 4000 are used", n)
	}
	short := Render(f, Digest{Text: "brief"}, FromWorker, 4000)
	if n := strings.Count(short, "- dir/"); n < 2*files-20 {
		t.Errorf("%d files though the prose is short", n)
	}
}

func TestExtract(t *testing.T) {
	if got := Extract(" short\x1b[1m text\n", 100); got != "short text" {
		t.Errorf("got %q", got)
	}
	var b strings.Builder
	for i := range 5000 {
		if i == 400 {
			b.WriteString("main.go:12: undefined: frobnicate\n")
		}
		fmt.Fprintf(&b, "line %d of an ordinary log\n", i)
	}
	got := Extract(b.String(), 1000)
	for _, part := range []string{"[extract of ", "line 0 of", "undefined: frobnicate", "line 4999 of", gap} {
		if !strings.Contains(got, part) {
			t.Errorf("%q is missing in\n%s", part, got)
		}
	}
	if n := utf8.RuneCountInString(got); n > 1000 || n < 800 {
		t.Errorf("%d code points of 1000", n)
	}
	one := Extract(strings.Repeat("x", 5000)+" fatal: disk full "+strings.Repeat("y", 50000), 600)
	if !strings.Contains(one, "fatal: disk full") {
		t.Errorf("the error within a line is missing in\n%s", one)
	}
	if got := Extract(strings.Repeat("x", 500), 20); got != strings.Repeat("x", 20) {
		t.Errorf("got %q", got)
	}
}

func FuzzRender(f *testing.F) {
	f.Add("text", "a.go: x", "path", "why", 500, uint8(0))
	f.Add("\xff\u0301", "\n", "\x1b", "\u202e", 700, uint8(2))
	f.Fuzz(func(t *testing.T, text, file, path, reason string, limit int, s uint8) {
		limit = max(MinLimit, min(limit, 10_000))
		source := []Source{FromWorker, Repaired, Extracted, FromNobody}[s%4]
		facts := Facts{Status: "OK", Reason: reason, Known: s&8 == 0, Changes: []Change{{path, file}, {file, path}}, Failed: int(s), Commands: 255, Verdict: file, TextPath: "/record/result.md"}
		got := Render(facts, Digest{Text: text, Files: []string{file, path + ": " + reason}}, source, limit)
		if n := utf8.RuneCountInString(got); n > limit || !utf8.ValidString(got) || !strings.Contains(got, "whole text: /record/result.md\n") {
			t.Errorf("%d code points of %d in %q", n, limit, got)
		}
	})
}
