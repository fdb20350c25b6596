package excerpt

import (
	"bytes"
	"strings"
)

// A strength is how much a line looks like a failure.
type strength int

const (
	no     strength = iota
	weak            // it has a word for failures, which can be the name of a test, a count or an option
	strong          // it has the form in which programs report one
)

// sure are texts, in lower case, that hardly stand in a line for another reason.
var sure = []string{
	"error:", "error[", "fatal:", "fatal error", "panic:", "panicked at", "traceback (most recent call last)", "exception:", "segmentation fault", "segfault",
	"core dumped", "undefined reference", "undefined symbol", "unresolved external", "assertion failed", "assertionerror", "assertion `", "npm err!", "npm error", "caused by:",
	"out of memory", "data race",
}

// starts are how a line of that kind begins, behind white space.
var starts = []string{"error ", "fatal ", "--- fail", "fail:", "fail\t", "fail ", "failed ", "not ok "}

// stems are words for failures, with the endings that they may have.
var stems = []struct {
	text    string
	endings string // by commas, the longest first
}{
	{"error", "s"}, {"fail", "ures,ure,ing,ed,s"}, {"panic", "ked,s"}, {"exception", "s"}, {"fatal", ""}, {"assert", "ions,ion"}, {"abort", "ing,ed"}, {"killed", ""}, {"cannot", ""},
	{"not found", ""}, {"no such file", ""}, {"denied", ""}, {"refused", ""}, {"timed out", ""}, {"undefined", ""}, {"invalid", ""},
}

// exits are what stands before the code with which something ended. A zero behind it is no failure.
var exits = []string{"exit status", "exit code", "exited with code", "exited with", "exit value", "error code", "returned code", "return code", " error "}

// A looker looks at lines.
type looker struct {
	lower  []byte
	begins [1 << 10]uint64 // a bit for the first bytes of each text that is looked for
}

func newLooker() *looker {
	k := &looker{}
	for _, list := range [][]string{sure, starts, exits} {
		for _, s := range list {
			k.know(s)
		}
	}
	for _, s := range stems {
		k.know(s.text)
	}
	return k
}

const (
	five   = 1<<40 - 1 // the last five of eight bytes
	failed = uint32('f'<<24 | 'a'<<16 | 'i'<<8 | 'l')
)

func (k *looker) know(s string) {
	if strings.HasPrefix(s, "fail") { // the only one that is shorter
		return
	}
	n := uint64(0)
	for i := range 5 {
		n = n<<8 | uint64(s[i])
	}
	bit := hash(n)
	k.begins[bit/64] |= 1 << (bit % 64)
}

func hash(n uint64) uint64 { return n & five * 0x9e3779b97f4a7c15 >> 48 }

// suspicious is false for most lines that do not look like failures, at the cost of one look at each byte.
func (k *looker) suspicious(b []byte) bool {
	n := uint64(0)
	for _, c := range b {
		if c-'A' < 26 {
			c += 'a' - 'A'
		}
		n = n<<8 | uint64(c)
		if bit := hash(n); k.begins[bit/64]>>(bit%64)&1 != 0 || uint32(n) == failed {
			return true
		}
	}
	return false
}

