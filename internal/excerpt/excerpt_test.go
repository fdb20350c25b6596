package excerpt

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf16"
	"unicode/utf8"
)

func of(t *testing.T, log string, limit int) Excerpt {
	t.Helper()
	e, err := Of(strings.NewReader(log), limit)
	if err != nil {
		t.Fatal(err)
	}
	if n := utf8.RuneCountInString(e.Text); n > limit {
		t.Errorf("%d characters, more than %d", n, limit)
	}
	if e.Bytes != int64(len(log)) {
		t.Errorf("%d bytes, want %d", e.Bytes, len(log))
	}
	return e
}

// numbered is a log of n lines that are all different, also in their words, with some of them replaced.
func numbered(n int, other map[int]string) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		if s, ok := other[i]; ok {
			b.WriteString(s + "\n")
			continue
		}
		fmt.Fprintf(&b, "step %s of the build takes its time and says nothing\n", word(i))
	}
	return b.String()
}

func word(i int) string {
	return strings.Map(func(c rune) rune { return c - '0' + 'k' }, strconv.Itoa(i))
}

func TestShortLogsStayAsTheyAre(t *testing.T) {
	for log, want := range map[string]string{
		"":                                     "",
		"a":                                    "a",
		"a\nb\n":                               "a\nb\n",
		"same\nsame\nsame\n\n\n":               "same\nsame\nsame\n\n\n",
		"n 1\nn 2\nn 3\nn 4\nn 5\n":            "n 1\nn 2\nn 3\nn 4\nn 5\n",
		"\x1b[31mred\x1b[0m\x00 and \xff\n":    "red and \ufffd\n",
		"a\r\nb\r\n":                           "a\nb\n",
		"a\r\r\nb":                             "a\nb",
		"1%\r50%\r100%\ndone":                  "100%\ndone",
		"1%\r50%\r\x1b[K\ndone":                "50%\ndone",
		"compile a\rerror: b\rcompile c\nd":    "error: b\ncompile c\nd",
		"1%\r" + strings.Repeat("long ", 100):  strings.Repeat("long ", 100),
		"compile a\rerror: b\n":                "error: b\n",
		"\u202ehidden\u2066\n":                 "hidden\n",
		"\ufeffmarked\n":                       "\ufeffmarked\n",
		"\x1b]0;a title that has no end\ntext": "\ntext",
	} {
		if e := of(t, log, 1000); e.Text != want || e.Left != 0 || !e.Whole {
			t.Errorf("%q: %+v, want %q", log, e, want)
		}
	}
	if e := of(t, "abcde\n", 6); e.Text != "abcde\n" {
		t.Errorf("%+v", e)
	}
	if e := of(t, "abcde\n", 5); e.Text != "abcde" || e.Left != 0 {
		t.Errorf("%+v", e)
	}
	if e := of(t, "äöüßé\n", 5); e.Text != "äöüßé" {
		t.Errorf("characters are not bytes: %+v", e)
	}
}

func TestLinesAreCounted(t *testing.T) {
	for log, want := range map[string]int64{"": 0, "a": 1, "a\n": 1, "a\nb": 2, "\n\n": 2, "a\r": 1, "a\rb\r\n": 1, "error: a\rb\n": 1} {
		if e := of(t, log, 1000); e.Lines != want {
			t.Errorf("%q: %d lines, want %d", log, e.Lines, want)
		}
	}
}

func TestTheOnlyErrorIsKept(t *testing.T) {
	for _, at := range []int{1, 40, 2500, 4999, 5000} {
		e := of(t, numbered(5000, map[int]string{at: "main.c:7: error: no such thing"}), 8000)
		if !strings.Contains(e.Text, "main.c:7: error: no such thing") || e.Lines != 5000 || e.Failures != 1 {
			t.Fatalf("the error in line %d: %d lines, %d failures\n%s", at, e.Lines, e.Failures, e.Text)
		}
		accounts(t, e)
		for near := max(1, at-before); near <= min(5000, at+after); near++ {
			if near != at && !strings.Contains(e.Text, " "+word(near)+" ") {
				t.Errorf("the error in line %d: line %d is not there", at, near)
			}
		}
		if at == 2500 && strings.Contains(e.Text, " "+word(at-before-1)+" ") {
			t.Errorf("more than %d lines before it", before)
		}
		for _, end := range []int{2, 4998} {
			if !strings.Contains(e.Text, " "+word(end)+" ") {
				t.Errorf("the error in line %d: line %d is not there", at, end)
			}
		}
		if len(e.Text) < 6000 {
			t.Errorf("the room is not used: %d", len(e.Text))
		}
	}
}

