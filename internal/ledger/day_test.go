package ledger

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const firstDay = "2026-11-28"

// twoDays is a ledger with a day that is over and one that may grow.
func twoDays(t *testing.T) (*Ledger, []Entry) {
	t.Helper()
	l := fresh(t)
	var entries []Entry
	for i := range 50 {
		e := entry(noon.Add(time.Duration(i-100) * time.Minute))
		if i < 30 {
			e.At = e.At.AddDate(0, 0, -2)
		}
		entries = append(entries, e)
	}
	fill(t, l, entries)
	return l, entries
}

func sumOf(t *testing.T, l *Ledger, day string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(l.dir, day+sumSuffix))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestADayThatIsOverIsReadOnce(t *testing.T) {
	l, entries := twoDays(t)
	compare(t, l, entries, time.Time{}, ByTier)
	if _, err := os.Stat(filepath.Join(l.dir, "2026-11-30.sum")); err == nil {
		t.Error("the newest day, which is short, has a sum")
	}
	// The sum is believed: with another content of the same length and time the report stays.
	path := filepath.Join(l.dir, firstDay+entriesSuffix)
	fi, _ := os.Stat(path)
	corrupt(t, l, firstDay+entriesSuffix, func(b []byte) []byte { return bytes.Repeat([]byte("x"), len(b)) })
	if err := os.Chtimes(path, fi.ModTime(), fi.ModTime()); err != nil {
		t.Fatal(err)
	}
	compare(t, l, entries, time.Time{}, ByTier)
}

func TestEachDayButTheNewestHasASum(t *testing.T) {
	l := fresh(t)
	for i := range 12 {
		fill(t, l, []Entry{entry(noon.AddDate(0, 0, -i))})
	}
	report(t, l, time.Time{}, ByTier)
	sums, err := filepath.Glob(filepath.Join(l.dir, "*"+sumSuffix))
	if err != nil || len(sums) != 11 || filepath.Base(sums[10]) != "2026-11-29.sum" {
		t.Errorf("%v, %v", sums, err)
	}
}

func TestASumThatIsWrongIsMadeAgain(t *testing.T) {
	for name, change := range map[string]func([]byte) []byte{
		"empty": func([]byte) []byte { return nil },
		"cut":   func(b []byte) []byte { return b[:len(b)-1] },
		"a bit": func(b []byte) []byte { b[len(b)/2] ^= 4; return b },
		"another form": func(b []byte) []byte {
			return resealed(bytes.Replace(b, []byte("sum 2\n"), []byte("sum 3\n"), 1))
		},
		"no numbers": func(b []byte) []byte { return resealed(b[:len(sumMagic)+4]) },
	} {
		l, entries := twoDays(t)
		compare(t, l, entries, time.Time{}, ByTier)
		right := sumOf(t, l, firstDay)
		corrupt(t, l, firstDay+sumSuffix, change)
		compare(t, l, entries, time.Time{}, ByTier)
		if got := sumOf(t, l, firstDay); len(got) != len(right) {
			t.Errorf("%s: not made again: %d bytes, %d before", name, len(got), len(right))
		}
		if paid, err := l.paid(noon); err != nil || spent(paid) != 50*Dollar/100 {
			t.Errorf("%s: the windows see %v, %v", name, spent(paid), err)
		}
	}
}

func spent(paid []payment) (all USD) {
	for _, p := range paid {
		all += p.cost
	}
	return all
}

// resealed gives bytes a checksum that fits.
func resealed(b []byte) []byte {
	b = bytes.Clone(b[:len(b)-4])
	return binary.BigEndian.AppendUint32(b, checksum(b))
}

