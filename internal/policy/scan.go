package policy

import (
	"strings"
	"unicode/utf8"

	"opencode-delegate/internal/plain"
)

// The limits of a command, in bytes and in words. What is longer belongs into a file.
const (
	commandLimit = 1 << 20
	wordLimit    = 256
)

// A token is a word of a command: where it stands and what it is once the quotes are gone.
type token struct {
	start, end int
	text       string
}

// A scan is a command in the small language that is understood here: words of plain characters and quotes, between blanks, and at
// most one heredoc behind a quoted delimiter. Each of its sentences means the same to bash, zsh and every POSIX shell, which is
// why it is so small.
type scan struct {
	src   string
	at    int
	words []token

	heredoc    bool
	operator   int   // offset of <<
	delimiter  token // behind it
	body, done int   // the heredoc's text is src[body:done]
}

// begins reports whether a command's first word is one of ours; all others are judged without being read.
func begins(command string) bool {
	rest := strings.TrimLeft(command, " \t\n")
	for _, name := range []string{Delegate, Jobber} {
		if after, ok := strings.CutPrefix(rest, name); ok && (after == "" || strings.ContainsRune(" \t\n", rune(after[0]))) {
			return true
		}
	}
	return false
}

func scanCommand(src string) (*scan, error) {
	switch {
	case len(src) > commandLimit:
		return nil, refuse("the command is longer than 1 MiB; put the task into a file and name it with --prompt-file")
	case !begins(src):
		return nil, refuse("only a plain call of oc-delegate or oc-job is allowed, with nothing before its name")
	case plain.Clean(src) != src:
		return nil, refuse("the command holds control characters, or is not UTF-8; put the task into a file and name it with --prompt-file")
	}
	s := &scan{src: src, at: len(src) - len(strings.TrimLeft(src, " \t\n"))}
	for {
		if err := s.blanks(); err != nil {
			return nil, err
		}
		var err error
		switch {
		case s.at == len(src):
			if s.heredoc {
				return nil, refuse("the heredoc has no body")
			}
			return s, nil
		case src[s.at] == '\n':
			return s, s.tail()
		case src[s.at] == '<':
			err = s.redirection()
		case len(s.words) == wordLimit:
			return nil, refuse("more than %d words; put the text in single quotes, or give it with - and a heredoc whose delimiter is quoted", wordLimit)
		default:
			err = s.word()
		}
		if err != nil {
			return nil, err
		}
	}
}

func (s *scan) rest() string { return s.src[s.at:] }

// blanks skips what may stand between two words. A line may go on after a backslash: a word ends at a blank only, so that
// this one cannot be within a word.
func (s *scan) blanks() error {
	for s.at < len(s.src) {
		switch {
		case s.src[s.at] == ' ' || s.src[s.at] == '\t':
			s.at++
		case strings.HasPrefix(s.rest(), "\\\n") && !s.heredoc && strings.TrimLeft(s.src[s.at+2:], " \t\n") != "":
			s.at += 2
		default:
			return nil
		}
	}
	return nil
}

// bare reports whether a byte may stand unquoted. None of these means anything to any shell, where it stands in a word but the first.
func bare(c byte, first bool) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("_@%+:,./-", c) >= 0 ||
		c == '=' && !first // zsh looks up the program of =word
}

