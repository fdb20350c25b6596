package ledger

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// cost is an entry of some dollars.
func costs(at time.Time, model, tier string, usd USD) Entry {
	e := entry(at)
	e.Job, e.Model, e.Tier, e.Cost = "job-"+at.String()+model, model, tier, ptr(usd)
	return e
}

func quotas(t *testing.T, l *Ledger, now time.Time, limits ...Limit) map[string]Quota {
	t.Helper()
	all, err := l.Quota(now, limits)
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]Quota{}
	for _, q := range all {
		byName[strings.TrimSuffix(q.Provider+"/"+q.Model, "/")+" "+string(q.Window)] = q
	}
	if len(byName) != len(all) {
		t.Errorf("%d of %d rows are of the same", len(all)-len(byName), len(all))
	}
	return byName
}

func TestWindowsRoll(t *testing.T) {
	l := fresh(t)
	fill(t, l, []Entry{
		costs(noon, "glm", "pro", Dollar), // now
		costs(noon.Add(-5*time.Hour), "glm", "pro", 2*Dollar),
		costs(noon.Add(-5*time.Hour-time.Minute), "glm", "pro", 4*Dollar),
		costs(noon.Add(-7*24*time.Hour), "kimi", "code", 8*Dollar),
		costs(noon.Add(-7*24*time.Hour-time.Minute), "kimi", "code", 16*Dollar),
		costs(noon.Add(-30*24*time.Hour), "kimi", "code", 32*Dollar),
		costs(noon.Add(-30*24*time.Hour-time.Minute), "kimi", "code", 64*Dollar),
		costs(noon.Add(time.Minute), "kimi", "code", 128*Dollar),
		costs(noon.Add(24*time.Hour), "kimi", "code", 256*Dollar),
	})
	unpriced, other := entry(noon), entry(noon)
	unpriced.Cost, other.Provider = nil, "mock"
	fill(t, l, []Entry{unpriced, other})
	got := quotas(t, l, noon)
	for name, want := range map[string]USD{"opencode-go 5h": 3, "opencode-go week": 15, "opencode-go month": 63} {
		if q := got[name]; q.Used != want*Dollar || q.Unpriced != 1 || q.Exhausted || q.ResetAt != nil {
			t.Errorf("%s: %+v", name, q)
		}
	}
	if q := got["mock 5h"]; q.Used != Dollar/100 || q.Limit != nil || q.Source != "unknown" || q.FullAt != nil {
		t.Errorf("a provider without limits: %+v", q)
	}
	if len(got) != 6 {
		t.Errorf("%d rows", len(got))
	}
	// Half a minute later the minute in which a window begins still counts whole.
	if q := quotas(t, l, noon.Add(30*time.Second))["opencode-go 5h"]; q.Used != 3*Dollar {
		t.Errorf("%+v", q)
	}
	if q := quotas(t, l, noon.Add(time.Minute))["opencode-go 5h"]; q.Used != 129*Dollar {
		t.Errorf("%+v", q)
	}
}

