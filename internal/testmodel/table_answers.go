package testmodel

import (
	"strings"
	"time"
)

// answers are the scenarios of words alone.
func answers() []Scenario {
	const esc = "\x1b"
	return []Scenario{
		say("text", "plain text", "Hello from the mock model."),
		say("text-multi", "several lines, quotes, unicode", "line one\nline \"two\" with 'quotes'\n\n```go\nfmt.Println(\"x\")\n```\nünïcödé ✓ 日本語\n"),
		say("empty", "no content, finish stop", ""),
		do("empty-usage0", "no content, zero usage", Step{Tokens: -1}),
		do("no-usage", "text, and the provider sends no usage", Step{Text: "No usage here.", NoUsage: true}),
		say("whitespace", "only white space", " \n\t\n "),
		do("reasoning", "reasoning, then text", Step{Reasoning: "Let me think about it. ", Text: "Answer after reasoning."}),
		do("reasoning-only", "reasoning and nothing else", Step{Reasoning: "I only think and never answer."}),
		do("length", "cut off: finish_reason length", Step{Text: "This answer is cut o", Finish: "length"}),
		do("content-filter", "finish_reason content_filter", Step{Finish: "content_filter"}),
		say("json", "structured output as text", `{"status":"ok","files":["a.txt"],"count":1}`),
		say("json-fenced", "structured output in a fence, with chatter", "Here is the result:\n```json\n{\"status\":\"ok\",\"count\":1}\n```\nDone."),
		say("ansi", "ANSI and control characters in the text", "red:"+esc+"[31mRED"+esc+"[0m title:"+esc+"]0;pwned\a bell:\a bs:\b\b cr:\rover nul:\u0000 del:\x7f c1:\u009b31m bidi:\u202egnp.exe end"),
		say("prose-quota", "an honest answer that talks of quotas, keys and limits", "The client treats HTTP 429 as a rate limit and 402 as insufficient credits. When the usage limit is reached it prints \"quota exceeded\"; an invalid API key gives 401 Unauthorized. No change was needed."),
		say("long", "1.2 MB of text", strings.Repeat("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde\n", 19000)),
		do("long-line", "1.2 MB of text in one line", Step{Size: 1200000}),
		do("big-text", "ARG bytes of text in one line (default 50 MB)", Step{Size: 50 << 20}),
		do("slow", "one word a second for 10 s", Step{Text: "one two three four five six seven eight nine ten", Delay: time.Second}),
		{Name: "hang-title", Help: "text, but the title request hangs", Answers: [][]Step{{{Text: "Text with a hanging title request."}}}, Title: &Step{Fault: Hang}},
		{Name: "fail-title", Help: "text, but the title request gets 401", Answers: [][]Step{{{Text: "Text with a failing title request."}}}, Title: &Step{Status: 401, Body: openAIKey}},
	}
}

// digests are the scenarios around the block that a digest run asks for.
func digests() []Scenario {
	const words = "I read the files and everything is in order. There is more detail here than anyone needs in a summary."
	return []Scenario{
		do("digest", "an answer with a digest block", Step{Text: words, Digest: true}),
		{Name: "digest-on-ask", Help: "no digest block at first; the next message gets one",
			Answers: [][]Step{{{Text: words}}, {{Text: "Of course.", Digest: true}}}},
		{Name: "digest-never", Help: "no digest block, however often it is asked for",
			Answers: [][]Step{{{Text: words}}, {{Text: "There is nothing to add to what I said."}}}},
		do("write-digest", "tool write mock-out.txt, then an answer with a digest block",
			call("write", map[string]any{"filePath": "mock-out.txt", "content": "written by mock\n"}), Step{Text: "I wrote the file.", Digest: true}),
	}
}
