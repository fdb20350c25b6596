package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/log"

	"opencode-delegate/internal/plain"
	"opencode-delegate/internal/redact"
)

// A speaker is everything that this program says on stderr but the signal line: its name, a colon, one line in lower
// case without a full stop. What it quotes is cleaned of control characters and secrets first.
type speaker struct {
	log *log.Logger
	set *redact.Set
}

func newSpeaker(w io.Writer, set *redact.Set) speaker {
	// The library must not see a terminal: it would ask it for its colours, and wait five seconds for one that does not answer.
	return speaker{log.NewWithOptions(struct{ io.Writer }{w}, log.Options{Prefix: "oc-delegate"}), set}
}

// lineLimit is the number of code points of a spoken line.
const lineLimit = 1000

func (s speaker) say(format string, args ...any) {
	s.log.Print(plain.Line(s.set.String(fmt.Sprintf(format, args...)), lineLimit))
}

// lines says each text on a line of its own behind a label such as "hint".
func (s speaker) lines(label string, texts []string) {
	for _, t := range texts {
		if strings.TrimSpace(t) != "" {
			s.say("%s: %s", label, t)
		}
	}
}