func TestLimitsAndTheirSources(t *testing.T) {
	l := fresh(t)
	got := quotas(t, l, noon)
	for name, want := range map[string]USD{"opencode-go 5h": 12, "opencode-go week": 30, "opencode-go month": 60} {
		if q := got[name]; q.Limit == nil || *q.Limit != want*Dollar || !strings.Contains(q.Source, "opencode.ai/docs/go") {
			t.Errorf("%s: %+v", name, q)
		}
	}
	learn(t, l, Exhaustion{Provider: "opencode-go", Model: "glm", Window: Week, At: noon.Add(-8 * 24 * time.Hour), Used: ptr(11 * Dollar)})
	learn(t, l, Exhaustion{Provider: "opencode-go", Model: "glm", Window: Week, At: noon.Add(-24 * time.Hour), Used: ptr(10 * Dollar)})
	learn(t, l, Exhaustion{Provider: "opencode-go", Model: "glm", Window: Month, At: noon.Add(-24 * time.Hour), Used: ptr(0 * Dollar)})
	learn(t, l, Exhaustion{Provider: "opencode-go", Window: FiveHours, At: noon.Add(-91 * 24 * time.Hour), Used: ptr(3 * Dollar)})
	learn(t, l, Exhaustion{Provider: "opencode-go", Window: Week, At: noon.Add(-2 * 24 * time.Hour), Used: ptr(13 * Dollar)})
	got = quotas(t, l, noon, Limit{"opencode-go", "", Month, 50 * Dollar, "config.json"}, Limit{"mock", "m", Week, Dollar, "config.json"})
	for name, want := range map[string]struct {
		usd    USD
		source string
	}{
		"opencode-go 5h": {12, "built in"}, "opencode-go week": {13, "learned from the error of 2026-11-28"}, "opencode-go month": {50, "config.json"},
		"opencode-go/glm week": {10, "learned from the error of 2026-11-29"}, "mock/m week": {1, "config.json"},
	} {
		if q := got[name]; q.Limit == nil || *q.Limit != want.usd*Dollar || !strings.Contains(q.Source, want.source) {
			t.Errorf("%s: %+v", name, q)
		}
	}
	if len(got) != 3+1+3+1 { // the provider, its model, the other provider, its model
		t.Errorf("%d rows: %v", len(got), got)
	}
	if q := quotas(t, l, noon, Limit{"opencode-go", "glm", Week, 9 * Dollar, "config.json"})["opencode-go/glm week"]; *q.Limit != 9*Dollar {
		t.Errorf("what is configured does not go before what was learned: %+v", q)
	}
}

func TestForecast(t *testing.T) {
	l := fresh(t)
	at := func(minutes int) time.Time { return noon.Add(time.Duration(-minutes) * time.Minute) }
	part := costs(at(50), "glm", "pro", Dollar)
	more := part
	more.Subagent, more.Tier, more.Provider, more.Cost = true, "", "mock", ptr(Dollar)
	unknown, second := costs(at(45), "glm", "pro", 9*Dollar), costs(at(44), "glm", "pro", 9*Dollar)
	its, too := unknown, second
	its.Subagent, its.Cost, too.Subagent, too.Cost = true, nil, true, nil
	fill(t, l, []Entry{
		costs(at(200), "glm", "pro", 3*Dollar), costs(at(190), "glm", "pro", Dollar/2), part, more,
		costs(at(40), "flash", "flash", Dollar/10), costs(at(30), "flash", "flash", Dollar/10), costs(at(20), "flash", "flash", 8*Dollar/10),
	})
	got := quotas(t, l, noon)
	q := got["opencode-go 5h"] // 5.5 of 12, two in the last hour; the medians are 2 (with its subagent) and 0.1
	if q.Used != 55*Dollar/10 || q.Rate != 2*Dollar || q.FullAt == nil || !q.FullAt.Equal(noon.Add(195*time.Minute)) || q.RunsLeft["pro"] != 3 || q.RunsLeft["flash"] != 65 || len(q.RunsLeft) != 2 {
		t.Errorf("%+v", q)
	}
	if q := got["opencode-go week"]; q.Rate != 5500*Dollar/1000/24 || q.FullAt == nil {
		t.Errorf("%+v", q)
	}
	// At this rate it is not full within the window.
	if q := quotas(t, l, noon, Limit{"opencode-go", "", FiveHours, 16 * Dollar, ""})["opencode-go 5h"]; q.FullAt != nil {
		t.Errorf("%+v", q)
	}
	if q := quotas(t, l, noon, Limit{"opencode-go", "flash", FiveHours, Dollar + Dollar/5, ""})["opencode-go/flash 5h"]; q.Used != Dollar || q.RunsLeft["flash"] != 2 || len(q.RunsLeft) != 1 {
		t.Errorf("one model: %+v", q)
	}
	if q := quotas(t, l, noon, Limit{"opencode-go", "", FiveHours, Dollar, ""})["opencode-go 5h"]; q.RunsLeft["pro"] != 0 || q.FullAt == nil || !q.FullAt.Equal(noon) || q.Exhausted {
		t.Errorf("a sum beyond the limit: %+v", q)
	}
	// Of what is not known in every part no median is made.
	fill(t, l, []Entry{unknown, its, second, too, costs(at(1000), "glm", "", Dollar)})
	if q := quotas(t, l, noon)["opencode-go month"]; q.RunsLeft["pro"] != int64((60*Dollar-q.Used)/(2*Dollar)) || q.Unpriced != 2 || len(q.RunsLeft) != 2 {
		t.Errorf("%+v", q)
	}
}

