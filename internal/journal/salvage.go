package journal

import (
	"bytes"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"opencode-delegate/internal/delegate"
	"opencode-delegate/internal/event"
)

// cutMark stands in front of a text whose beginning was left out.
const cutMark = "[… what was said before is in events.jsonl]\n\n"

// Salvage is what can be used of a run that nobody judged, from its events file: the answer of one whose stream is complete,
// else the last that the worker said, of which the end is kept. What cannot be read counts as not written: a file that is
// missing gives nothing.
func Salvage(path string) delegate.Remains {
	f, err := open(path)
	if err != nil {
		return delegate.Remains{}
	}
	defer f.Close()
	var left delegate.Remains
	var tr event.Transcript
	s := event.NewStream(f, event.NewLog(io.Discard, nil))
	for {
		e, err := s.Next()
		if err != nil {
			break
		}
		// opencode prints the run's own session only; another one is a further attempt of the same job.
		if id := event.ValidSession(e.Session); id != "" {
			left.Session = id
		}
		e.Session = ""
		tr.Add(e)
	}
	left.Commands = delegate.Commands{Run: tr.Commands(), Failed: tr.FailedCommands()}
	left.Usage = usage(&tr)
	if tr.Events() > 0 {
		read, written := tr.Read(), tr.Written()
		left.Read, left.Written = &read, &written
	}
	texts := tr.Texts()
	if tr.Complete() {
		texts = tr.Answer()
	}
	left.Text = lastTexts(texts, f)
	return left
}

// usage is nil when nothing is known of it.
func usage(tr *event.Transcript) *delegate.Usage {
	t := tr.Tokens()
	if t.Sum() == 0 {
		return nil
	}
	u := &delegate.Usage{Input: t.Input, Output: t.Output, Reasoning: t.Reasoning, CacheRead: t.CacheRead, CacheWrite: t.CacheWrite, Partial: tr.Subagents() > 0}
	if cost := tr.Cost(); cost > 0 {
		cost = math.Round(cost*1e9) / 1e9
		u.CostUSD = &cost
	}
	return u
}

// lastTexts joins the newest texts that fit into a result.
func lastTexts(texts []event.Text, log io.ReaderAt) string {
	room, cut := delegate.TextLimit-len(cutMark), false
	var parts []string
	for _, t := range slices.Backward(texts) {
		if t.Blank() {
			continue
		}
		if len(parts) > 0 {
			room -= len("\n\n")
		}
		if room <= 0 {
			cut = true
			break
		}
		part := ending(t, log, room)
		parts = append(parts, part)
		if room -= len(part); int64(len(part)) < t.Size {
			cut = true
			break
		}
	}
	slices.Reverse(parts)
	text := strings.Join(parts, "\n\n")
	if cut {
		text = cutMark + text
	}
	return text
}

// ending is the end of a text, at most limit bytes of it.
func ending(t event.Text, log io.ReaderAt, limit int) string {
	if t.Whole() {
		return lastBytes([]byte(t.Head), limit)
	}
	w := &tailWriter{limit: limit}
	if event.CopyText(w, log, t.Line) != nil {
		return lastBytes([]byte(t.Head), limit)
	}
	return lastBytes(w.buf, limit)
}

// lastBytes is the end of b, at most limit bytes, from the beginning of a code point on.
func lastBytes(b []byte, limit int) string {
	if len(b) > limit {
		b = b[len(b)-limit:]
		for len(b) > 0 && !utf8.RuneStart(b[0]) {
			b = b[1:]
		}
	}
	return string(b)
}

// A tailWriter keeps the end of what is written, at least limit bytes of it.
type tailWriter struct {
	limit int
	buf   []byte
}

func (w *tailWriter) Write(p []byte) (int, error) {
	w.buf = append(w.buf, p[max(0, len(p)-w.limit):]...)
	if len(w.buf) > 2*w.limit {
		w.buf = append(w.buf[:0], bytes.Clone(w.buf[len(w.buf)-w.limit:])...)
	}
	return len(p), nil
}