var (
	marked  = regexp.MustCompile(`(?m)^\[(\d+) lines left out: (\d+) to (\d+)(; \d+ of them look like failures)?\]$`)
	alike   = regexp.MustCompile(`(?m)^\[(?:the same )?(\d+) (?:times more|more that differ in their numbers only), up to line \d+\]$`)
	ofALine = regexp.MustCompile(`(?m)^\[a part of line \d+ left out\]$`)
)

// accounts checks that each line of the log is shown or in a mark, for logs of short lines.
func accounts(t *testing.T, e Excerpt) {
	t.Helper()
	at, left := int64(0), int64(0)
	for line := range strings.SplitSeq(e.Text, "\n") {
		number := func(s string) int64 { n, _ := strconv.ParseInt(s, 10, 64); return n }
		if m := marked.FindStringSubmatch(line); m != nil {
			if number(m[2]) != at+1 || number(m[3])-number(m[2])+1 != number(m[1]) {
				t.Errorf("%s after line %d", line, at)
			}
			at, left = number(m[3]), left+number(m[1])
		} else if m := alike.FindStringSubmatch(line); m != nil {
			at += number(m[1])
			if !strings.HasSuffix(line, fmt.Sprintf("line %d]", at)) {
				t.Errorf("%s at line %d", line, at)
			}
		} else {
			at++
		}
	}
	if at != e.Lines || left != e.Left {
		t.Errorf("%d lines of %d, %d left out of %d, in\n%s", at, e.Lines, left, e.Left, e.Text)
	}
}

func TestFirstFailuresComeFirst(t *testing.T) {
	other := map[int]string{}
	for i := 100; i < 4900; i += 40 {
		other[i] = "error: of kind " + word(i)
	}
	e := of(t, numbered(5000, other), 6000)
	accounts(t, e)
	if !strings.Contains(e.Text, "kind "+word(100)+"\n") || !strings.Contains(e.Text, "kind "+word(140)+"\n") || strings.Contains(e.Text, "kind "+word(4020)+"\n") {
		t.Error(e.Text)
	}
	if e.Failures != 120 || !strings.Contains(e.Text, "of them look like failures]") {
		t.Errorf("%d failures", e.Failures)
	}
}

// What has the form of a failure comes before what only has a word for one, wherever it stands.
func TestFormsComeBeforeWords(t *testing.T) {
	other := map[int]string{3000: "panic: the cause"}
	for i := 100; i < 2900; i += 20 {
		other[i] = "this may have failed " + word(i)
	}
	e := of(t, numbered(5000, other), 6000)
	if !strings.Contains(e.Text, "panic: the cause\n") || !strings.Contains(e.Text, "may have failed "+word(100)+"\n") {
		t.Error(e.Text)
	}
}

// The same failure over and over leaves room for another.
func TestAFailureThatComesAgain(t *testing.T) {
	other := map[int]string{4000: "error: the other one"}
	for i := 10; i < 3900; i += 20 {
		other[i] = fmt.Sprintf("error: try %d was of no use", i)
	}
	e := of(t, numbered(5000, other), 6000)
	accounts(t, e)
	if !strings.Contains(e.Text, "error: the other one\n") || !strings.Contains(e.Text, "error: try 10 ") {
		t.Error(e.Text)
	}
}

func TestRepeatedLinesAreFolded(t *testing.T) {
	var b strings.Builder
	b.WriteString("begin\n")
	b.WriteString(strings.Repeat("waiting for the database\n", 500))
	for i := range 400 {
		fmt.Fprintf(&b, "10:%02d:%02d fetched %d of 400\n", i/60, i%60, i)
	}
	b.WriteString("short\nshort\nshort\nend\n")
	e := of(t, b.String(), 1000)
	want := "begin\nwaiting for the database\n[the same 499 times more, up to line 501]\n10:00:00 fetched 0 of 400\n10:00:01 fetched 1 of 400\n10:00:02 fetched 2 of 400\n" +
		"[397 more that differ in their numbers only, up to line 901]\nshort\nshort\nshort\nend"
	if e.Text != want || e.Whole || e.Left != 0 || e.Lines != 905 {
		t.Errorf("%+v", e)
	}
	accounts(t, e)
}

