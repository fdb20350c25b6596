package policy

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Words are the words of a command that is one simple call of ours, as the program will get them; its name is the first. Any other
// command is an error. Two readers have to agree on each word: our own, which knows nothing of the shell but quotes, and a parser
// of the whole language.
func Words(command string) ([]string, error) {
	s, err := scanCommand(command)
	if err != nil {
		return nil, err
	}
	if err := s.confirm(); err != nil {
		return nil, err
	}
	argv := make([]string, len(s.words))
	for i, w := range s.words {
		argv[i] = w.text
	}
	return argv, nil
}

// confirm has the command parsed as bash does, and compares.
func (s *scan) confirm() error {
	different := refuse("the command cannot be read with certainty; write one plain call with single quotes")
	parser := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true))
	file, err := parser.Parse(strings.NewReader(s.src), "")
	if err != nil || len(file.Stmts) != 1 || len(file.Last) > 0 {
		return different
	}
	st := file.Stmts[0]
	call, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || st.Negated || st.Semicolon.IsValid() || len(st.Comments) > 0 ||
		len(call.Assigns) > 0 || len(call.Args) != len(s.words) {
		return different
	}
	for i, w := range call.Args {
		if text, ok := literal(w); !ok || text != s.words[i].text || !s.stands(w, s.words[i]) {
			return different
		}
	}
	if !s.heredoc {
		if len(st.Redirs) > 0 {
			return different
		}
		return nil
	}
	if len(st.Redirs) != 1 {
		return different
	}
	r := st.Redirs[0]
	if r.N != nil || r.Op != syntax.Hdoc || int(r.OpPos.Offset()) != s.operator || !s.stands(r.Word, s.delimiter) {
		return different
	}
	var body strings.Builder
	if r.Hdoc != nil {
		for _, part := range r.Hdoc.Parts {
			l, ok := part.(*syntax.Lit)
			if !ok {
				return different
			}
			body.WriteString(l.Value)
		}
	}
	if body.String() != s.src[s.body:s.done] {
		return different
	}
	return nil
}

func (s *scan) stands(w *syntax.Word, t token) bool {
	return int(w.Pos().Offset()) == t.start && int(w.End().Offset()) == t.end
}

// literal is a word without its quotes; one in which anything is expanded is none.
func literal(w *syntax.Word) (string, bool) {
	var b strings.Builder
	for _, part := range w.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			var text strings.Builder
			unescape(&text, p.Value, `'"`)
			if strings.ContainsAny(text.String(), "*?[]{}~\\") { // globs, braces and tildes are plain to the parser
				return "", false
			}
			b.WriteString(text.String())
		case *syntax.SglQuoted:
			if p.Dollar {
				return "", false
			}
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			if p.Dollar {
				return "", false
			}
			for _, inner := range p.Parts {
				l, ok := inner.(*syntax.Lit)
				if !ok {
					return "", false
				}
				unescape(&b, l.Value, "$`\"\\")
			}
		default:
			return "", false
		}
	}
	return b.String(), true
}

// unescape writes s without the backslashes before a byte of special.
func unescape(b *strings.Builder, s, special string) {
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte(special, s[i+1]) >= 0 {
			i++
		}
		b.WriteByte(s[i])
	}
}
