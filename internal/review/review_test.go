package review

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"opencode-delegate/internal/redact"
)

func scope() Scope {
	return Scope{Base: "c0ffee", Top: "/src/p", Dir: "sub", Files: []File{
		{Path: "a.go", Lines: 10}, {Path: "sub/b.go", Lines: 3}, {Path: "a/b.go", Lines: 5}, {Path: "logo.png"}, {Path: `"new\nline"`, Lines: 2},
	}}
}

func one(file string, line int64) Claim {
	return Claim{File: file, Line: number(line), Claim: "it is wrong"}
}

func TestParseFindsAnAnswer(t *testing.T) {
	entry := `{"file":"a.go","line":3,"severity":"high","claim":"x \"y\"","evidence":"e","suggestion":"s"}`
	answer := `{"findings":[` + entry + `]}`
	want := []Claim{{"a.go", 3, "high", `x "y"`, "e", "s"}}
	for name, reply := range map[string]string{
		"alone":                        answer,
		"in a fence":                   "I looked at it.\n\n```json\n" + answer + "\n```\n",
		"with prose behind":            answer + "\nThat is all.",
		"spread":                       "{\n  \"findings\": [\n    " + entry + "\n  ]\n}",
		"the last of several":          `{"findings":[]} and then ` + answer,
		"the form before":              Contract() + answer,
		"the form behind":              answer + "\n" + Contract() + Repair(),
		"broken behind":                answer + ` {"findings":[{"file"`,
		"a trailing comma behind":      answer + ` {"findings":[` + entry + `,]}`,
		"more members":                 `{"findings":[` + entry + `],"summary":"x"}`,
		"more in an entry":             `{"findings":[` + strings.Replace(entry, "{", `{"id":"F1",`, 1) + `]}`,
		"braces before":                strings.Repeat("{", 1000) + answer,
		"much before":                  strings.Repeat("x", TailSize) + answer,
		"inside another":               `{"review":` + answer + `}`,
		"a null list behind":           answer + `{"findings": null}`,
		"an object instead of a list":  answer + `{"findings": {}}`,
		"the key within a string only": answer + ` "\"findings\": []"`,
	} {
		got, ok := Parse(reply)
		if !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v %+v", name, ok, got)
		}
	}
	for name, reply := range map[string]string{
		"nothing": "", "prose": "There are findings: none.", "the form": Contract(), "the follow-up": Repair(), "half": answer[:len(answer)-1],
		"a list alone": "[" + entry + "]", "single quotes": strings.ReplaceAll(answer, `"`, "'"), "another key": `{"issues":[]}`, "null": `{"findings":null}`,
		"a line break in a text": `{"findings":[{"claim":"a` + "\n" + `b"}]}`,
	} {
		if got, ok := Parse(reply); ok {
			t.Errorf("%s: found %+v", name, got)
		}
	}
	if got, ok := Parse(`{"findings": []}`); !ok || len(got) != 0 {
		t.Errorf("an empty list: %v %+v", ok, got)
	}
}

func TestParseTakesEntriesAsTheyCome(t *testing.T) {
	got, ok := Parse(`{"findings":[1,null,"x",{"file":7},{"file":"a","line":"12-15","claim":"c"},{"file":"a","line":null},{"file":"a","line":"L7"},{"file":"a","line":3.9},{"file":"a","line":-2},{"file":"a","line":[4]},{"file":"a","line":99999999999999999999}]}`)
	var lines []number
	for _, c := range got {
		lines = append(lines, c.Line)
	}
	if want := []number{0, 0, 0, 0, 12, 0, 7, 3, -1, -1, -1}; !ok || !slices.Equal(lines, want) {
		t.Errorf("%v, lines %v, want %v", ok, lines, want)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`{"findings":[{"file":"a.go","line":"1"}]}`)
	f.Add(Contract())
	f.Fuzz(func(t *testing.T, reply string) {
		claims, ok := Parse(reply)
		if !ok && claims != nil {
			t.Errorf("no answer, and yet %+v", claims)
		}
		found, dropped := scope().Check(claims, nil)
		if len(found)+dropped != len(claims) {
			t.Errorf("%d claims, %d found and %d dropped", len(claims), len(found), dropped)
		}
		if filled := reply + "\n" + `{"findings":[{"file":"a.go","line":1,"claim":"x"}]}`; !strings.Contains(filled, "\x00") {
			if last, ok := Parse(filled); !ok || len(last) != 1 {
				t.Errorf("the answer behind %q: %v %+v", reply, ok, last)
			}
		}
	})
}

