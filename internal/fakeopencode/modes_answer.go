package fakeopencode

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"time"
)

const digestMark = "===DIGEST==="

const digestText = "The work is done.\n\n```\n" + digestMark + "\nFindings:\n- Everything is as it was.\nContext for the next step:\nNothing is left open.\n```"

// findings is the answer of a review: a finding at each place of arg, which is FILE:LINE:FILE:LINE.
func findings(arg string) string {
	list := []map[string]any{}
	words := strings.Split(arg, ":")
	for i := 0; i+1 < len(words); i += 2 {
		list = append(list, map[string]any{"file": words[i], "line": number(words[i+1], 1), "severity": "high",
			"claim": "it is wrong at " + words[i], "evidence": "I read it.", "suggestion": "Set it right."})
	}
	text, err := json.Marshal(map[string]any{"findings": list})
	if err != nil {
		return err.Error()
	}
	return "I have looked at everything.\n\n```json\n" + string(text) + "\n```"
}

// answerModes end in an answer of some kind, or in a stream that only looks like one.
var answerModes = map[string]func(*fake, string){
	"ok": func(*fake, string) {},
	"claim": func(f *fake, _ string) {
		f.answer(env("OC_FAKE_TEXT", "Done: I created the file and all tests pass."))
	},
	"digest":       func(f *fake, _ string) { f.answer(digestText) },
	"digest-never": func(f *fake, _ string) { f.answer("I read everything and all is well.") },
	// The request for a block is recognised by its mark in a prompt that goes to an earlier session.
	"digest-on-ask": func(f *fake, _ string) {
		if f.opts.value["session"] != "" && strings.Contains(f.prompt, digestMark) {
			f.answer(digestText)
			return
		}
		f.answer("I read everything and all is well.")
	},
	"findings": func(f *fake, arg string) { f.answer(findings(arg)) },
	"findings-on-ask": func(f *fake, arg string) {
		if f.opts.value["session"] != "" && strings.Contains(f.prompt, `{"findings"`) {
			f.answer(findings(arg))
			return
		}
		f.answer("I read everything, and one thing is wrong.")
	},
	"echo":  func(f *fake, _ string) { f.answer(f.prompt) },
	"empty": func(f *fake, _ string) { f.answer("") },
	"whitespace": func(f *fake, _ string) {
		f.answer(" \n\t ")
	},
	"no-output": func(f *fake, _ string) { f.done = true },
	"reasoning-only": func(f *fake, _ string) {
		f.stepStart()
		if f.opts.set["thinking"] {
			f.event("reasoning", f.part("reasoning", map[string]any{"text": "I only think.", "time": span()}))
		}
		f.stepFinish("stop")
		f.done = true
	},
	"tools-only": func(f *fake, _ string) {
		f.tool(toolCall{tool: "read", input: map[string]any{"filePath": "a.txt"}, output: "1: hello"})
		f.done = true
	},
	"length": func(f *fake, _ string) {
		f.stepStart()
		f.text("This answer is cut o")
		f.stepFinish("length")
		f.done = true
	},
	"failing-commands": func(f *fake, arg string) {
		for i := range number(arg, 3) {
			f.tool(toolCall{tool: "bash", input: map[string]any{"command": "go test ./..."}, output: "FAIL\n",
				metadata: map[string]any{"exit": i + 1, "output": "FAIL\n"}})
		}
		f.answer("All green.")
	},
	"exit1-complete": func(f *fake, arg string) {
		f.answer(env("OC_FAKE_TEXT", "Complete, whatever the exit code says."))
		f.code = number(arg, 1)
	},
	// Each step reports 120 tokens and 0.000131 USD, or the price of the third argument: cost:STEPS:MILLISECONDS:USD.
	"cost": func(f *fake, arg string) {
		steps, rest, _ := strings.Cut(arg, ":")
		pause, price, _ := strings.Cut(rest, ":")
		usd, err := strconv.ParseFloat(price, 64)
		if err != nil {
			usd = 0.000131
		}
		for range number(steps, 10) {
			f.stepStart()
			f.toolUse(toolCall{tool: "read", input: map[string]any{"filePath": "a.txt"}, output: "1: hello"})
			f.stepFinishCost("tool-calls", usd)
			time.Sleep(time.Duration(number(pause, 0)) * time.Millisecond)
		}
		f.stepStart()
		f.text("Complete after many steps.")
		f.stepFinishCost("stop", usd)
		f.done = true
	},
	"session":          func(*fake, string) {}, // read when the session is opened
	"stdin-never-read": func(*fake, string) {}, // read before anything is done
	"secret":           giveAway,
}

// giveAway tells OC_FAKE_SECRET in every place that a worker has, once across two writes.
func giveAway(f *fake, _ string) {
	secret := os.Getenv("OC_FAKE_SECRET")
	f.tool(toolCall{tool: "bash", input: map[string]any{"command": "echo " + secret}, output: secret + "\n",
		metadata: map[string]any{"exit": 0, "output": secret + "\n"}})
	half := len(secret) / 2
	for _, piece := range []string{"the key is " + secret[:half], secret[half:] + "\n"} {
		f.err.Write([]byte(piece)) // a closed stderr is what some tests want
		time.Sleep(20 * time.Millisecond)
	}
	f.stepStart()
	line := f.line("text", f.part("text", map[string]any{"text": "The key is " + secret + ", as asked.", "time": span()}))
	at := strings.Index(string(line), secret) + half
	for _, piece := range [][]byte{line[:at], append(line[at:], '\n')} {
		f.out.Write(piece)
		time.Sleep(20 * time.Millisecond)
	}
	f.stepFinish("stop")
	f.done = true
}

func number(text string, otherwise int) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return otherwise
	}
	return n
}