// A mark says of repeated lines only what is true of all of them.
func TestRepeatedLinesInBetween(t *testing.T) {
	long := strings.Repeat(" and so on", 30)
	line := func(i int) string { return fmt.Sprintf("step %d%s\n", i, long) }
	for lines, want := range map[string]string{
		line(1) + line(2) + line(3) + line(3) + line(3) + line(4) + line(5): line(1) + line(2) + line(3) + "[the same 2 times more, up to line 5]\n" + line(4) + "[1 more that differ in their numbers only, up to line 7]",
		line(1) + line(2) + line(3) + line(4) + line(3) + line(3):           line(1) + line(2) + line(3) + "[3 more that differ in their numbers only, up to line 6]",
		line(1) + line(2) + line(2) + line(1):                               line(1) + line(2) + "[the same 1 times more, up to line 3]\n" + line(1),
	} {
		tail := strings.Repeat("the end\n", 1000)
		e := of(t, lines+tail, 6000)
		if got, _, _ := strings.Cut(e.Text, "the end\n"); strings.TrimSpace(got) != strings.TrimSpace(want) {
			t.Errorf("%s\nwant\n%s", got, want)
		}
		accounts(t, e)
	}
}

// Failures that repeat are counted where they are left out, and nowhere else.
func TestFailuresAreCounted(t *testing.T) {
	other := map[int]string{}
	for i := 2000; i < 2050; i++ {
		other[i] = "error: again and again, as long as this line is, and longer, to be sure of it"
	}
	other[3000] = "error: again and again, as long as this line is, and longer, to be sure of it"
	e := of(t, numbered(5000, other), 4000)
	accounts(t, e)
	w := New(4000)
	io.WriteString(w, strings.Repeat("error: the same\n", 3))
	if w.prev.first != 0 || w.prev.upto != 3 {
		t.Errorf("%d to %d failures in three lines", w.prev.first, w.prev.upto)
	}
	if n := strings.Count(e.Text, "of them look like failures"); e.Failures != 51 || n != 1 || !strings.Contains(e.Text, "; 1 of them look like failures]") {
		t.Errorf("%d failures, %d marks in %s", e.Failures, n, e.Text)
	}
}

// Whatever the limit is, nothing is left out without a mark.
func TestEveryLimit(t *testing.T) {
	other := map[int]string{}
	for i := 100; i < 5000; i += 9 {
		other[i] = "error: " + word(i)
	}
	var groups strings.Builder
	for i := range 1000 {
		groups.WriteString(strings.Repeat(word(i)+" is said five times in a row, and is not short\n", 5))
	}
	both := map[int]string{}
	for i := 1; i < 5000; i += 2 {
		both[i], both[i+1] = "error: "+word(i), "it has failed with "+word(i)
	}
	for _, log := range []string{numbered(5000, both), numbered(5000, nil), numbered(5000, other), groups.String(), numbered(3000, nil) + groups.String()} {
		for _, limit := range []int{300, 400, 600, 1000, 3000, 10_000} {
			e := of(t, log, limit)
			accounts(t, e)
			if limit >= 3000 && len(e.Text) < limit*7/10 {
				t.Errorf("the room is not used: %d", len(e.Text))
			}
			if t.Failed() {
				t.Fatalf("limit %d", limit)
			}
		}
	}
}

func TestShelvesHoldNothingTwice(t *testing.T) {
	w := New(3000)
	for i := range 1000 {
		fmt.Fprintf(w, "error: %s\nit has failed with %s\n", word(i), word(i))
	}
	for _, s := range []shelf{w.strong, w.weak} {
		chars := 0
		for i, it := range s.items {
			if chars += it.chars; i > 0 && it.seq <= s.items[i-1].seq {
				t.Fatalf("%d after %d", it.seq, s.items[i-1].seq)
			}
		}
		if len(s.items) == 0 || chars > 3100 {
			t.Errorf("%d items of %d characters", len(s.items), chars)
		}
	}
}