func TestCheckDropsInventions(t *testing.T) {
	for _, c := range []struct {
		file string
		line int64
		want string // empty = dropped
	}{
		{"a.go", 1, "a.go"}, {"a.go", 10, "a.go"}, {"a.go", 11, ""}, {"a.go", 0, ""}, {"a.go", -1, ""},
		{"./a.go", 3, "a.go"}, {"`a.go`", 3, "a.go"}, {" a.go ", 3, "a.go"}, {"b/a.go", 3, "a.go"}, {"a/a.go", 3, "a.go"}, {"/src/p/a.go", 3, "a.go"}, {"/src/p/./sub/../a.go", 3, "a.go"},
		{"sub/b.go", 3, "sub/b.go"}, {"b.go", 3, "sub/b.go"}, {"../a.go", 3, "a.go"}, {`sub\b.go`, 3, "sub/b.go"}, {"a/sub/b.go", 2, "sub/b.go"},
		{"a/b.go", 5, "a/b.go"}, // its own name, not that of sub/b.go
		{"logo.png", 0, "logo.png"}, {"logo.png", 1, "logo.png"}, {"logo.png", 2, ""},
		{"new\nline", 2, `"new\nline"`}, {`"new\nline"`, 2, `"new\nline"`},
		{"", 1, ""}, {".", 1, ""}, {"/", 1, ""}, {"A.go", 1, ""}, {"c.go", 1, ""}, {"/etc/passwd", 1, ""}, {"/src/p/../q/a.go", 1, ""}, {"a.go\x00", 1, ""}, {"x/../../../a.go", 1, ""}, {strings.Repeat("../", 5000) + "a.go", 1, ""},
	} {
		found, dropped := scope().Check([]Claim{one(c.file, c.line)}, nil)
		switch {
		case c.want == "" && (dropped != 1 || len(found) > 0):
			t.Errorf("%.40q:%d was taken for %+v", c.file, c.line, found)
		case c.want != "" && (dropped != 0 || len(found) != 1 || found[0].File != c.want || found[0].Line != c.line):
			t.Errorf("%q:%d: %+v, want %q", c.file, c.line, found, c.want)
		}
	}
	if _, dropped := scope().Check([]Claim{{File: "a.go", Line: 1}, {File: "a.go", Line: 1, Claim: "\x1b[0m \n"}}, nil); dropped != 2 {
		t.Errorf("of two that claim nothing %d were dropped", dropped)
	}
}

// What a finding says is data of somebody else's: nothing of it acts on a terminal, is long, or is a secret.
func TestTextsAreHarmless(t *testing.T) {
	secrets := redact.New([]string{"MY_TOKEN=hunter2-is-long"})
	evil := "a\x1b[2J\r\n\u202eb hunter2-is-long c\tHUN\x1b[0mx hunter2\x1b[1m-is-long " + strings.Repeat("é", 1<<20)
	found, _ := scope().Check([]Claim{{File: "a.go", Line: 1, Severity: evil, Claim: evil, Evidence: evil, Suggestion: "@/etc/passwd"}}, secrets)
	if len(found) != 1 {
		t.Fatalf("%d findings", len(found))
	}
	f := found[0]
	for _, s := range []string{f.Claim, f.Evidence, f.Suggestion} {
		if strings.ContainsAny(s, "\x1b\r\n\t\u202e") || strings.Contains(s, "hunter2") || utf8.RuneCountInString(s) > proseLimit {
			t.Errorf("%.100q", s)
		}
	}
	if !strings.HasPrefix(f.Claim, "a b [redacted] c HUNx [redacted] é") || utf8.RuneCountInString(f.Claim) > claimLimit || f.Severity != Medium || f.Suggestion != "@/etc/passwd" {
		t.Errorf("%.100q %s", f.Claim, f.Severity)
	}
}

// A limit cuts no secret in two.
func TestSecretsAtTheCut(t *testing.T) {
	secrets := redact.New([]string{"MY_TOKEN=hunter2-is-long"})
	found, _ := scope().Check([]Claim{{File: "a.go", Line: 1, Claim: strings.Repeat("x", claimLimit-8) + " hunter2-is-long and more"}}, secrets)
	if len(found) != 1 || strings.Contains(found[0].Claim, "hunter") {
		t.Errorf("%+v", found)
	}
}