func TestMedian(t *testing.T) {
	for want, all := range map[USD][]USD{3: {9, 3, 1}, 2: {4, 1, 2, 3}, 7: {7}} {
		if got := median(all); got != want {
			t.Errorf("%v: %d, want %d", all, got, want)
		}
	}
}

// What an error said of a limit shows in the row that it is of, and in no other.
func TestLimitsThatWereMetInRows(t *testing.T) {
	l := fresh(t)
	fill(t, l, []Entry{costs(noon.Add(-59*time.Minute), "glm", "pro", Dollar), costs(noon.Add(-61*time.Minute), "glm", "pro", Dollar)})
	for _, hours := range []time.Duration{2, 3, 1} {
		learn(t, l, Exhaustion{Provider: "opencode-go", Model: "glm", Window: Week, At: noon, Until: noon.Add(hours * time.Hour)})
	}
	for _, model := range []string{"kimi", "m3", "m1", "m2"} {
		learn(t, l, Exhaustion{Provider: "opencode-go", Model: model, At: noon})
	}
	learn(t, l, Exhaustion{Provider: "opencode-go", Window: FiveHours, At: noon.Add(-30 * time.Minute)}) // it names no reset: nothing is known to begin anew
	learn(t, l, Exhaustion{Provider: "old", Model: "m", Window: Week, At: noon.AddDate(0, 0, -91)})
	all, err := l.Quota(noon.Add(30*time.Second), []Limit{{"opencode-go", "glm", Week, 100 * Dollar, ""}})
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, q := range all {
		order = append(order, strings.TrimSpace(q.Model+" "+string(q.Window)))
	}
	if got := strings.Join(order, ", "); got != "5h, week, month, glm week, kimi 5h, m1 5h, m2 5h, m3 5h" {
		t.Errorf("rows: %s", got)
	}
	if q := all[0]; q.Used != 2*Dollar || q.Exhausted {
		t.Errorf("%+v", q)
	}
	if q := all[3]; !q.Exhausted || !q.ResetAt.Equal(noon.Add(3*time.Hour)) || len(q.RunsLeft) != 1 || q.RunsLeft["pro"] != 0 {
		t.Errorf("%+v", q)
	}
	if q := all[4]; !q.Exhausted || !q.ResetAt.Equal(noon.Add(15*time.Minute)) {
		t.Errorf("%+v", q)
	}
	// The rate is that of the last hour, whose first minute counts whole.
	if q := quotas(t, l, noon.Add(90*time.Second))["opencode-go 5h"]; q.Rate != Dollar {
		t.Errorf("%+v", q)
	}
}

func learn(t *testing.T, l *Ledger, x Exhaustion) {
	t.Helper()
	if err := l.Exhausted(t.Context(), x); err != nil {
		t.Fatal(err)
	}
}

