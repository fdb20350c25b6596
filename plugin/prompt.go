package plugin

import (
	"strings"
	"unicode"

	"opencode-delegate/internal/call"
	"opencode-delegate/internal/job"
)

// wakeMark begins the prompt that the host itself makes when something has ended that it waits for, such as Watch.
const wakeMark = "<task-notification>"

// hint is what a prompt of the right kind adds to the context, whatever the prompt says.
const hint = "This looks like work for a worker: whole, bounded, and checkable by a command. The skill opencode says when handing it over with oc-delegate pays."

// prompted tells of jobs that have ended since the last prompt. In the prompt by which Watch wakes the model stand those that it tells of:
// they are known then, and are not told again.
func (h *hook) prompted() error {
	text := ""
	wake := strings.HasPrefix(h.in.Prompt, wakeMark)
	if !wake && h.on("nudge", false) && candidate(h.in.Prompt, h.phrases()) {
		text = hint
	}
	tell := func(news string) error {
		return h.tell(answer{Specific: &specific{Event: "UserPromptSubmit", Context: strings.TrimSpace(news + "\n\n" + text)}})
	}
	store, err := h.newsStore()
	if store == nil {
		return oneLine(err, tell(""))
	}
	// Should Claude Code have changed the session without a word, jobs of both are one caller's from here on.
	lerr := oneLine(h.link(), h.begins(store))
	if wake {
		for _, id := range noticedIn(h.in.Prompt) {
			store.Heard(h.in.Session, id)
		}
	}
	told := false
	err = store.FreshNews(h.ctx, h.in.Session, named, func(ended []job.View, more int) error {
		told = true
		return tell(notice(ended, more))
	})
	if !told {
		err = oneLine(err, tell(""))
	}
	return oneLine(lerr, err)
}

// newsStore is where the news of the session come from; nil without an error when the user wants none.
func (h *hook) newsStore() (*job.Store, error) {
	if !h.on("notify", true) || !call.IsSession(h.in.Session) {
		return nil, nil
	}
	return h.Store()
}

// phrases are those that make a prompt a candidate: the user's own, else ours. Each is words that follow one another in a sentence, with up
// to four others between two of them.
func (h *hook) phrases() []string {
	if own, err := call.Nudges(h.environment()); err == nil && own != nil { // doctor tells of the error
		return own
	}
	return candidates
}

var candidates = []string{
	"migrate all", "migrate every", "migrate from to", "convert all", "convert every", "replace all", "replace every", "rename across", "rename everywhere",
	"rename all", "update all", "update every", "fix all", "remove all", "port to", "translate all",
	"generate tests", "write tests for", "add tests for", "generate docs", "document all", "document every",
	"review diff", "review changes", "review branch", "review pull request",
	"summarise all", "summarize all", "summarise whole", "summarize whole", "read all", "read whole", "read every", "go through all", "go through every",
	"research how", "research which", "research what", "research whether", "research the", "find every", "list every", "across the codebase", "across the repository",
}

const (
	// looked is how much of a prompt is looked at, in bytes: a task says early what it is.
	looked = 4 << 10
	// between is how many words may stand between two of a phrase.
	between = 4
	// few is up to how many words a question is a short one.
	few = 14
)

// candidate reports whether a prompt looks like work for a worker. Commands and short questions do not.
func candidate(prompt string, phrases []string) bool {
	prompt = strings.TrimSpace(prompt)
	if strings.HasPrefix(prompt, "/") || strings.HasPrefix(prompt, "!") || strings.HasPrefix(prompt, "#") {
		return false
	}
	if len(strings.Fields(prompt[:min(len(prompt), looked)])) <= few && strings.HasSuffix(prompt, "?") {
		return false
	}
	for _, sentence := range sentences(prompt[:min(len(prompt), looked)]) {
		for _, p := range phrases {
			if follows(sentence, strings.Fields(strings.ToLower(p))) {
				return true
			}
		}
	}
	return false
}

// sentences are the words of a text, in lower case, sentence by sentence.
func sentences(text string) (all [][]string) {
	for _, s := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return strings.ContainsRune(".!?;\n", r) }) {
		words := strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' && r != '_' })
		if len(words) > 1 {
			all = append(all, words)
		}
	}
	return all
}

// follows reports whether words hold those of a phrase in their order, none far from the one before it.
func follows(words, phrase []string) bool {
	if len(phrase) == 0 {
		return false
	}
	for start := range words {
		at, found := start, 0
		for i := start; i < len(words) && found < len(phrase) && (found > 0 || i == start) && i-at <= between+1; i++ {
			if words[i] == phrase[found] {
				at = i
				found++
			}
		}
		if found == len(phrase) {
			return true
		}
	}
	return false
}
