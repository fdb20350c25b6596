package delegate

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"opencode-delegate/internal/event"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/record"
)

func TestTheFaultThatStands(t *testing.T) {
	for _, c := range []struct {
		name  string
		order []fault.Kind
		want  fault.Kind
	}{
		{"the first", []fault.Kind{fault.Timeout, fault.NoChanges}, fault.Timeout},
		{"a violation has to be seen", []fault.Kind{fault.Timeout, fault.WriteViolation}, fault.WriteViolation},
		{"an order to stop stays one", []fault.Kind{fault.Interrupted, fault.WriteViolation}, fault.Interrupted},
		{"cancelled likewise", []fault.Kind{fault.Cancelled, fault.WriteViolation}, fault.Cancelled},
		{"one violation is enough", []fault.Kind{fault.WriteViolation, fault.WriteViolation}, fault.WriteViolation},
	} {
		var r try
		for i, k := range c.order {
			r.against(fault.New(k, "reason %d", i))
		}
		if r.worst.Kind != c.want {
			t.Errorf("%s: %v gives %s, want %s", c.name, c.order, r.worst.Kind, c.want)
		}
		if len(r.res.Notes) != len(c.order)-1 {
			t.Errorf("%s: what does not stand is not noted: %q", c.name, r.res.Notes)
		}
	}
	var r try
	if r.against(nil); r.worst != nil {
		t.Error("nothing counts as a fault")
	}
}

func TestUnknownNumbersAreNull(t *testing.T) {
	if u := usage(event.Tokens{}, 0, false); u != nil {
		t.Errorf("no tokens give %+v", u)
	}
	u := usage(event.Tokens{Input: 90, Output: 15}, 0, false)
	if u == nil || u.CostUSD != nil {
		t.Errorf("a cost of 0 gives %+v", u)
	}
	priced := usage(event.Tokens{Input: 1}, 0.000131, false)
	sum := priced.plus(usage(event.Tokens{Input: 2}, 0.000131, true))
	if sum.Input != 3 || *sum.CostUSD != 0.000262 || !sum.Partial {
		t.Errorf("sum %+v %v", sum, *sum.CostUSD)
	}
	if s := priced.plus(u); s.CostUSD != nil || s.Input != 91 {
		t.Errorf("a cost that is known in part is given: %+v", s)
	}
	if s := (*Usage)(nil).plus(priced); s != priced {
		t.Errorf("sum with nothing %+v", s)
	}
	text, err := json.Marshal(Result{Duration: Seconds(3100 * time.Millisecond)})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"duration_s":3.100`, `"usage":null`, `"reset_at":null`, `"retry_after_s":null`, `"isolation":null`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
}

func TestHeadsAreWholeText(t *testing.T) {
	for limit := range 12 {
		w := &headWriter{limit: limit}
		for _, b := range []byte("aé日𝄞z") {
			w.Write([]byte{b})
		}
		if got := w.text(); !utf8.ValidString(got) || !strings.HasPrefix("aé日𝄞z", got) || len(got) < limit-3 && len(got) < 11 {
			t.Errorf("limit %d: %q", limit, got)
		}
		if w.size != 11 {
			t.Errorf("size %d", w.size)
		}
	}
}

func TestTextComesFromTheLogWhereItIsLong(t *testing.T) {
	dir := record.Open(t.TempDir(), nil)
	e := openEvidence(dir, nil)
	long := strings.Repeat("0123456789abcdef", 1<<16) // 1 MiB
	line, err := json.Marshal(map[string]any{"type": "text", "sessionID": "ses_1", "part": map[string]string{"type": "text", "text": long}})
	if err != nil {
		t.Fatal(err)
	}
	short := `{"type":"text","sessionID":"ses_1","part":{"type":"text","text":"first"}}`
	s := event.NewStream(strings.NewReader(short+"\n"+string(line)+"\n"), e.log)
	var blocks []event.Text
	for {
		ev, err := s.Next()
		if err != nil {
			break
		}
		blocks = append(blocks, ev.Text)
	}
	head, size, whole := e.text(blocks)
	want := "first\n\n" + long
	if whole || size != int64(len(want)) || head != want[:TextLimit] {
		t.Errorf("head of %d bytes, size %d, whole %v", len(head), size, whole)
	}
	if tail := e.tail(head, whole); !strings.HasSuffix(want, tail) || len(tail) < 1000 {
		t.Errorf("tail of %d bytes", len(tail))
	}
	if err := e.close(); err != nil {
		t.Error(err)
	}
	if got, _ := os.ReadFile(dir.File(record.Text)); string(got) != want {
		t.Errorf("result.md has %d bytes, want %d", len(got), len(want))
	}
}

func TestEvidenceThatCannotBeWrittenIsTold(t *testing.T) {
	e := openEvidence(record.Open(filepath.Join(t.TempDir(), "not", "there"), nil), nil)
	s := event.NewStream(strings.NewReader(`{"type":"text","sessionID":"ses_1","part":{"type":"text","text":"kept in memory"}}`+"\n"), e.log)
	ev, err := s.Next()
	if err != nil {
		t.Fatal(err)
	}
	if head, _, whole := e.text([]event.Text{ev.Text}); head != "kept in memory" || !whole {
		t.Errorf("%q, %v", head, whole)
	}
	if err := e.close(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the loss is not told: %v", err)
	}
}

func TestSessionIDs(t *testing.T) {
	for id, ok := range map[string]bool{"ses_dd7fb1c98ffeoCOy6oYOvStGCp": true, "": false, "ses_": false, "../x": false, "ses_a b": false, "--continue": false, "ses_" + strings.Repeat("a", 65): false} {
		err := CheckSession(id)
		if (err == nil) != ok || err != nil && fault.Of(err).Kind != fault.NotFound {
			t.Errorf("%q: %v", id, err)
		}
	}
}
