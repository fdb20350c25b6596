package digest

import (
	"reflect"
	"strings"
	"testing"
)

const said = "Key decisions:\n- kept the old API\n\nContext for the next step:\nThe parser is done; the writer is not."

func TestParseFindsABlock(t *testing.T) {
	list := "Files changed:\n- a.go: new parser\n- `b/c.go` – tests\n\n"
	want := Digest{Text: said, Files: []string{"a.go: new parser", "`b/c.go` – tests"}}
	for name, reply := range map[string]string{
		"fence":                    "Done.\n\n```\n===DIGEST===\n" + list + said + "\n```\n",
		"fence with a language":    "```text\n===DIGEST===\n" + list + said + "\n```",
		"tildes":                   "~~~\n===DIGEST===\n" + list + said + "\n~~~\nbye",
		"no fence":                 "Done.\n===DIGEST===\n" + list + said,
		"fence never closed":       "Done.\n```\n===DIGEST===\n" + list + said + "\n",
		"fence after the marker":   "===DIGEST===\n```\n" + list + said + "\n```\nThat is all.",
		"blank line in the fence":  "```\n\n===DIGEST===\n" + list + said + "\n```",
		"bold":                     "**===DIGEST===**\n" + list + said,
		"heading":                  "## ===DIGEST===\n" + list + said,
		"spaces and small letters": "=== Digest ===\n" + list + said,
		"end marker":               "===DIGEST===\n" + list + said + "\n===END DIGEST===\nmore prose",
		"CRLF":                     strings.ReplaceAll("```\n===DIGEST===\n"+list+said+"\n```\n", "\n", "\r\n"),
		"quotation":                "> ===DIGEST===\n> " + strings.ReplaceAll(list+said, "\n", "\n> "),
		"the last of several":      "```\n===DIGEST===\nKey decisions:\n- an old one\n```\ntext\n```\n===DIGEST===\n" + list + said + "\n```",
		"without fences, the last": "===DIGEST===\n- an old one\n===DIGEST===\n" + list + said,
		"a fence only later":       "===DIGEST===\n- an old one\n\n```\n===DIGEST===\n" + list + said + "\n```\nbehind",
		"the last is empty":        "===DIGEST===\n" + list + said + "\n===DIGEST===\n\n",
		"the contract comes after": "```\n===DIGEST===\n" + list + said + "\n```\n\n" + Contract(),
		"the form comes after":     "===DIGEST===\n" + list + said + "\n\n```\n" + template + "\n```\n",
		"the contract was quoted":  "I was told: " + Contract() + "\n\nHere it is:\n\n```\n===DIGEST===\n" + list + said + "\n```",
		"code holds the marker":    "```\n===DIGEST===\n" + list + said + "\n```\nThe constant is:\n```go\nconst m = `\n===DIGEST===\nnot this`\n```",
		"an open fence before":     "```go\nfunc main() {}\n```\n```\n===DIGEST===\n" + list + said + "\n```",
		"headings in Markdown":     "## Digest\n" + list + said,
		"a title in bold":          "**Digest:**\n\n" + list + said,
		"a long reply before":      strings.Repeat("word ", TailSize) + "\n===DIGEST===\n" + list + said,
	} {
		got, ok := Parse(reply)
		if !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v\n got %+q\nwant %+q", name, ok, got, want)
		}
	}
}

func TestParseFindsNone(t *testing.T) {
	for name, reply := range map[string]string{
		"empty":                    "",
		"prose":                    "I changed a.go and it works.",
		"the contract itself":      Contract(),
		"the follow-up itself":     Repair(),
		"the form, not filled in":  "```\n" + template + "\n```",
		"the form as a quotation":  "> " + strings.ReplaceAll(template, "\n", "\n> "),
		"the form without signs":   "===DIGEST===\n**Files changed**\n**Key decisions**\n",
		"marker only":              "===DIGEST===",
		"an empty fence":           "```\n===DIGEST===\n\n```",
		"only punctuation":         "===DIGEST===\n---\n- \n***\n",
		"the marker in a sentence": "The block opens with ===DIGEST=== and lists the files.",
		"the marker in code":       "```go\nconst marker = \"===DIGEST===\"\n```",
		"a line of code":           "```sh\ncat <<E\n===DIGEST===\nFiles changed:\n- x\nE\n```\n",
		"a heading, no section":    "## Digest\nThe digest of the message is SHA-256.",
		"the word alone":           "Digest\nFiles changed:\n- a",
		"another marker":           "===SUMMARY===\nFiles changed:\n- a",
	} {
		if got, ok := Parse(reply); ok {
			t.Errorf("%s: found %+q", name, got)
		}
	}
}

