package review

import (
	"encoding/json"
	"strconv"
	"strings"

	"opencode-delegate/internal/lazyregexp"
)

// TailSize is how many bytes of the end of a reply [Parse] looks at.
const TailSize = 1 << 20

// attempts bounds how many places of a reply are tried.
const attempts = 16

// form is what an answer looks like. It is no JSON itself, so that a reply that only repeats it is no answer.
const form = `{"findings": [
  {"file": "<path as the material has it>", "line": <number>, "severity": "<critical, high, medium or low>",
   "claim": "<what goes wrong, and in which case>", "evidence": "<what you read, and where>", "suggestion": "<the smallest repair>"}
]}`

// Contract is the text that is appended to a question.
func Contract() string {
	return "Finish your last reply with exactly one JSON object of this form, in a code fence, and nothing behind it:\n\n```json\n" + form + "\n```\n\n" +
		"One entry for each finding, the most severe first; when there is none the list is empty. `file` is one of the files under review and `line` a line of it, as it is after the change " +
		"or, of what was taken away, as it was before: each is looked up, and an entry whose place does not exist is thrown away. " +
		"A fault that shows elsewhere goes to the line that causes it, and the other place into its evidence. " +
		"Each text is one line of plain words, the claim at most 300 characters, evidence and suggestion at most 600. In JSON a quotation mark within a text is written \\\", a backslash \\\\.\n"
}

// Repair is the prompt that asks for an answer that is missing.
func Repair() string {
	return "Your reply lacked the JSON object at its end, or that was no valid JSON. Do no further work and use no tools. Answer with nothing but this object about what you have found so far, in a code fence:\n\n```json\n" +
		form + "\n```\n\nWhen there is no finding the list is empty.\n"
}

// A Claim is a finding as the worker wrote it.
type Claim struct {
	File       string `json:"file"`
	Line       number `json:"line"`
	Severity   string `json:"severity"`
	Claim      string `json:"claim"`
	Evidence   string `json:"evidence"`
	Suggestion string `json:"suggestion"`
}

// A number is a line, which some write as a text, or as a stretch of which it is the first.
type number int64

func (n *number) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	text := strings.TrimLeft(strings.Trim(string(b), `"`), "Ll: ")
	if i := strings.IndexFunc(text, func(r rune) bool { return r < '0' || r > '9' }); i >= 0 {
		text = text[:i]
	}
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		v = -1 // no line that there is
	}
	*n = number(v)
	return nil
}

var opening = lazyregexp.New(`\{\s*"findings"\s*:`)

// Parse finds the last answer in a reply: a JSON object whose first member is the list of findings, whatever stands around it. It looks at the
// last [TailSize] bytes. An entry that is no finding by its form comes back as an empty claim.
func Parse(text string) (claims []Claim, ok bool) {
	text = text[max(0, len(text)-TailSize):]
	starts := opening().FindAllStringIndex(text, -1)
	for i := len(starts) - 1; i >= max(0, len(starts)-attempts); i-- {
		var answer struct {
			Findings []json.RawMessage `json:"findings"`
		}
		if err := json.NewDecoder(strings.NewReader(text[starts[i][0]:])).Decode(&answer); err != nil || answer.Findings == nil {
			continue
		}
		for _, raw := range answer.Findings {
			var c Claim
			if json.Unmarshal(raw, &c) != nil {
				c = Claim{}
			}
			claims = append(claims, c)
		}
		return claims, true
	}
	return nil, false
}
