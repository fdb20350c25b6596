package testmodel

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// digestMark opens the block that a digest run asks for.
const digestMark = "===DIGEST==="

var (
	asksToWrite = regexp.MustCompile(`(?i)\b(create|write|add|make|implement|generate)\b`)
	fileName    = regexp.MustCompile(`[\w][\w./-]*\.[A-Za-z]\w{0,7}\b`)
)

// believable is what a neutral model does without a directive: one small piece of work that fits the task, so that the
// whole way through opencode and its tools is taken.
func (d dialogue) believable() *Scenario {
	task, ask, _ := strings.Cut(d.user(), digestMark)
	task, _, _ = strings.Cut(strings.TrimSpace(task), "\n\n") // the first paragraph is the task, the rest are rules
	wantsDigest := ask != "" || strings.Contains(d.user(), digestMark)
	final := func(text string, block []string, context string) Step {
		if wantsDigest {
			text += "\n\n" + digestBlock(block, context)
		}
		return Step{Text: text}
	}
	name := fileName.FindString(task)
	if name != "" && asksToWrite.MatchString(task) && slices.Contains(d.tools, "write") {
		return script("worker-write",
			call("write", map[string]any{"filePath": name, "content": content(name)}),
			final(fmt.Sprintf("I created %s and left every other file as it was.", name),
				[]string{"Files changed:", "- " + name + ": new, a starting point", "Key decisions:", "- Kept it as small as the task allows."},
				name+" exists now and nothing refers to it yet."))
	}
	if len(d.users) > 1 && wantsDigest {
		return script("worker-digest", final("Here is the block.", nil, "The work of the earlier messages is complete."))
	}
	if !slices.Contains(d.tools, "read") {
		return script("worker-talk", final("I have no tool for reading, so this is all that I can say.", nil, "Nothing was read."))
	}
	// Not glob: it needs ripgrep, which opencode fetches from the network when the machine has none.
	steps := []Step{call("read", map[string]any{"filePath": "."})}
	entries := listed(d.results)
	findings := []string{"Findings:", fmt.Sprintf("- Entries of the directory: %d.", len(entries))}
	if file := worthReading(entries); file != "" {
		steps = append(steps, call("read", map[string]any{"filePath": file}))
		findings = append(findings, "- "+file+" says what it is about.")
	}
	steps = append(steps, final("I looked through the project.", findings, "The project was read and nothing was changed."))
	return script("worker-read", steps...)
}

func script(name string, steps ...Step) *Scenario {
	return &Scenario{Name: name, Answers: [][]Step{steps}}
}

// listed returns the entries of a directory in the first tool result; directories end in a slash.
func listed(results []string) []string {
	if len(results) == 0 {
		return nil
	}
	_, rest, ok := strings.Cut(results[0], "<entries>\n")
	if !ok {
		return nil
	}
	var entries []string
	for l := range strings.Lines(rest) {
		if l = strings.TrimSpace(l); l == "" || strings.HasPrefix(l, "<") {
			break
		}
		if l != ".git/" && l != ".git" {
			entries = append(entries, l)
		}
	}
	return entries
}

// worthReading picks a README, else the first file.
func worthReading(entries []string) string {
	first := ""
	for _, e := range entries {
		switch {
		case strings.HasSuffix(e, "/"):
		case strings.HasPrefix(strings.ToLower(e), "readme"):
			return e
		case first == "":
			first = e
		}
	}
	return first
}

func content(name string) string {
	switch path.Ext(name) {
	case ".go":
		return "package main\n\nimport \"fmt\"\n\nfunc main() {\n\tfmt.Println(\"hello\")\n}\n"
	case ".py":
		return "print(\"hello\")\n"
	case ".md":
		return "# Notes\n\nWritten by the scripted model.\n"
	case ".sh":
		return "#!/bin/sh\necho hello\n"
	}
	return "hello from the scripted model\n"
}

// digestBlock is the block that a good worker ends with, in a fence as it is asked for.
func digestBlock(lines []string, context string) string {
	return "```\n" + digestMark + "\n" + strings.Join(append(lines, "Context for the next step:", context), "\n") + "\n```"
}
