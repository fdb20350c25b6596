// Package digest is the short answer that a delegation brings back: what the worker is asked to end its reply with, how
// that is found in what it wrote, and how it is put together with the facts that we know ourselves.
//
// The facts come first and win. The worker's block is prose: it is shown, never believed.
package digest

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

const (
	// DefaultLimit and MinLimit are code points of everything that Render returns.
	DefaultLimit = 4000
	MinLimit     = 500
	// TailSize is how many bytes of the end of a text [Parse] looks at: a block stands at the end, and it is short.
	TailSize = 256 << 10
	// blockLimit bounds a block, in bytes: one that was never closed may have a long text after it.
	blockLimit = 64 << 10
)

// A Source says where a digest comes from.
type Source string

const (
	FromWorker Source = "worker"    // it stood in the reply
	Repaired   Source = "repaired"  // it came when it was asked for
	Extracted  Source = "extracted" // we cut it out of the reply
	FromNobody Source = "none"      // there was no reply
)

// A Digest is what the worker said. For [Extracted] it is the text to extract from.
type Digest struct {
	Text  string   // the block without its marker, its fence and its list of files
	Files []string // the items of that list
}

// template is what a block looks like. A block that only repeats it is no digest.
const template = `===DIGEST===
Files changed:
- <path>: <what is different now, in a few words>
Findings:
- <where nothing was to be changed: what you found, with file and line>
Key decisions:
- <what you chose, and why>
Context for the next step:
<one paragraph: what somebody who goes on from here has to know>`

// Contract is the text that is appended to a prompt.
func Contract() string {
	return "Finish your last reply with exactly one block of this form, in a code fence, and nothing behind it:\n\n```\n" + template + "\n```\n\n" +
		"Only that block is passed on, so it has to stand alone: at most 2,500 characters, no code, no logs. " +
		"Whatever is longer goes into a file of which you name the path, if you are allowed to write files. " +
		"Leave out a heading that has nothing under it. State only what you have done or seen yourself, and say plainly what failed or was not done.\n"
}

// Repair is the prompt that asks for a block that is missing.
func Repair() string {
	return "Your reply lacked the closing block. Do no further work and use no tools. Answer with nothing but this block about what you have done so far, in a code fence:\n\n```\n" +
		template + "\n```\n\nIt may have at most 2,500 characters. Leave out a heading that has nothing under it.\n"
}

// ReadTail returns the last n bytes of a text of size bytes, from the first whole code point on.
func ReadTail(r io.ReaderAt, size, n int64) (string, error) {
	n = max(0, min(n, size))
	b := make([]byte, n)
	if k, err := r.ReadAt(b, size-n); int64(k) < n {
		return "", fmt.Errorf("reading the last %d of %d bytes: %w", n, size, err)
	}
	if n < size {
		b = b[partial(b):]
	}
	return string(b), nil
}

// Abridge joins the beginning and the end of a text of size bytes, which may overlap, and marks what is missing between.
func Abridge(head, tail string, size int64) string {
	switch missing := size - int64(len(head)) - int64(len(tail)); {
	case int64(len(head)) >= size:
		return head
	case missing > 0:
		return head + "\n[…]\n" + tail
	case -missing < int64(len(tail)):
		return head + tail[-missing:]
	default:
		return head
	}
}

// end is the last n bytes of s, from the first whole code point on.
func end(s string, n int) string {
	if len(s) <= n {
		return s
	}
	s = s[len(s)-n:]
	return s[partial([]byte(s[:min(len(s), utf8.UTFMax)])):]
}

// partial counts the bytes at the beginning of b that continue a code point.
func partial(b []byte) int {
	n := 0
	for n < len(b) && n < utf8.UTFMax-1 && !utf8.RuneStart(b[n]) {
		n++
	}
	return n
}

// count is the number of code points.
func count(s string) int { return utf8.RuneCountInString(s) }

// first is at most the first n code points of s.
func first(s string, n int) string {
	for i := range s {
		if n <= 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// last is at most the last n code points of s.
func last(s string, n int) string {
	i := len(s)
	for ; n > 0 && i > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(s[:i])
		i -= size
	}
	return s[i:]
}

// cut is s in at most n code points, with a mark when something is missing.
func cut(s string, n int) string {
	const mark = "\n[… cut here]"
	if count(s) <= n {
		return s
	}
	if n < count(mark) {
		return ""
	}
	return strings.TrimRight(first(s, n-count(mark)), " \n") + mark
}
