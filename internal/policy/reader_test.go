package policy

import (
	"strings"
	"testing"
)

// Each of the two readers would be enough for nearly all of the corpus. Here each stands alone, so that a hole in one is seen
// although the other one covers it.

func TestOurReaderAlone(t *testing.T) {
	g := newGround(t)
	for _, b := range shellBypasses {
		s, err := scanCommand(g.fill(b.command))
		if err == nil && b.does != "passes "+s.words[1].text { // a flag is what it is in quotes too
			t.Errorf("%q (%s) is read as %+v", b.command, b.why, s.words)
		}
	}
	for _, command := range legitimate() {
		if _, err := scanCommand(g.fill(command)); err != nil {
			t.Errorf("%q: %v", command, err)
		}
	}
}

// naive is how somebody reads a command who knows nothing of shells: words between blanks, quotes taken away.
func naive(src string) *scan {
	s := &scan{src: src}
	for at := 0; at < len(src); {
		if strings.IndexByte(" \t\n", src[at]) >= 0 {
			at++
			continue
		}
		n := strings.IndexAny(src[at:], " \t\n")
		if n < 0 {
			n = len(src) - at
		}
		s.words = append(s.words, token{at, at + n, strings.Trim(src[at:at+n], `'"`)})
		at += n
	}
	return s
}

// TestTheParserAlone: it agrees with no naive reading of a command that uses the shell.
func TestTheParserAlone(t *testing.T) {
	g := newGround(t)
	// These are the words that they seem to be, to bash; what is wrong with them is none of the parser's business.
	words := []string{"=0", "^x", "caf\u00e9", "\u2010", "\u043e", "\u200b", "\u00a0", "OC-JOB", "./oc-job", "{project}/oc-job", "env ", "nohup ", "timeout ", "sudo ", "xargs ", "exec oc-job", "command ",
		"eval oc-job", "\"oc-job\"", "oc-job.sh", "oc-delegate2", "touch x", "'a\x1b", "'a\b", "'a\u202e", "'a\u2066", "'a\u009b"}
	for _, b := range shellBypasses {
		known := false
		for _, w := range words {
			known = known || strings.HasPrefix(b.command, w) || strings.HasPrefix(b.command, "oc-delegate "+w) || strings.HasPrefix(b.command, "oc") && w[0] > 0x7f && strings.Contains(b.command, w)
		}
		err := naive(g.fill(b.command)).confirm()
		if err == nil && !known {
			t.Errorf("%q (%s) is agreed to", b.command, b.why)
		}
	}
}

// TestTheReadersHaveToAgree: whatever our reader would take a word or a heredoc for, the parser has the last word.
func TestTheReadersHaveToAgree(t *testing.T) {
	const command = "oc-delegate --digest 'a b' - <<'EOF'\nthe $text\nEOF\n"
	for name, spoil := range map[string]func(*scan){
		"another word":      func(s *scan) { s.words[2].text = "a  b" },
		"another place":     func(s *scan) { s.words[2].end++ },
		"a word less":       func(s *scan) { s.words = s.words[:3] },
		"a word more":       func(s *scan) { s.words = append(s.words, token{}) },
		"no heredoc":        func(s *scan) { s.heredoc = false },
		"another operator":  func(s *scan) { s.operator++ },
		"another delimiter": func(s *scan) { s.delimiter.end-- },
		"a shorter body":    func(s *scan) { s.done-- },
		"an earlier body":   func(s *scan) { s.body-- },
		"another text":      func(s *scan) { s.src += "; oc-job list" },
		"the background":    func(s *scan) { s.src = strings.Replace(s.src, "EOF'\n", "EOF'&\n", 1); s.body++; s.done++ },
		"an expansion":      func(s *scan) { s.src = strings.Replace(s.src, "<<'EOF'", "<<EOF  ", 1) },
	} {
		s, err := scanCommand(command)
		must(t, err)
		must(t, s.confirm())
		spoil(s)
		if s.confirm() == nil {
			t.Errorf("%s is agreed to", name)
		}
	}
}

// TestTheParserSeesWhatStandsAround: a reader that overlooks what stands before or behind the words is not believed.
func TestTheParserSeesWhatStandsAround(t *testing.T) {
	const words = "oc-delegate x"
	for _, around := range [][2]string{{"", ""}, {"! ", ""}, {"X=1 ", ""}, {"time ", ""}, {"coproc ", ""}, {"exec ", ""}, {"", ";"}, {"", " &"}, {"", " # c"}, {"", "\n# c"}, {"# c\n", ""},
		{"", " >y"}, {"<y ", ""}, {"", " | y"}, {"", "\ny"}, {"(", ")"}, {"{ ", "; }"}, {"y;", ""}} {
		s := &scan{src: around[0] + words + around[1]}
		at := len(around[0])
		s.words = []token{{at, at + 11, "oc-delegate"}, {at + 12, at + 13, "x"}}
		if err := s.confirm(); (err == nil) != (around == [2]string{}) {
			t.Errorf("%q: %v", s.src, err)
		}
	}
	for _, op := range []string{"<<", "3<<", "<<-", "<<<", "<>"} {
		s := &scan{src: "oc-delegate " + op + "'EOF'\na\nEOF\n", heredoc: true}
		s.words = []token{{0, 11, "oc-delegate"}}
		s.operator = strings.Index(s.src, "<")
		at := strings.Index(s.src, "'")
		s.delimiter = token{at, at + 5, "EOF"}
		s.body = strings.Index(s.src, "\n") + 1
		s.done = s.body + 2
		if err := s.confirm(); (err == nil) != (op == "<<") {
			t.Errorf("%q: %v", s.src, err)
		}
	}
}

func TestLongCommandsBelongIntoFiles(t *testing.T) {
	for n, want := range map[int]bool{commandLimit: true, commandLimit + 1: false} {
		command := "oc-delegate '" + strings.Repeat("a", n-len("oc-delegate ''")) + "'"
		if _, err := Words(command); (err == nil) != want {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	for n, want := range map[int]bool{wordLimit: true, wordLimit + 1: false} {
		if _, err := Words("oc-delegate" + strings.Repeat(" a", n-1)); (err == nil) != want {
			t.Errorf("%d words: %v", n, err)
		}
	}
}