func TestMissing(t *testing.T) {
	s := scope()
	s.Left = []string{"left"}
	s.Parts = []Part{{1, []int{0, 1}}, {1, []int{1, 2}}}
	for want, answered := range map[string][]bool{"left": {true, true}, "a/b.go left sub/b.go": {true, false}, "a.go left sub/b.go": {false, true}, "a.go a/b.go left sub/b.go": nil} {
		if got := strings.Join(s.Missing(answered), " "); got != want {
			t.Errorf("%v: %q, want %q", answered, got, want)
		}
	}
	if got := strings.Join(s.Missing([]bool{true}), " "); got != "left" {
		t.Errorf("one answer for all: %q", got)
	}
}

func TestSeverities(t *testing.T) {
	for word, want := range map[string]Severity{"critical": Critical, " HIGH ": High, "Medium": Medium, "low": Low, "blocker": Critical, "major": High, "nit": Low, "": Medium, "awful": Medium, "critical|high": Medium} {
		if got := severity(word); got != want {
			t.Errorf("%q is %s, want %s", word, got, want)
		}
	}
}

func TestAddMergesAndOrders(t *testing.T) {
	r := Of(scope())
	r.Add([]Finding{
		{File: "b", Line: 9, Severity: Low, Claim: "one"}, {File: "b", Line: 9, Severity: Low, Claim: "other"},
		{File: "b", Line: 2, Severity: High, Claim: "x"}, {File: "a", Line: 5, Severity: High, Claim: "x"},
	}, 2)
	r.Add([]Finding{{File: "b", Line: 9, Severity: Critical, Claim: "ONE", Evidence: "seen"}, {File: "c", Line: 1, Severity: Medium, Claim: "x"}}, 1)
	var got []string
	for _, f := range r.Findings {
		got = append(got, fmt.Sprintf("%s %s:%d %s %s%s", f.ID, f.File, f.Line, f.Severity, f.Claim, f.Evidence))
	}
	want := []string{"F1 b:9 critical oneseen", "F2 a:5 high x", "F3 b:2 high x", "F4 c:1 medium x", "F5 b:9 low other"}
	if !slices.Equal(got, want) || r.Dropped != 3 || *r.Base != "c0ffee" {
		t.Errorf("%q, want %q; dropped %d", got, want, r.Dropped)
	}
	var many []Finding
	for i := range 3 * Limit {
		many = append(many, Finding{File: "m", Line: int64(i), Severity: Severities[i%4], Claim: "x"})
	}
	r.Add(many, 0)
	if last := r.Findings[Limit-1]; len(r.Findings) != Limit || r.Dropped != 3+5+2*Limit || last.ID != fmt.Sprint("F", Limit) || last.Severity != High {
		t.Errorf("%d findings, %d dropped, the last is %+v", len(r.Findings), r.Dropped, last)
	}
	empty := Of(Scope{Left: []string{"big"}})
	if text, err := json.Marshal(empty); err != nil || string(text) != `{"base":null,"findings":[],"dropped":0,"not_reviewed":["big"]}` {
		t.Errorf("%s %v", text, err)
	}
}

func TestQuestions(t *testing.T) {
	s := scope()
	s.Parts = []Part{{3, []int{0, 2, 99, -1}}, {5, []int{1}}}
	if got := s.Questions("abcdefgh"); !slices.Equal(got, []string{"abc", "defgh"}) {
		t.Errorf("%q", got)
	}
	if got := s.Paths(0); !slices.Equal(got, []string{"a.go", "a/b.go"}) || s.Paths(2) != nil {
		t.Errorf("%q", got)
	}
	for _, prompt := range []string{"", "abcdefg", "abcdefghi"} {
		if got := s.Questions(prompt); len(got) != 1 || got[0] != prompt {
			t.Errorf("%q became %q", prompt, got)
		}
	}
	s.Parts = []Part{{-1, nil}, {4, nil}}
	if got := s.Questions("abc"); len(got) != 1 {
		t.Errorf("%q", got)
	}
	s.Parts = nil
	if got := s.Questions("abc"); len(got) != 1 {
		t.Errorf("%q", got)
	}
}