func TestParseKeepsWhatIsInsideABlock(t *testing.T) {
	reply := "```\n===DIGEST===\nFindings:\n- a.go:3 leaks\n```go\nx := 1\n```\n- b.go:4 too\n```\nbehind"
	got, ok := Parse(reply)
	if want := "Findings:\n- a.go:3 leaks\n```go\nx := 1\n```\n- b.go:4 too"; !ok || got.Text != want || got.Files != nil {
		t.Errorf("got %+q, %v", got, ok)
	}
	got, ok = Parse("===DIGEST=== all in one line")
	if !ok || got.Text != "all in one line" {
		t.Errorf("got %+q, %v", got, ok)
	}
	got, ok = Parse("===DIGEST===\n### Files changed: a.go, b.go\n### Key decisions\nnone needed")
	if !ok || !reflect.DeepEqual(got.Files, []string{"a.go, b.go"}) || got.Text != "### Key decisions\nnone needed" {
		t.Errorf("got %+q, %v", got, ok)
	}
}

func TestABlockThatNeverEndsIsBounded(t *testing.T) {
	got, ok := Parse("===DIGEST===\nx " + strings.Repeat("é", 100<<10))
	if !ok || len(got.Text) > 2*blockLimit || !strings.HasPrefix(got.Text, "x é") {
		t.Errorf("%d bytes, %v", len(got.Text), ok)
	}
}

func TestReadTail(t *testing.T) {
	text := strings.Repeat("é", 100) + "end"
	size := int64(len(text))
	for n, want := range map[int64]string{0: "", 3: "end", 4: "end", 5: "éend", size: text, size + 9: text} {
		got, err := ReadTail(strings.NewReader(text), size, n)
		if err != nil || got != want {
			t.Errorf("%d: %q, %v", n, got, err)
		}
	}
	if _, err := ReadTail(strings.NewReader("short"), 100, 50); err == nil {
		t.Error("a text that is shorter than it should be gave no error")
	}
}

func TestAbridge(t *testing.T) {
	for _, tc := range []struct {
		head, tail string
		size       int64
		want       string
	}{
		{"abcdef", "abcdef", 6, "abcdef"},
		{"abc", "def", 6, "abcdef"},
		{"abcd", "cdef", 6, "abcdef"},
		{"abc", "xyz", 20, "abc\n[…]\nxyz"},
		{"", "xyz", 3, "xyz"},
		{"abc", "", 3, "abc"},
	} {
		if got := Abridge(tc.head, tc.tail, tc.size); got != tc.want {
			t.Errorf("%q %q %d: %q", tc.head, tc.tail, tc.size, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("===DIGEST===\nFiles changed:\n- a\n```\nb")
	f.Add(Contract())
	f.Add("> ```\n> ===DIGEST===\n~~~\n```x\n")
	f.Fuzz(func(t *testing.T, reply string) {
		d, ok := Parse(reply)
		if ok && d.Text == "" && len(d.Files) == 0 {
			t.Errorf("a block that says nothing was found in %q", reply)
		}
		if !ok && (d.Text != "" || d.Files != nil) {
			t.Errorf("no block, and yet %+q", d)
		}
		if strings.ContainsAny(reply, "=") {
			return
		}
		filled := reply + "\n===DIGEST===\nKey decisions: 1"
		if _, ok := Parse(filled); !ok && !strings.Contains(reply, "```") && !strings.Contains(reply, "~~~") {
			t.Errorf("no block was found in %q", filled)
		}
	})
}
