package event

import (
	"bytes"
	"strconv"
	"time"
)

// What one event may hold in memory besides its text. Longer strings are cut.
const (
	wordLimit    = 256      // names, ids, reasons
	lineLimit    = 1 << 10  // Tool.Target, Tool.Title, one response header
	toolErrLimit = 4 << 10  // Tool.Error
	messageLimit = 16 << 10 // Err.Message
	bodyLimit    = 64 << 10 // Err.Body
	listLimit    = 64       // response headers, rejected permissions
)

// What one step may come to. More is no bill but a broken number, and counts as not known: a sum with it would say nothing.
const (
	costLimit   = 1e6  // USD
	tokensLimit = 1e12 // of each kind
)

// keys are the members that are read somewhere; every other one is skipped.
var keys = []string{
	"type", "timestamp", "sessionID", "part", "text", "tool", "state", "callID", "status", "input", "error", "metadata",
	"title", "exit", "reason", "tokens", "cost", "output", "reasoning", "cache", "read", "write", "name", "data", "message",
	"statusCode", "isRetryable", "responseHeaders", "responseBody", "ref", "rejected", "permission",
	"command", "filePath", "path", "pattern", "url", "query", "description",
	"todos", "content",
}

// A decoder makes events of the objects that a lexer reads. The order of members does not matter: what may be wanted
// is taken as it comes, and what the type asks for is kept. A member that occurs twice counts as it was last; one of a
// wrong type is as if it were absent.
type decoder struct {
	lexer
	kind     Type
	when     time.Time
	session  string
	last     string // the session of the event before: most often the same again, which spares an allocation
	part     part
	failure  Err
	rejected []string
	body     capture // part.text
	bodyAt   int64   // where its string begins, the quote included; -1 when there is none
	scratch  capture
}

type part struct {
	tool      Tool
	inputErr  string
	rank      int  // of Tool.Target in targets, from 1; 0 when it has none
	todo      Todo // of the state's metadata: the list as opencode has it
	hasTodo   bool
	finish    Finish
	sessionID string
}

// event reads one object. It is an event when it has a type.
func (d *decoder) event() (Event, bool) {
	d.kind, d.when, d.session, d.failure, d.rejected = Noise, time.Time{}, "", Err{}, nil
	d.resetPart()
	if !d.object(d.member) {
		return Event{}, false
	}
	if d.session == "" {
		d.session = d.part.sessionID
	}
	if d.session != "" {
		d.last = d.session
	}
	e := Event{Type: d.kind, At: d.when, Session: d.session}
	switch d.kind {
	case TextBlock, Reasoning:
		e.Text = Text{Head: string(d.body.buf), Size: d.body.size, Chars: d.body.chars, blank: !d.body.ink}
	case ToolUse:
		e.Tool = d.part.tool
		if e.Tool.Error == "" && e.Tool.Name == "invalid" {
			e.Tool.Error = d.part.inputErr
		}
		if e.Tool.Name == "todowrite" && d.part.hasTodo {
			todo := d.part.todo
			e.Tool.Todo = &todo
		}
	case StepFinish:
		e.Finish = d.part.finish
	case Failure:
		e.Err = d.failure
	case Done:
		e.Rejected = d.rejected
	}
	return e, true
}

func (d *decoder) resetPart() {
	d.part = part{}
	d.body.reset(HeadLimit)
	d.bodyAt = -1
}

func (d *decoder) member(key string) bool {
	switch key {
	case "type":
		s, ok := d.str(wordLimit, string(d.kind))
		d.kind = Type(s)
		return ok
	case "timestamp":
		ms, has, ok := d.float()
		d.when = time.Time{}
		if has && ms > 0 && ms < 1<<53 {
			d.when = time.UnixMilli(int64(ms)).UTC()
		}
		return ok
	case "sessionID":
		s, ok := d.str(wordLimit, d.last)
		d.session = s
		return ok
	case "part":
		d.resetPart()
		return d.in(d.partMember)
	case "error":
		d.failure = Err{}
		if d.peek() == '"' {
			s, ok := d.str(messageLimit, "")
			d.failure.Message = s
			return ok
		}
		return d.in(d.errMember)
	case "rejected":
		d.rejected = nil
		if d.peek() != '[' {
			return d.skip()
		}
		return d.array(d.rejectedOne)
	}
	return d.skip()
}

func (d *decoder) partMember(key string) (ok bool) {
	p := &d.part
	switch key {
	case "text":
		d.body.reset(HeadLimit)
		d.bodyAt = -1
		if d.peek() != '"' {
			return d.skip()
		}
		d.bodyAt = d.lexer.at()
		return d.lexer.text(&d.body)
	case "tool":
		p.tool.Name, ok = d.str(wordLimit, p.tool.Name)
	case "callID":
		p.tool.CallID, ok = d.str(wordLimit, "")
	case "sessionID":
		p.sessionID, ok = d.str(wordLimit, d.last)
	case "state":
		p.tool = Tool{Name: p.tool.Name, CallID: p.tool.CallID}
		p.rank, p.inputErr, p.todo, p.hasTodo = 0, "", Todo{}, false
		return d.in(d.stateMember)
	case "reason":
		p.finish.Reason, ok = d.str(wordLimit, p.finish.Reason)
	case "cost":
		p.finish.Cost = 0
		var cost float64
		var has bool
		if cost, has, ok = d.float(); has && cost > 0 && cost <= costLimit {
			p.finish.Cost = cost
		}
	case "tokens":
		p.finish.Tokens = Tokens{}
		return d.in(d.tokensMember)
	default:
		return d.skip()
	}
	return ok
}

func (d *decoder) tokensMember(key string) (ok bool) {
	t := &d.part.finish.Tokens
	switch key {
	case "input":
		t.Input, ok = d.count()
	case "output":
		t.Output, ok = d.count()
	case "reasoning":
		t.Reasoning, ok = d.count()
	case "cache":
		t.CacheRead, t.CacheWrite = 0, 0
		return d.in(func(key string) (ok bool) {
			switch key {
			case "read":
				t.CacheRead, ok = d.count()
			case "write":
				t.CacheWrite, ok = d.count()
			default:
				return d.skip()
			}
			return ok
		})
	default:
		return d.skip()
	}
	return ok
}

// in reads an object, or skips what is none.
func (d *decoder) in(member func(string) bool) bool {
	if d.peek() != '{' {
		return d.skip()
	}
	return d.object(member)
}

// str reads a string of which limit bytes are kept; what is no string is skipped and comes out empty. last is
// returned instead of a copy when it is the same.
func (d *decoder) str(limit int, last string) (string, bool) {
	d.scratch.reset(limit)
	if d.peek() != '"' {
		return "", d.skip()
	}
	if !d.lexer.text(&d.scratch) {
		return "", false
	}
	if string(d.scratch.buf) == last {
		return last, true
	}
	return string(d.scratch.buf), true
}

// float reads a number; has is false for anything else.
func (d *decoder) float() (f float64, has, ok bool) {
	if c := d.peek(); c != '-' && (c < '0' || c > '9') {
		return 0, false, d.skip()
	}
	text, usable, ok := d.number()
	if !ok || !usable {
		return 0, false, ok
	}
	f, err := strconv.ParseFloat(string(bytes.TrimSpace(text)), 64)
	return f, err == nil, true
}

// count reads a number of tokens: whole, not negative, and one that a model could have read.
func (d *decoder) count() (int64, bool) {
	f, has, ok := d.float()
	if !has || f < 0 || f > tokensLimit {
		return 0, ok
	}
	return int64(f), ok
}