func TestSelect(t *testing.T) {
	r := Review{Findings: []Finding{{ID: "F1"}, {ID: "F2"}, {ID: "F3"}}}
	found, unknown := r.Select([]string{"F3", "F9", "F1"})
	if len(found) != 2 || found[0].ID != "F1" || found[1].ID != "F3" || !slices.Equal(unknown, []string{"F9"}) {
		t.Errorf("%+v, unknown %q", found, unknown)
	}
}

// A record may be anybody's.
func TestSound(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	r := Review{Findings: []Finding{
		{ID: "F1", File: "a\x1b[1m", Line: -3, Severity: "evil\n", Claim: "c\nd", Evidence: long}, {ID: "F01"}, {ID: "F-1"}, {ID: "x"}, {ID: "F2\n"}, {ID: "F2", Severity: Low},
	}}
	got := r.Sound(nil).Findings
	if len(got) != 2 || got[0].File != "a" || got[0].Line != 0 || got[0].Severity != Medium || got[0].Claim != "c d" || len(got[0].Evidence) > 2*proseLimit || got[1].ID != "F2" {
		t.Errorf("%+v", got)
	}
	r.Findings = make([]Finding, 10*Limit)
	for i := range r.Findings {
		r.Findings[i].ID = fmt.Sprint("F", i+1)
	}
	if got := r.Sound(nil).Findings; len(got) != Limit {
		t.Errorf("%d findings", len(got))
	}
}

func TestTable(t *testing.T) {
	r := Of(scope())
	if got, want := r.Table(Facts{Status: "OK", Reason: "success by evidence", TextPath: "/r/result.md"}, 4000), "OK: success by evidence\nno findings\nwhole text: /r/result.md\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	r.Add([]Finding{
		{File: "a.go", Line: 3, Severity: Critical, Claim: "it breaks", Evidence: "seen", Suggestion: "mend it"},
		{File: "sub/long.go", Line: 100, Severity: Low, Claim: "it is odd"}, {File: "logo.png", Severity: Low, Claim: "it is big"},
	}, 2)
	r.NotReviewed = []string{"x", "y"}
	want := `findings: 3 (1 critical, 2 low); dropped: 2 that name no place in what was reviewed
not reviewed: x, y
F1    critical  a.go:3           it breaks
      evidence: seen
      repair: mend it
F2    low       logo.png         it is big
F3    low       sub/long.go:100  it is odd
whole text: /r/result.md
`
	if got := r.Table(Facts{Status: "OK", Reason: "success by evidence", TextPath: "/r/result.md"}, 4000); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := (Review{NotReviewed: []string{"x"}}).Table(Facts{Status: "OK"}, 4000); !strings.Contains(got, "no findings in what was reviewed\n") {
		t.Error(got)
	}
	if got := r.Table(Facts{Status: "INCOMPLETE", Reason: "part 2 of 3: cut off"}, 4000); !strings.HasPrefix(got, "INCOMPLETE: part 2 of 3: cut off\nfindings: 3") {
		t.Error(got)
	}
}

func TestTableIsBounded(t *testing.T) {
	r := Of(scope())
	for i := range 150 {
		r.Add([]Finding{{File: strings.Repeat("d/", i) + "x", Line: int64(i), Severity: Severities[i%4], Claim: strings.Repeat("é", i*7+1), Evidence: strings.Repeat("e", 300), Suggestion: "s"}}, 0)
		r.NotReviewed = append(r.NotReviewed, strings.Repeat("n", i*3+1))
	}
	for _, limit := range []int{200, 500, 501, 777, 4000, 100_000} {
		for _, path := range []string{"", "/r/result.md", strings.Repeat("/long", 100)} {
			got := r.Table(Facts{Status: "INCOMPLETE", Reason: strings.Repeat("because ", 100), TextPath: path}, limit)
			n := utf8.RuneCountInString(got)
			if n > limit || !strings.Contains(got, "findings: 150 (") || !utf8.ValidString(got) {
				t.Errorf("limit %d: %d code points\n%s", limit, n, got)
			}
			if path == "/r/result.md" && !strings.HasSuffix(got, "whole text: /r/result.md\n") {
				t.Errorf("limit %d: the path is not the last line\n%s", limit, got)
			}
			if limit == 4000 && (!strings.Contains(got, "\nF1    critical  ") || !strings.Contains(got, " more, in result.json\n") || n < 3000) {
				t.Errorf("%d code points\n%s", n, got)
			}
			if limit > 50_000 && !strings.Contains(got, "F150  low") {
				t.Errorf("not all are shown:\n%.3000s", got)
			}
		}
	}
}
