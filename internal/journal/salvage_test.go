package journal

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"opencode-delegate/internal/delegate"
)

func salvage(t *testing.T, text string) delegate.Remains {
	t.Helper()
	path := filepath.Join(t.TempDir(), "events.jsonl")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Salvage(path)
}

func stepAt(reason string) string {
	return at("step_start", `"part":{}`) + at("step_finish", `"part":{"reason":"`+reason+`","tokens":{"input":90,"output":15,"reasoning":5,"cache":{"read":10,"write":1}},"cost":0.000131}`)
}

func TestSalvage(t *testing.T) {
	run := textAt(`"first"`) + toolAt("bash", `"status":"completed","input":{"command":"x"},"metadata":{"exit":2}`) + stepAt("tool-calls") +
		textAt(`" \n"`) + textAt(`"second"`) + toolAt("bash", `"status":"completed","input":{"command":"x"},"metadata":{"exit":0}`) + stepAt("tool-calls") + textAt(`"third"`)
	left := salvage(t, run+`{"type":"text","sessionID":"ses_1","part":{"text":"ha`)
	if left.Text != "first\n\nsecond\n\nthird" || left.Session != "ses_1" || left.Commands != (delegate.Commands{Run: 2, Failed: 1}) {
		t.Errorf("%+v", left)
	}
	if u := left.Usage; u == nil || u.Input != 180 || u.Output != 30 || u.Reasoning != 10 || u.CacheRead != 20 || u.CacheWrite != 2 || *u.CostUSD != 0.000262 || u.Partial {
		t.Errorf("usage %+v", left.Usage)
	}
	// The supervisor died after the end of the run: the answer is there, and what led to it is none.
	if left := salvage(t, run+stepAt("stop")); left.Text != "third" {
		t.Errorf("the answer of a complete run: %q", left.Text)
	}
	// A further attempt in another session counts, and is the one to go on in.
	second := strings.ReplaceAll(textAt(`"again"`), "ses_1", "ses_2") + strings.ReplaceAll(stepAt("length"), "ses_1", "ses_2") + `{"type":"step_start","sessionID":"ses_/../x"}` + "\n"
	if left := salvage(t, run+stepAt("stop")+second); left.Session != "ses_2" || !strings.HasSuffix(left.Text, "third\n\nagain") || left.Usage.Input != 360 {
		t.Errorf("%+v", left)
	}
	if left := salvage(t, toolAt("task", `"status":"completed"`)+stepAt("tool-calls")); !left.Usage.Partial || left.Text != "" {
		t.Errorf("with a subagent %+v", left)
	}
	for name, left := range map[string]delegate.Remains{"empty": salvage(t, ""), "noise": salvage(t, "noise\n\x00\n{"), "missing": Salvage(filepath.Join(t.TempDir(), "x"))} {
		if left != (delegate.Remains{}) {
			t.Errorf("%s: %+v", name, left)
		}
	}
}

func TestSalvageIsBounded(t *testing.T) {
	const limit = delegate.TextLimit
	big := strings.Repeat("日", 1<<20/3) // beyond what an event holds
	for name, c := range map[string]struct {
		in, end string
		cut     bool
	}{
		"fits":                  {textAt(`"` + strings.Repeat("a", limit-len(cutMark)) + `"`), "aaa", false},
		"one that does not fit": {textAt(`"x` + strings.Repeat("a", limit-len(cutMark)) + `"`), "aaa", true},
		"one beyond an event":   {textAt(`"` + big + `end"`), "日end", true},
		"many":                  {strings.Repeat(textAt(`"`+strings.Repeat("b", 1000)+`"`), 1000) + textAt(`"end"`), "b\n\nend", true},
		"small after big":       {textAt(`"`+big+`"`) + textAt(`"end"`), "日\n\nend", true},
		"no room for a second":  {textAt(`"first"`) + textAt(`"`+strings.Repeat("a", limit-len(cutMark)-1)+`"`), "aaa", true},
		"room for nothing":      {textAt(`"first"`) + textAt(`"`+strings.Repeat("a", limit-len(cutMark)-2)+`"`), "aaa", true},
	} {
		got := salvage(t, c.in).Text
		rest, cut := strings.CutPrefix(got, cutMark)
		if cut != c.cut || len(got) > limit || !utf8.ValidString(got) || !strings.HasSuffix(got, c.end) {
			t.Errorf("%s: %d bytes, cut %v, %.20q … %q", name, len(got), cut, rest, got[len(got)-20:])
		}
		if cut && len(got) < limit-1010 {
			t.Errorf("%s: only %d bytes are kept", name, len(got))
		}
		if c.cut && strings.Contains(rest, "first") || strings.HasPrefix(rest, "x") || strings.HasPrefix(rest, "\n") {
			t.Errorf("%s: begins with %.20q", name, rest)
		}
	}
}
