package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"opencode-delegate/internal/cli"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/plain"
	"opencode-delegate/plugin"
)

// A kept is part of a verb whose words may come from a command of the plugin: the hook that sees them keeps them as data, since what
// Claude Code pastes into a shell line may be anything.
type kept struct {
	ArgsFromHook bool `hidden:"" help:"Take the words that the plugin's hook has kept."`
}

func (k kept) fromHook() bool { return k.ArgsFromHook }

var errAlone = errors.New("--args-from-hook stands alone behind the verb; leave the other words out")

const (
	// shownLimit is the number of code points of what stands in the context of the conversation after a command: with the command itself and
	// what started the job it stays below what a delegation may cost.
	shownLimit = 6000
	// saidLimit is that of what is said beside the answer, and verdictLimit that of the line before it.
	saidLimit    = 1500
	verdictLimit = 400
)

// fromHook runs a verb for a command of Claude Code, which drops a prompt whose program ends with another code than 0, shows only the
// beginning of much output, and reads files that a live "@" names in it: so the verdict comes first, and all of it is short and neutral.
func fromHook(a *cli.App, verb string, others []string) int {
	var out, speech excerpt
	note := ""
	exit := func() int {
		b := a.Redirected(&out, &speech)
		if len(others) != 1 {
			return refuse(b, fault.New(fault.Usage, "%w", errAlone))
		}
		text, ok := plugin.Arguments(a, verb)
		if !ok && verb == "cancel" {
			return refuse(b, fault.New(fault.Usage, "the command's arguments did not arrive, so nothing was cancelled; type the command again").
				With("/opencode:setup tells whether the plugin is whole"))
		}
		if !ok {
			note = "No arguments arrived from the command; this is the answer without any.\n"
		}
		words, err := plugin.Words(text)
		if err != nil {
			return refuse(b, fault.New(fault.Usage, "%w", err))
		}
		if len(words) == 1 && words[0] == "--help" {
			return run(b, []string{verb, "--help"})
		}
		return carryOut(b, append([]string{verb}, words...))
	}()
	io.WriteString(a.Stdout, plain.NoMentions(shown(verb, exit, note, &out, speech.String())))
	return 0
}

// shown is a verdict, an answer and what was said beside it.
func shown(verb string, exit int, note string, out *excerpt, speech string) string {
	s := cli.Signal{Status: fault.ByExit(exit), Exit: exit}
	var said []string
	for line := range strings.Lines(speech) {
		if signal, ok := strings.CutPrefix(line, "OC_SIGNAL "); ok {
			json.Unmarshal([]byte(signal), &s) // ours; what is missing stays as it is
			continue
		}
		if line = strings.TrimPrefix(strings.TrimSpace(line), "oc-job: "); line != "" {
			said = append(said, line)
		}
	}
	if s.Reason == "" && exit != 0 && len(said) > 0 {
		s.Reason = said[0]
	}
	if len(said) > 0 && said[0] == s.Reason {
		said = said[1:]
	}
	what := "oc-job " + verb
	if s.Job != "" {
		what = "job " + s.Job
	}
	if s.Reason != "" {
		what += ": " + s.Reason
	}
	head := plain.Line(fmt.Sprintf("%s (exit %d), %s", s.Status, s.Exit, what), verdictLimit) + "\n" + note
	tail := ""
	if len(said) > 0 {
		tail = clipped(strings.Join(said, "\n"), saidLimit) + "\n"
	}
	rest := "oc-job " + verb + " at a shell prints all of it"
	if s.Record != "" {
		rest = "the rest is in " + plain.Line(s.Record, 300)
	}
	body := out.upTo(shownLimit-len([]rune(head+tail))-2, rest)
	for _, part := range []*string{&body, &tail} {
		if *part != "" {
			*part = "\n" + *part
		}
	}
	return head + body + tail
}

func clipped(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// excerptLimit is how much of an output is kept, in bytes: more than is shown.
const excerptLimit = 64 << 10

// An excerpt keeps the beginning of what is written to it.
type excerpt struct {
	kept  []byte
	total int64
}

func (e *excerpt) Write(p []byte) (int, error) {
	e.kept = append(e.kept, p[:min(len(p), excerptLimit-len(e.kept))]...)
	e.total += int64(len(p))
	return len(p), nil
}

func (e *excerpt) String() string { return strings.ToValidUTF8(string(e.kept), "") }

// upTo is at most so many code points of it, ending with a newline; where something is missing a line says where it is.
func (e *excerpt) upTo(most int, rest string) string {
	text := strings.TrimRight(plain.Clean(e.String()), "\n")
	if text == "" {
		return ""
	}
	if int64(len(e.kept)) == e.total && len([]rune(text)) < most {
		return text + "\n"
	}
	mark := fmt.Sprintf("\n[cut: %d bytes in all; %s]\n", e.total, rest)
	if r := []rune(text); len(r) > most-len([]rune(mark)) {
		text = string(r[:max(0, most-len([]rune(mark)))])
	}
	return text + mark
}
