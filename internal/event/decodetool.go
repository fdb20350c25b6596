package event

import (
	"math"
	"strings"
)

// targets are the members of a tool's input that say best what it acts on, best first.
var targets = []string{"command", "filePath", "pattern", "path", "url", "query", "description", "name", "tool"}

func (d *decoder) stateMember(key string) (ok bool) {
	t := &d.part.tool
	switch key {
	case "status":
		t.Status, ok = d.str(wordLimit, t.Status)
	case "error":
		t.Error, ok = d.str(toolErrLimit, "")
		t.Got = d.scratch.chars
	case "title":
		t.Title, ok = d.str(lineLimit, "")
	case "input":
		t.Target, t.Sent, d.part.rank, d.part.inputErr = "", 0, 0, ""
		if d.peek() != '{' {
			t.Sent, ok = d.measure(maxDepth)
			return ok
		}
		return d.object(d.inputMember)
	case "output":
		t.Got, ok = d.measure(maxDepth)
	case "metadata":
		t.Exit, d.part.todo, d.part.hasTodo = nil, Todo{}, false
		return d.in(d.metadataMember)
	default:
		return d.skip()
	}
	return ok
}

func (d *decoder) metadataMember(key string) bool {
	switch key {
	case "exit":
		t := &d.part.tool
		t.Exit = nil
		code, has, ok := d.float()
		if has && code == math.Trunc(code) && math.Abs(code) <= math.MaxInt32 {
			n := int(code)
			t.Exit = &n
		}
		return ok
	case "todos":
		return d.todos()
	}
	return d.skip()
}

func (d *decoder) inputMember(key string) (ok bool) {
	if key == "error" {
		d.part.inputErr, ok = d.str(toolErrLimit, "")
		d.part.tool.Sent = plus(d.part.tool.Sent, d.scratch.chars)
		return ok
	}
	for i, name := range targets {
		if rank := i + 1; name == key && (d.part.rank == 0 || rank <= d.part.rank) {
			s, ok := d.str(lineLimit, "")
			d.part.tool.Sent = plus(d.part.tool.Sent, d.scratch.chars)
			if s = oneLine(s); s != "" {
				d.part.tool.Target, d.part.rank = s, rank
			}
			return ok
		}
	}
	chars, ok := d.measure(maxDepth)
	d.part.tool.Sent = plus(d.part.tool.Sent, chars)
	return ok
}

// measure reads any value of at most so many levels and counts the code points of its strings, wherever they are; keys are none of them.
func (d *decoder) measure(levels int) (chars int64, ok bool) {
	add := func() bool {
		n, ok := d.measure(levels - 1)
		chars = plus(chars, n)
		return ok
	}
	switch c := d.peek(); {
	case c == '"':
		d.scratch.reset(-1)
		ok = d.lexer.text(&d.scratch)
		return d.scratch.chars, ok
	case c != '{' && c != '[':
		return 0, d.skip()
	case levels == 0:
		return 0, false
	case c == '{':
		ok = d.object(func(string) bool { return add() })
	default:
		ok = d.array(add)
	}
	return chars, ok
}

// oneLine makes a line of s: a command may have several.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