// at is how much a line looks like a failure.
func (k *looker) at(b []byte) strength {
	if bytes.HasPrefix(b, []byte("E   ")) { // pytest
		return strong
	}
	if !k.suspicious(b) {
		return no
	}
	k.lower = append(k.lower[:0], b...)
	for i, c := range k.lower {
		if c >= 'A' && c <= 'Z' {
			k.lower[i] = c + 'a' - 'A'
		}
	}
	lower := k.lower
	for _, s := range exits {
		switch other, ok := codeBehind(lower, s); {
		case other && ok:
			return strong
		case ok && strings.Contains(s, "error"):
			return no
		}
	}
	for _, s := range sure {
		if i := bytes.Index(lower, []byte(s)); i >= 0 && !negated(lower[:i]) {
			return strong
		}
	}
	trimmed := bytes.TrimLeft(lower, " \t")
	for _, s := range starts {
		if bytes.HasPrefix(trimmed, []byte(s)) && !counted(trimmed[len(s)-1:]) {
			return strong
		}
	}
	found := no
	for _, s := range stems {
		for at := 0; at < len(lower); {
			i := bytes.Index(lower[at:], []byte(s.text))
			if i < 0 {
				break
			}
			i += at
			at = i + len(s.text)
			end := at + ending(lower[at:], s.endings)
			if !wordAt(b, i, end) || negated(lower[:i]) || counted(lower[end:]) {
				continue
			}
			if b[i] >= 'A' && b[i] <= 'Z' && b[i+1] >= 'A' && b[i+1] <= 'Z' {
				return strong // as loggers write their levels
			}
			found = weak
		}
	}
	return found
}

func ending(b []byte, endings string) int {
	for e := range strings.SplitSeq(endings, ",") {
		if bytes.HasPrefix(b, []byte(e)) {
			return len(e)
		}
	}
	return 0
}

// wordAt reports that b[i:end] is a word of its own, or the end of the name of a type such as ValueError; a part of a path, an option or an identifier is none.
func wordAt(b []byte, i, end int) bool {
	part := func(c byte) bool {
		return letter(c) || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '/' || c == '\\'
	}
	if i > 0 && (part(b[i-1]) || b[i-1] == '.') && (b[i] < 'A' || b[i] > 'Z' || b[i-1] < 'a' || b[i-1] > 'z') {
		return false
	}
	if end < len(b) && (part(b[end]) || b[end] == '.' && end+1 < len(b) && part(b[end+1])) {
		return false
	}
	return true
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// negated reports that what stands before a word makes it none: 0 errors, no error, without failures.
func negated(before []byte) bool {
	before = bytes.TrimRight(before, " \t")
	for _, s := range []string{"0", "no", "without", "zero"} {
		if rest, ok := bytes.CutSuffix(before, []byte(s)); ok && (len(rest) == 0 || !letter(rest[len(rest)-1]) && (rest[len(rest)-1] < '0' || rest[len(rest)-1] > '9')) {
			return true
		}
	}
	return false
}

// counted reports that a zero follows: errors: 0, failed=0.
func counted(behind []byte) bool {
	behind = bytes.TrimLeft(behind, " \t:=")
	return len(behind) > 0 && behind[0] == '0' && (len(behind) == 1 || behind[1] < '0' || behind[1] > '9')
}

// codeBehind finds a number behind a text, and reports whether it is another than zero.
func codeBehind(lower []byte, text string) (other, ok bool) {
	i := bytes.Index(lower, []byte(text))
	if i < 0 {
		return false, false
	}
	rest := bytes.TrimLeft(lower[i+len(text):], " \t:=(-")
	n := 0
	for n < len(rest) && rest[n] >= '0' && rest[n] <= '9' {
		other = other || rest[n] != '0'
		n++
	}
	return other, n > 0 && (n == len(rest) || !letter(rest[n]))
}

// keyOf is equal for lines that differ in their numbers only: times, sizes, addresses, counts, and how long a bar is.
func keyOf(b []byte) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211 // FNV-1a
	h := uint64(offset)
	for i := 0; i < len(b); i++ {
		c := b[i]
		switch {
		case c >= '0' && c <= '9':
			for i+1 < len(b) && number(b[i+1]) {
				i++
			}
			c = '0'
		case bar(c):
			for i+1 < len(b) && bar(b[i+1]) {
				i++
			}
			c = ' '
		}
		h = (h ^ uint64(c)) * prime
	}
	return h
}

func bar(c byte) bool {
	return c == ' ' || c == '=' || c == '#' || c == '.' || c == '-' || c == '>'
}

func number(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' || c|0x20 == 'x'
}