func TestWhereLongLinesAreCut(t *testing.T) {
	for text, want := range map[string]int{
		strings.Repeat("x", 100): 64, strings.Repeat("x", 50) + " yz" + strings.Repeat("x", 50): 51, "a b" + strings.Repeat("x", 100): 64,
		strings.Repeat("x", 63) + "ß" + strings.Repeat("x", 50): 63, strings.Repeat("x", 62) + "模模" + strings.Repeat("x", 50): 62,
	} {
		if got := cut([]byte(text), 64); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

func TestLongLines(t *testing.T) {
	log := "begin\n" + strings.Repeat("abcdefghi ", 500_000) + "error: in the middle " + strings.Repeat("xyz ", 500_000) + "the end of it\nlast"
	e := of(t, log, 20_000)
	for _, want := range []string{"begin\n" + strings.Repeat("abcdefghi ", 400), "error: in the middle xyz", "xyz the end of it\nlast", "\n[a part of line 2 left out]\n"} {
		if !strings.Contains(e.Text, want) {
			t.Errorf("no %q in %.3000s", want, e.Text)
		}
	}
	if front, _, _ := strings.Cut(e.Text, "error: in the middle"); len(front)-strings.LastIndex(front, "left out]") > 1300 {
		t.Errorf("what stands before the error takes %d characters", len(front)-strings.LastIndex(front, "left out]"))
	}
	if e.Lines != 3 || e.Left != 0 || len(ofALine.FindAllString(e.Text, -1)) != 2 {
		t.Errorf("%d lines, %d left, %d marks", e.Lines, e.Left, len(ofALine.FindAllString(e.Text, -1)))
	}
	// One that fits is whole, wherever it was cut.
	for _, part := range []string{"abcdefghi ", "äöüß", "模块", "x"} {
		log := "1\n" + strings.Repeat(part, 2000) + "\r\n2"
		if e := of(t, log, 30_000); e.Text != strings.ReplaceAll(log, "\r", "") {
			t.Errorf("%q: %d characters, want %d", part, len(e.Text), len(log))
		}
	}
	// It is no repetition of a line that is like its beginning.
	x := strings.Repeat("x", 64)
	if e := of(t, x+"\n"+x+"yyy\n"+numbered(100, nil), 900); !strings.HasPrefix(e.Text, x+"\n"+x+"yyy\n") {
		t.Errorf("%s", e.Text)
	}
	// A bar of progress can be long too.
	if e := of(t, strings.Repeat("x", 5000)+"\rshort\n", 30_000); e.Text != strings.Repeat("x", 5000)+"\nshort\n" || e.Lines != 1 {
		t.Errorf("%+v", e)
	}
}

func TestOtherEncodings(t *testing.T) {
	var b strings.Builder
	for _, u := range utf16.Encode([]rune("\ufeffone\r\nerror: two\r\n")) {
		b.WriteByte(byte(u))
		b.WriteByte(byte(u >> 8))
	}
	if e := of(t, b.String(), 1000); !strings.HasSuffix(e.Text, "one\nerror: two\n") || e.Failures != 1 {
		t.Errorf("UTF-16, as PowerShell writes it: %q", e.Text)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	var before, most, now runtime.MemStats
	w := New(Limit)
	chunk := []byte(strings.Repeat("error: one more line of a log\n\n\x1b[1mbold\x1b[0m 10%\r20%\r", 1000))
	line := []byte(strings.Repeat("x", 8<<20))
	runtime.ReadMemStats(&before)
	for i := range 100 {
		w.Write(chunk)
		if i%10 == 0 {
			w.Write(line)
		}
		for j := range 200 {
			fmt.Fprintf(w, "error: %s\n", word(i*1000+j))
		}
		if i%20 == 0 {
			runtime.GC()
			if runtime.ReadMemStats(&now); now.HeapAlloc > most.HeapAlloc {
				most = now
			}
		}
	}
	if grown := int64(most.HeapAlloc) - int64(before.HeapAlloc); grown > 5<<20 {
		t.Errorf("%d KiB for a log of %d MiB", grown>>10, w.bytes>>20)
	}
	if len(w.seen) > kinds {
		t.Errorf("%d kinds of failures", len(w.seen))
	}
	if e := w.Excerpt(); utf8.RuneCountInString(e.Text) > Limit || len(e.Text) < Limit*8/10 {
		t.Errorf("%d characters", utf8.RuneCountInString(e.Text))
	}
}

func TestAReaderThatFails(t *testing.T) {
	broken := errors.New("broken")
	e, err := Of(io.MultiReader(strings.NewReader("one\ntwo"), iotest.ErrReader(broken)), 100)
	if !errors.Is(err, broken) || e.Text != "one\ntwo" {
		t.Errorf("%+v, %v", e, err)
	}
}

func BenchmarkExcerpt(b *testing.B) {
	logs := map[string]string{
		"plain": numbered(20_000, nil), "failures": strings.Repeat(numbered(20, map[int]string{7: "main.c:3: error: x"}), 1000),
		"coloured": strings.Repeat("\x1b[32mok\x1b[0m  example.org/m/pkg  0.123s\n", 20_000), "bar": strings.Repeat("[===>    ] 10%\r", 60_000), "oneLine": strings.Repeat("abcdefghi ", 100_000),
	}
	for name, log := range logs {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(log)))
			for b.Loop() {
				if _, err := Of(strings.NewReader(log), Limit); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
