package digest

import (
	"strings"
	"unicode"

	"opencode-delegate/internal/lazyregexp"
)

var (
	marker    = lazyregexp.New(`(?i)^={2,} ?digest ?={2,}`)
	endMarker = lazyregexp.New(`(?i)^={2,} ?(end|/)[^=]*={2,}$`)
	fence     = lazyregexp.New("^(`{3,}|~{3,})\\s*([^`]*)$")
	section   = lazyregexp.New(`(?i)^(files?( that)?( were)? (changed|modified|touched|created|added)|(changed|modified) files|findings|key decisions|decisions|context( for (the )?next step)?|next steps?)\b`)
	files     = lazyregexp.New(`(?i)^(files?( that)?( were)? (changed|modified|touched|created|added)|(changed|modified) files)\b`)
	titled    = lazyregexp.New(`^\s*(#{1,6}\s|\*\*|__)`)
)

// Parse finds the last digest block in a reply. It looks at the last [TailSize] bytes; the end of a longer text, as
// [ReadTail] gives it, will do.
//
// A block begins at a line with the marker, whatever Markdown is around it, and ends with its fence, with the next
// marker, or with the text. Inside a fence the marker counts only in front: further down it is code. A block that is
// empty or repeats the form that was asked for does not count. Where no marker is, a heading "Digest" with one of the
// sections beneath it is taken for one.
func Parse(text string) (block Digest, ok bool) {
	lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(end(text, TailSize)), "\n")
	for _, find := range []func([]string) [][]string{marked, titledDigest} {
		blocks := find(lines)
		for i := len(blocks) - 1; i >= 0; i-- {
			if !says(blocks[i]) {
				continue
			}
			if d := divide(blocks[i]); d.Text != "" || len(d.Files) > 0 {
				return d, true
			}
		}
	}
	return Digest{}, false
}

// marked returns the blocks that a marker opens.
func marked(lines []string) (blocks [][]string) {
	var open string // the fence that is open
	content := false
	for i := 0; i < len(lines); i++ {
		line := bare(lines[i])
		if loc := marker().FindStringIndex(line); loc != nil && (open == "" || !content) {
			block, next, cut := body(lines, i+1, open)
			blocks = append(blocks, append([]string{line[loc[1]:]}, block...))
			i, open, content = next-1, "", false
			if cut {
				open = fenceBefore(lines[:next]) // perhaps the other marker has a fence of its own
			}
			continue
		}
		if m := fence().FindStringSubmatch(unquoted(lines[i])); m != nil {
			switch {
			case open == "":
				open, content = m[1], false
				continue
			case m[2] == "" && closes(m[1], open):
				open = ""
				continue
			}
		}
		content = content || line != ""
	}
	return blocks
}

// fenceBefore is the fence on the last line that is not blank; empty when there is none on it.
func fenceBefore(lines []string) string {
	for i := len(lines) - 1; i >= 0; i-- {
		if m := fence().FindStringSubmatch(unquoted(lines[i])); m != nil {
			return m[1]
		}
		if bare(lines[i]) != "" {
			break
		}
	}
	return ""
}

// body collects a block from line i on and returns the line after it. open is the fence around its marker, if any. cut
// says that another marker ended a block without a fence.
func body(lines []string, i int, open string) (block []string, next int, cut bool) {
	inner := 0
	for ; i < len(lines); i++ {
		line := bare(lines[i])
		if marker().MatchString(line) {
			block = trimmed(block)
			if fenceBefore(block) != "" {
				block = block[:len(block)-1]
			}
			return block, i, open == ""
		}
		if endMarker().MatchString(line) {
			return block, i + 1, false
		}
		m := fence().FindStringSubmatch(unquoted(lines[i]))
		switch {
		case m == nil:
		case open == "" && !says(block):
			open = m[1] // the fence stands after the marker
			continue
		case open == "":
		case m[2] != "":
			inner++
		case inner > 0:
			inner--
		case closes(m[1], open):
			return block, i + 1, false
		}
		block = append(block, strings.TrimRight(unquoted(lines[i]), " \t"))
	}
	return block, i, false
}

// titledDigest returns what stands under headings "Digest" that hold at least one section.
func titledDigest(lines []string) (blocks [][]string) {
	for i, line := range lines {
		if !titled().MatchString(line) || !strings.EqualFold(strings.Trim(bare(line), ":"), "digest") {
			continue
		}
		block, _, _ := body(lines, i+1, "")
		for _, l := range block {
			if section().MatchString(bare(l)) {
				blocks = append(blocks, block)
				break
			}
		}
	}
	return blocks
}

// trimmed is a block without the blank lines at its end.
func trimmed(block []string) []string {
	for len(block) > 0 && strings.TrimSpace(block[len(block)-1]) == "" {
		block = block[:len(block)-1]
	}
	return block
}

// says reports whether a block says anything but the form that was asked for.
func says(block []string) bool {
	asked := map[string]bool{}
	for line := range strings.Lines(template) {
		asked[strings.ToLower(bare(line))] = true
	}
	for _, line := range block {
		line = strings.ToLower(bare(line))
		if asked[line] || asked[line+":"] {
			continue
		}
		if strings.ContainsFunc(line, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			return true
		}
	}
	return false
}

// divide takes the list of files out of a block.
func divide(block []string) Digest {
	var d Digest
	var text []string
	size, inFiles := 0, false
	for _, line := range block {
		if size += len(line) + 1; size > blockLimit {
			text = append(text, first(line, max(0, blockLimit-size+len(line))))
			break
		}
		plain := bare(line)
		item := strings.HasPrefix(strings.TrimSpace(line), "- ") || strings.HasPrefix(strings.TrimSpace(line), "* ")
		switch {
		case !item && files().MatchString(plain):
			inFiles = true
			if _, rest, ok := strings.Cut(plain, ":"); ok && bare(rest) != "" {
				d.Files = append(d.Files, strings.TrimSpace(rest))
			}
			continue
		case inFiles && item:
			d.Files = append(d.Files, strings.TrimSpace(strings.TrimSpace(line)[1:]))
			continue
		case inFiles && plain != "" && !section().MatchString(plain) && !titled().MatchString(line) && !strings.HasSuffix(plain, ":"):
			d.Files = append(d.Files, strings.TrimSpace(line))
			continue
		case plain != "":
			inFiles = false
		}
		text = append(text, line)
	}
	d.Text = strings.TrimSpace(strings.Join(text, "\n"))
	return d
}

// unquoted is a line without the signs of a quotation and the white space before it.
func unquoted(line string) string {
	return strings.TrimLeft(strings.TrimRight(line, " \t"), "> \t")
}

// bare is a line without the Markdown around it.
func bare(line string) string { return strings.Trim(line, "#*_>` \t\n\u00a0\ufeff") }

// closes reports whether a fence ends what open began.
func closes(f, open string) bool { return f[0] == open[0] && len(f) >= len(open) }