func TestWhatALimitTeaches(t *testing.T) {
	hour := time.Hour
	for name, c := range map[string]struct {
		x    Exhaustion    // of glm
		want time.Duration // from noon
	}{
		"a reset":               {Exhaustion{Window: FiveHours, Until: noon.Add(2 * hour)}, 2 * hour},
		"no reset":              {Exhaustion{Window: Week}, 15 * time.Minute},
		"a reset that is past":  {Exhaustion{Window: Week, Until: noon.Add(-hour)}, 0},
		"too long for 5 h":      {Exhaustion{Window: FiveHours, Until: noon.Add(100 * hour)}, 5 * hour},
		"too long for a week":   {Exhaustion{Window: Week, Until: noon.Add(1000 * hour)}, 7 * 24 * hour},
		"a month of 31 days":    {Exhaustion{Window: Month, Until: noon.Add(31 * 24 * hour)}, 31 * 24 * hour},
		"too long for a month":  {Exhaustion{Window: Month, Until: noon.Add(32 * 24 * hour)}, 31 * 24 * hour},
		"too long for anything": {Exhaustion{Until: noon.AddDate(7000, 0, 0)}, 31 * 24 * hour},
		"any model":             {Exhaustion{Window: Week, Until: noon.Add(hour)}, hour},
	} {
		l := fresh(t)
		c.x.Provider, c.x.At = "opencode-go", noon
		if name != "any model" {
			c.x.Model = "glm"
		}
		learn(t, l, c.x)
		for _, at := range []time.Duration{0, c.want - 1, c.want} {
			x, blocked, err := l.Blocked(noon.Add(at), "opencode-go", "glm")
			if want := at >= 0 && at < c.want; err != nil || blocked != want || blocked && !x.Reset().Equal(noon.Add(c.want)) {
				t.Errorf("%s: after %v: %v until %v, %v", name, at, blocked, x.Reset(), err)
			}
		}
		if _, blocked, _ := l.Blocked(noon, "mock", "glm"); blocked {
			t.Errorf("%s: another provider is blocked", name)
		}
		if _, blocked, _ := l.Blocked(noon, "opencode-go", "kimi"); blocked != (c.x.Model == "") {
			t.Errorf("%s: another model: %v", name, blocked)
		}
	}
}

func TestTheLimitThatEndsLastBlocks(t *testing.T) {
	l := fresh(t)
	if _, blocked, err := l.Blocked(noon, "p", "m"); blocked || err != nil {
		t.Errorf("without a ledger: %v, %v", blocked, err)
	}
	learn(t, l, Exhaustion{Provider: "p", Model: "m", Window: FiveHours, At: noon, Until: noon.Add(time.Hour)})
	learn(t, l, Exhaustion{Provider: "p", Model: "m", Window: Week, At: noon, Until: noon.Add(50 * time.Hour)})
	learn(t, l, Exhaustion{Provider: "p", Model: "m", At: noon, Until: noon.Add(time.Minute)})
	if x, blocked, err := l.Blocked(noon, "p", "m"); !blocked || x.Window != Week || err != nil {
		t.Errorf("%+v, %v, %v", x, blocked, err)
	}
	got := quotas(t, l, noon.Add(2*time.Hour))
	if q := got["p/m week"]; !q.Exhausted || q.ResetAt == nil || !q.ResetAt.Equal(noon.Add(50*time.Hour)) {
		t.Errorf("%+v", q)
	}
	if q, ok := got["p/m 5h"]; ok && q.Exhausted {
		t.Errorf("%+v", q)
	}
	// One that is dated in the future, where a clock was, blocks nobody.
	l = fresh(t)
	learn(t, l, Exhaustion{Provider: "p", Model: "m", Window: Week, At: noon, Until: noon.Add(50 * time.Hour)})
	if _, blocked, _ := l.Blocked(noon.Add(-11*time.Minute), "p", "m"); blocked {
		t.Error("blocked by what has not happened")
	}
}

// The ledger says at which amount a limit came, and after its reset a window is empty.
func TestTheAmountAtWhichALimitCame(t *testing.T) {
	l := fresh(t)
	fill(t, l, []Entry{costs(noon.Add(-time.Hour), "glm", "pro", 2*Dollar), costs(noon.Add(-6*time.Hour), "glm", "pro", 4*Dollar), costs(noon.Add(-time.Hour), "kimi", "pro", 8*Dollar)})
	learn(t, l, Exhaustion{Provider: "opencode-go", Model: "glm", Window: FiveHours, At: noon, Until: noon.Add(2 * time.Hour)})
	q := quotas(t, l, noon)["opencode-go/glm 5h"]
	if q.Limit == nil || *q.Limit != 2*Dollar || q.Used != 2*Dollar || !q.Exhausted || q.RunsLeft["pro"] != 0 {
		t.Errorf("%+v", q)
	}
	fill(t, l, []Entry{costs(noon.Add(3*time.Hour), "glm", "pro", Dollar)})
	later := quotas(t, l, noon.Add(3*time.Hour))
	if q := later["opencode-go/glm 5h"]; q.Used != Dollar || q.Exhausted || q.ResetAt != nil {
		t.Errorf("after the reset: %+v", q)
	}
	if q := later["opencode-go 5h"]; q.Used != 11*Dollar {
		t.Errorf("the reset of one model is that of all: %+v", q)
	}
	learn(t, l, Exhaustion{Provider: "opencode-go", Model: "glm", Window: FiveHours, At: noon.Add(3 * time.Hour)})
	if q := quotas(t, l, noon.Add(3*time.Hour))["opencode-go/glm 5h"]; q.Limit == nil || *q.Limit != Dollar {
		t.Errorf("the amount after a reset: %+v", q)
	}
}