func TestASumThatIsOlderThanItsDay(t *testing.T) {
	l, entries := twoDays(t)
	compare(t, l, entries, time.Time{}, ByTier)
	// An entry that comes late is added.
	e := entry(noon.AddDate(0, 0, -2))
	e.Tier = "flash"
	path := filepath.Join(l.dir, firstDay+entriesSuffix)
	fi, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	put(t, l, e)
	if err := os.Chtimes(path, fi.ModTime(), fi.ModTime()); err != nil { // clocks are set back
		t.Fatal(err)
	}
	entries = append(entries, e)
	compare(t, l, entries, time.Time{}, ByTier)
	if m, _, ok := decode(sumOf(t, l, firstDay)); !ok || m.bytes != size(t, l, firstDay+entriesSuffix) {
		t.Errorf("%+v, %v", m, ok)
	}
	compare(t, l, entries, time.Time{}, ByTier)
	// A day that was changed by somebody else is read again: shorter, of the same length, longer.
	for _, change := range []func([]byte) []byte{
		func(b []byte) []byte { return b[:bytes.LastIndexByte(b[:len(b)-1], '\n')+1] },
		func(b []byte) []byte { return bytes.Replace(b, []byte(`"tier":"pro"`), []byte(`"tier":"Pro"`), 1) }, // far from the end
		func(b []byte) []byte {
			return bytes.ReplaceAll(b, []byte(`"tier":"Pro"`), []byte(`"tier":"other"`))
		},
	} {
		corrupt(t, l, firstDay+entriesSuffix, change)
		future := time.Now().Add(time.Duration(size(t, l, firstDay+entriesSuffix)) * time.Second)
		if err := os.Chtimes(filepath.Join(l.dir, firstDay+entriesSuffix), future, future); err != nil {
			t.Fatal(err)
		}
		var now []Entry
		if err := l.each(firstDay, 0, func(k kind, e *line) { now = append(now, Entry{e.Work, e.Spent}) }); err != nil {
			t.Fatal(err)
		}
		compare(t, l, append(now, entries[30:50]...), time.Time{}, ByTier)
	}
}

