package journal

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"opencode-delegate/internal/event"
	"opencode-delegate/internal/plain"
)

// What one line shows at most, in code points.
const (
	targetLimit  = 500 // a command
	messageLimit = 300 // why something failed
	nameLimit    = 60
	thoughtLimit = 300
	noiseLimit   = 200
)

const (
	// noiseShown is how many lines in a row that are no event are shown.
	noiseShown = 3
	// strangersShown is how many types of events that nobody knows are named.
	strangersShown = 16
)

// A Renderer makes lines for a person of events. Each begins with the time of day by opencode's clock; the further lines of a
// text are indented, so that no text can look like a line of the log. Nothing of them acts on a terminal.
type Renderer struct {
	// Log holds the rest of texts that an event has only the beginning of. nil: only the beginning is shown.
	Log io.ReaderAt

	w         io.Writer
	zone      *time.Location
	buf       []byte
	session   string
	steps     int
	open      bool // a step has begun and not ended
	noise     int  // lines in a row that are no event
	strangers []string
}

// NewRenderer returns a renderer that writes to w, in many small pieces. A nil zone is UTC.
func NewRenderer(w io.Writer, zone *time.Location) *Renderer {
	if zone == nil {
		zone = time.UTC
	}
	return &Renderer{w: w, zone: zone}
}

// Event writes what the next event means. An error is that of the writer.
func (r *Renderer) Event(e event.Event) error {
	if e.Type == event.Noise {
		return r.addNoise(e.Text.Head)
	}
	if err := r.Close(); err != nil {
		return err
	}
	if e.Session != "" && e.Session != r.session {
		r.session = e.Session
		if err := r.line(e.At, "session "+plain.Line(e.Session, 80)+r.day(e.At)); err != nil {
			return err
		}
	}
	switch e.Type {
	case event.StepStart:
		r.steps++
		r.open = true
		return r.line(e.At, "step "+strconv.Itoa(r.steps))
	case event.StepFinish:
		return r.finish(e)
	case event.ToolUse:
		return r.line(e.At, toolLine(e.Tool))
	case event.TextBlock:
		return r.text(e)
	case event.Reasoning:
		if thought := plain.Line(e.Text.Head, thoughtLimit); thought != "" {
			return r.line(e.At, "thinks: "+thought)
		}
	case event.Failure:
		return r.line(e.At, failureLine(e.Err))
	case event.Done:
		if len(e.Rejected) > 0 {
			return r.line(e.At, plain.Line("rejected: "+strings.Join(e.Rejected, ", "), messageLimit))
		}
	default:
		return r.stranger(e)
	}
	return nil
}

// Close tells what is left to tell. The renderer can be used on.
func (r *Renderer) Close() error {
	more := r.noise - noiseShown
	r.noise = 0
	if more <= 0 {
		return nil
	}
	return r.line(time.Time{}, fmt.Sprintf("| and %d more lines that are no event", more))
}

func (r *Renderer) addNoise(head string) error {
	if r.noise++; r.noise > noiseShown {
		return nil
	}
	return r.line(time.Time{}, strings.TrimRight("| "+plain.Line(head, noiseLimit), " "))
}

// stranger names an event of a later opencode, once for each type.
func (r *Renderer) stranger(e event.Event) error {
	name := plain.Line(string(e.Type), nameLimit)
	if len(r.strangers) == strangersShown || slices.Contains(r.strangers, name) {
		return nil
	}
	r.strangers = append(r.strangers, name)
	return r.line(e.At, "an event that is not known: "+name)
}

func (r *Renderer) finish(e event.Event) error {
	if !r.open {
		r.steps++
	}
	r.open = false
	said := []string{plain.Line(e.Finish.Reason, nameLimit)}
	if said[0] == "" {
		said[0] = "no reason given"
	}
	if sum := e.Finish.Tokens.Sum(); sum > 0 {
		said = append(said, strconv.FormatInt(sum, 10)+" tokens")
	}
	if e.Finish.Cost > 0 {
		said = append(said, "$"+strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(e.Finish.Cost, 'f', 6, 64), "0"), "."))
	}
	return r.line(e.At, "step "+strconv.Itoa(r.steps)+" ended: "+strings.Join(said, ", "))
}

// toolLine is one tool call: what was done, and what came of it.
func toolLine(t event.Tool) string {
	name, target := plain.Line(t.Name, nameLimit), plain.Line(t.Target, targetLimit)
	switch {
	case t.Status == "error", t.Name == "invalid":
		if t.Name == "invalid" { // what the worker asked for is the target
			name = ""
		}
		failed := strings.Join(strings.Fields("failed: "+name+" "+target), " ")
		if why := plain.Line(t.Error, messageLimit); why != "" {
			failed += ": " + why
		}
		return failed
	case t.Name == "bash" && t.Exit != nil:
		return "$ " + target + " → exit " + strconv.Itoa(*t.Exit)
	case t.Name == "bash":
		return "$ " + target
	case t.Todo != nil:
		line := fmt.Sprintf("%s %d of %d done", name, t.Todo.Done, t.Todo.Total)
		if active := plain.Line(t.Todo.Active, targetLimit); active != "" {
			line += ", now: " + active
		}
		return line
	case target == "":
		target = plain.Line(t.Title, targetLimit)
	}
	return strings.TrimSpace(name + " " + target)
}

func failureLine(e event.Err) string {
	line := "error: " + plain.Line(e.Name, nameLimit)
	if e.Status != 0 {
		line += " (HTTP " + strconv.Itoa(e.Status) + ")"
	}
	if message := plain.Line(e.Message, messageLimit); message != "" {
		line = strings.TrimSuffix(line, " ") // an error need not have a name
		line = strings.TrimSuffix(line, ":") + ": " + message
	}
	return line
}

// noTime stands where opencode gave none.
const noTime = "--:--:-- "

// line writes one line that is clean already.
func (r *Renderer) line(at time.Time, text string) error {
	r.buf = append(r.clock(r.buf[:0], at), text...)
	r.buf = append(r.buf, '\n')
	_, err := r.w.Write(r.buf)
	return err
}

func (r *Renderer) clock(b []byte, at time.Time) []byte {
	if at.IsZero() {
		return append(b, noTime...)
	}
	return at.In(r.zone).AppendFormat(b, "15:04:05 ")
}

// day is the date for the line with which a session begins.
func (r *Renderer) day(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return " on " + at.In(r.zone).Format(time.DateOnly)
}