func TestLearnedThingsThatCannotBe(t *testing.T) {
	l := fresh(t)
	for want, x := range map[string]Exhaustion{
		"no window":        {Provider: "p", Window: "year", At: noon},
		"needs a provider": {Window: Week, At: noon},
		"and a time":       {Provider: "p", Window: Week},
		"and a million":    {Provider: "p", Window: Week, At: noon, Used: ptr(-Dollar)},
	} {
		if err := l.Exhausted(t.Context(), x); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
	learn(t, l, Exhaustion{Provider: "p", Model: "m", Window: Week, At: noon, Until: noon.Add(time.Hour)})
	corrupt(t, l, limitsFile, func(b []byte) []byte {
		const of = `,"provider":"p","at":"2026-11-30T12:00:00Z","window":`
		before := string(b) + strings.Repeat("y", limitsRead) // too far from the end to be read
		return []byte(before + "\nx\n" + `{"schema":2` + of + `"week"}` + "\n" + `{"schema":1` + of + `"year"}` + "\n" + `{"schema":0` + of + `"week"}` + "\n" + string(b) + `{"schema":1,`)
	})
	if all, err := l.exhaustions(noon); err != nil || len(all) != 1 {
		t.Errorf("%+v, %v", all, err)
	}
	learn(t, l, Exhaustion{Provider: "p", Model: "m", Window: Month, At: noon, Until: noon.Add(time.Hour)})
	if all, err := l.exhaustions(noon); err != nil || len(all) != 2 || all[1].Window != Month {
		t.Errorf("%+v, %v", all, err)
	}
	if err := os.Mkdir(filepath.Join(l.dir, "2026-11-29.jsonl"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Quota(noon, nil); err == nil || !strings.Contains(err.Error(), "2026-11-29") {
		t.Errorf("a day that cannot be read: %v", err)
	}
}

func TestWindowIn(t *testing.T) {
	for words, want := range map[string]Window{
		"5 hour": FiveHours, "weekly": Week, "monthly": Month, "5-hour usage limit reached. Resets in 2hr 10min.": FiveHours, "Weekly usage limit reached. Resets in 3 days.": Week,
		"You've reached your usage limit for this billing cycle.": Month, "The usage limit has been reached": AnyWindow, "": AnyWindow,
	} {
		if got := WindowIn(words); got != want {
			t.Errorf("%q: %q, want %q", words, got, want)
		}
	}
}

func TestDollars(t *testing.T) {
	for text, want := range map[string]USD{"0": 0, "1": Dollar, "0.000131": 131_000, "1e-9": 1, "0.0000000004": 0, "999999.123456789": 999_999_123_456_789, "1000000": entryLimit} {
		var u USD
		if err := json.Unmarshal([]byte(text), &u); err != nil || u != want {
			t.Errorf("%s: %d, %v", text, u, err)
		}
		back, err := json.Marshal(u)
		var again USD
		if json.Unmarshal(back, &again) != nil || again != u || err != nil {
			t.Errorf("%s: %s", text, back)
		}
	}
	for _, text := range []string{"-1", "1000001", "1e400", `"1"`, "true"} {
		if err := json.Unmarshal([]byte(text), new(USD)); err == nil {
			t.Errorf("%s is an amount", text)
		}
	}
	for u, want := range map[USD]string{131_000: "0.000131", -Dollar / 2: "-0.5", 9_223_372_036_854_775_807: "9223372036.854775807", 12 * Dollar: "12"} {
		if u.String() != want {
			t.Errorf("%s, want %s", u, want)
		}
	}
	if total(1<<62, 1<<62) != 1<<63-1 || total(1, 2) != 3 {
		t.Error("a sum has come round")
	}
}