func size(t *testing.T, l *Ledger, name string) int64 {
	t.Helper()
	fi, err := os.Stat(filepath.Join(l.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return fi.Size()
}

// A day that grows gets a sum once in a while, and the windows see what a report sees.
func TestADayThatGrows(t *testing.T) {
	l := fresh(t)
	r := seeded(t)
	from := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	var entries []Entry
	var outcomes []Outcome
	var sums []int
	for range 4 {
		var more []Entry
		var judged []Outcome
		for range 200 {
			e, o := random(r, len(entries)+len(more), from, 1)
			more, judged = append(more, e), append(judged, o)
		}
		fill(t, l, more, judged...)
		entries, outcomes = append(entries, more...), append(outcomes, judged...)
		compare(t, l, entries, time.Time{}, ByModel, outcomes...)
		data, _ := os.ReadFile(filepath.Join(l.dir, "2026-11-30.sum"))
		sums = append(sums, len(data))
		paid, err := l.paid(from.AddDate(0, 0, 1))
		if _, all := expected(entries, outcomes, time.Time{}, ByModel); err != nil || spent(paid) != all.Cost {
			t.Errorf("the windows see %v of %v, %v", spent(paid), all.Cost, err)
		}
	}
	if sums[0] != 0 || sums[3] == 0 {
		t.Errorf("sums of %v bytes", sums)
	}
	_, s, ok := decode(sumOf(t, l, "2026-11-30"))
	seen := map[group]bool{}
	for i := range s.rows {
		if seen[s.rows[i].group] {
			t.Fatalf("two rows of %+v", s.rows[i].group)
		}
		seen[s.rows[i].group] = true
	}
	if !ok || len(seen) == 0 {
		t.Error("no sum")
	}
}

func TestLinesThatAreNotSummed(t *testing.T) {
	good, err := entry(noon).line()
	if err != nil {
		t.Fatal(err)
	}
	text := strings.TrimSpace(string(good))
	set := func(old, new string) string {
		if !strings.Contains(text, old) {
			t.Fatalf("no %s", old)
		}
		return strings.Replace(text, old, new, 1)
	}
	const whole = spentLine
	for line, want := range map[string]kind{
		text: whole,
		set(`{"schema"`, `{"colour":{"a":[1]},"schema"`):  whole,
		set(`"cost_usd":0.01`, `"cost_usd":1e-2`):         whole,
		set(`"cost_usd":0.01`, `"cost_usd":null`):         whole,
		set(`,"cost_usd":0.01`, ``):                       whole,
		set(`"schema":1`, `"schema":2`):                   later,
		`{"schema":7,"job":[1],"at":false}`:               later,
		set(`"schema":1,`, ``):                            damaged,
		set(`"schema":1`, `"schema":-1`):                  damaged,
		set(`"cost_usd":0.01`, `"cost_usd":-1`):           damaged,
		set(`"cost_usd":0.01`, `"cost_usd":1e300`):        damaged,
		set(`"cost_usd":0.01`, `"cost_usd":"0.01"`):       damaged,
		set(`"input":1000`, `"input":-1`):                 damaged,
		set(`"input":1000`, `"input":1e99`):               damaged,
		set(`"job":"20261130-120000-abcdef"`, `"job":""`): damaged,
		set(`2026-11-30T`, `2026-11-29T`):                 damaged,
		set(`"try":1`, `"try":0`):                         damaged,
		set(`"kind":"spent"`, `"kind":"colour"`):          damaged,
		set(`"kind":"spent",`, ``):                        damaged,
		text[:len(text)-1]:                                damaged,
		text + text:                                       damaged,
		"\x00\x00":                                        damaged,
		"null":                                            damaged,
		"[]":                                              damaged,
		strings.Repeat("x", lineLimit+5):                  damaged,
		// The end of a long line is no line, however it lies in a buffer.
		strings.Repeat("x", lineLimit) + " " + text + strings.Repeat(" ", lineLimit-len(text)-1): damaged,
		set(`"pro"`, `"`+strings.Repeat("p", 2*lineLimit)+`"`):                                   damaged,
	} {
		l := fresh(t)
		put(t, l, entry(noon))
		corrupt(t, l, "2026-11-30.jsonl", func(b []byte) []byte { return append(append(b, line...), "\n\n"...) })
		put(t, l, entry(noon))
		rep := report(t, l, time.Time{}, ByTier)
		if got := [3]bool{rep.Total.Entries == 3, rep.Damaged == 1, rep.Later == 1}; got != [3]bool{want == whole, want == damaged, want == later} {
			t.Errorf("%.200s: %+v, want kind %d", line, rep, want)
		}
	}
}

func FuzzReader(f *testing.F) {
	good, err := entry(noon).line()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good, []byte(sumMagic))
	f.Add(append([]byte("x\n"), good...), encode(mark{3, 4, 5}, &summary{rows: []row{{group{"a", "b", "c", "d"}, Totals{Entries: 300}}}}))
	f.Add([]byte("{\"schema\":2}\n{"), []byte{})
	f.Add(append([]byte(strings.Repeat("x", 2*lineLimit+3)+"\n"), good...), []byte{})
	const many = "\xff\xff\xff\xff\xff\xff\xff\xff\x7f"
	for _, body := range []string{many, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "\x00\x00\x00\x00\x00" + many, "\x00\x00\x00\x00\x00\x01" + many, "\x00\x00\x00\x00\x00\x00" + many, "\x00\x00\x00\x00\x00\x00\x01\x07", "\x00\x00\x00\x00\x00\x00\x00\x01\x07"} {
		f.Add([]byte{}, []byte(sumMagic+body+strings.Repeat("\x00", 40)))
	}
	f.Fuzz(func(t *testing.T, data, sum []byte) {
		s := &summary{}
		done, rest, err := walk(bytes.NewReader(data), "2026-11-30", 0, int64(len(data)), s.add)
		if err != nil || done > int64(len(data)) || done > 0 && data[done-1] != '\n' || len(rest) > lineLimit || bytes.IndexByte(data[done:], '\n') >= 0 {
			t.Fatalf("%d of %d, rest %d, %v", done, len(data), len(rest), err)
		}
		var n int64
		for i := range s.rows {
			for _, v := range s.rows[i].fields() {
				if *v < 0 {
					t.Fatalf("%+v", s.rows[i])
				}
			}
			n += s.rows[i].Entries + s.rows[i].Tries
		}
		if lines := int64(bytes.Count(data, []byte("\n"))); n+s.damaged+s.later > lines {
			t.Fatalf("%d entries, %d damaged, %d later of %d lines", n, s.damaged, s.later, lines)
		}
		// What was read survives a sum file, and any bytes in place of one are harmless.
		m, again, ok := decode(encode(mark{done, 1, 2}, s))
		if !ok || m != (mark{done, 1, 2}) || len(again.rows) != len(s.rows) || again.damaged != s.damaged || again.later != s.later || len(again.minutes()) != len(s.minutes()) {
			t.Fatalf("%+v %+v", m, again)
		}
		for i := range s.rows {
			if again.rows[i] != s.rows[i] {
				t.Fatalf("%+v, was %+v", again.rows[i], s.rows[i])
			}
		}
		for k, v := range s.minutes() {
			if again.minutes()[k] != v {
				t.Fatalf("%+v: %+v, was %+v", k, again.minutes()[k], v)
			}
		}
		if len(sum) >= 4 {
			sum = resealed(sum)
		}
		m, s, ok = decode(sum)
		if !ok {
			return
		}
		s.minutes()
		if m.bytes < 0 || s.damaged < 0 || s.later < 0 {
			t.Fatalf("%+v %+v", m, s)
		}
		for i := range s.rows {
			for _, v := range s.rows[i].fields() {
				if *v < 0 {
					t.Fatalf("%+v", s.rows[i])
				}
			}
		}
	})
}