func (s *scan) word() error {
	var text strings.Builder
	start := s.at
	for s.at < len(s.src) {
		c := s.src[s.at]
		switch {
		case c == ' ' || c == '\t' || c == '\n':
			s.words = append(s.words, token{start, s.at, text.String()})
			return nil
		case c == '\'':
			end := strings.IndexByte(s.src[s.at+1:], '\'')
			if end < 0 {
				return refuse("a single quote is not closed")
			}
			text.WriteString(s.src[s.at+1 : s.at+1+end])
			s.at += end + 2
		case c == '"':
			if err := s.double(&text); err != nil {
				return err
			}
		case c == '\\':
			// 'it'\''s' is how a quote is put into a quoted text; any other use of a backslash can be written in quotes.
			if s.at+1 == len(s.src) || strings.IndexByte(`'"`, s.src[s.at+1]) < 0 {
				return refuse("a backslash outside quotes; write the word in single quotes")
			}
			text.WriteByte(s.src[s.at+1])
			s.at += 2
		case bare(c, s.at == start):
			text.WriteByte(c)
			s.at++
		default:
			r, _ := utf8.DecodeRuneInString(s.rest())
			return refuse("%q outside quotes: only one plain call with literal words is allowed, without pipes, lists, expansions, redirections or comments; "+
				"put the text in single quotes, or give it with - and a heredoc whose delimiter is quoted", r)
		}
	}
	s.words = append(s.words, token{start, s.at, text.String()})
	return nil
}

// double reads a text in double quotes.
func (s *scan) double(text *strings.Builder) error {
	for s.at++; s.at < len(s.src); s.at++ {
		c := s.src[s.at]
		if c == '\\' && s.at+1 < len(s.src) && strings.IndexByte("$`\"\\\n", s.src[s.at+1]) >= 0 {
			s.at++
			if c = s.src[s.at]; c == '\n' {
				return refuse("a line goes on within a word; write the word in single quotes")
			}
			text.WriteByte(c)
			continue
		}
		switch c {
		case '"':
			s.at++
			return nil
		case '$', '`':
			return refuse("%q in double quotes would be expanded; write the text in single quotes, or give it with - and a heredoc whose delimiter is quoted", rune(c))
		}
		text.WriteByte(c)
	}
	return refuse("a double quote is not closed")
}

// redirection reads <<'DELIMITER'.
func (s *scan) redirection() error {
	if !strings.HasPrefix(s.rest(), "<<") || s.heredoc {
		return refuse("no redirection is allowed but one heredoc whose delimiter is quoted, such as <<'EOF'")
	}
	s.heredoc, s.operator = true, s.at
	s.at += 2
	for s.at < len(s.src) && (s.src[s.at] == ' ' || s.src[s.at] == '\t') {
		s.at++
	}
	d := token{start: s.at}
	if s.at < len(s.src) && (s.src[s.at] == '\'' || s.src[s.at] == '"') {
		if n := strings.IndexByte(s.src[s.at+1:], s.src[s.at]); n > 0 {
			d.text = s.src[s.at+1 : s.at+1+n]
			s.at += n + 2
		}
	}
	if d.text == "" || len(d.text) > 64 || strings.ContainsFunc(d.text, notOfName) || s.at < len(s.src) && strings.IndexByte(" \t\n", s.src[s.at]) < 0 {
		return refuse("a heredoc needs a quoted delimiter of letters and digits, such as <<'EOF': nothing in it is expanded then")
	}
	d.end = s.at
	s.delimiter = d
	return nil
}

func notOfName(c rune) bool {
	return c != '_' && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (c < '0' || c > '9')
}

// tail reads what stands behind the line of the call: the heredoc, and nothing else.
func (s *scan) tail() error {
	if !s.heredoc {
		if strings.Trim(s.rest(), " \t\n") != "" {
			return refuse("more than one command; only one call of oc-delegate or oc-job is allowed at a time")
		}
		return nil
	}
	if s.words[len(s.words)-1].end > s.delimiter.end && strings.Contains(s.src[s.operator:s.at], "\n") {
		return refuse("a word behind the heredoc's delimiter holds a line break; put it before <<")
	}
	s.body = s.at + 1
	for at := s.body; at < len(s.src); {
		line, _, more := strings.Cut(s.src[at:], "\n")
		if line == s.delimiter.text {
			s.done = at
			if strings.Trim(s.src[at+len(line):], " \t\n") != "" {
				return refuse("something stands behind the heredoc; only one call of oc-delegate or oc-job is allowed at a time")
			}
			return nil
		}
		if at += len(line) + 1; !more {
			break
		}
	}
	return refuse("the heredoc does not end: a line that is %s alone is missing", s.delimiter.text)
}
