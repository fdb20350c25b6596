package fakeopencode

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

const (
	fiveHours = "5-hour usage limit reached. Resets in 2hr 10min. To continue using this model now, enable usage from your available balance: https://opencode.ai/workspace/wrk_TEST/go"
	rateLimit = "Rate limit reached for requests"
)

// failureModes are runs that fail in the provider, in a permission or in opencode itself.
var failureModes = map[string]func(*fake, string){
	"exit": func(f *fake, arg string) { f.code, f.done = number(arg, 1), true },
	"exit0-error": func(f *fake, _ string) {
		message := env("OC_FAKE_MESSAGE", "Incorrect API key provided: sk-xxxx.")
		f.refuse(message, 401, false, errorBody("invalid_request_error", message))
		f.done = true
	},
	"refuse": func(f *fake, arg string) {
		message := env("OC_FAKE_MESSAGE", "Invalid value for 'messages'.")
		f.refuse(message, number(arg, 400), false, errorBody("invalid_request_error", message))
		f.code, f.done = 1, true
	},
	"error-then-heal": func(f *fake, arg string) {
		f.refuse("The server had an error while processing your request.", 500, true, errorBody("server_error", "The server had an error"))
		f.answer("Healed, and complete.")
		f.code = number(arg, 0)
	},
	// opencode says nothing on stdout while it waits for a limit to pass; its log has the message, if it was asked for.
	"quota-hang": func(f *fake, _ string) { f.streamError(env("OC_FAKE_MESSAGE", fiveHours)); silence() },
	"rate-hang":  func(f *fake, _ string) { f.streamError(env("OC_FAKE_MESSAGE", rateLimit)); silence() },
	// rate-heal:N:MS is a rate limit that N calls meet, MS milliseconds apart; then the model answers again.
	"rate-heal": func(f *fake, arg string) {
		times, pause, _ := strings.Cut(arg, ":")
		for range number(times, 2) {
			f.streamError(env("OC_FAKE_MESSAGE", rateLimit))
			time.Sleep(time.Duration(number(pause, 100)) * time.Millisecond)
		}
	},
	"perm": func(f *fake, arg string) {
		rejected(f, arg)
		f.done = true // the real one stops here, and exits 0
	},
	"perm-goes-on": func(f *fake, arg string) {
		rejected(f, arg)
		f.answer("I was refused, and this is what I can say.")
	},
	"deny": func(f *fake, _ string) {
		f.tool(toolCall{tool: "write", input: map[string]any{"filePath": "fake-out.txt", "content": "x\n"},
			err: `The user has specified a rule which prevents you from using this specific tool call. Here are some of the relevant rules [{"permission":"*","action":"deny","pattern":"*"}]`})
		f.answer("I may not write, so here is what I would have written.")
	},
	"dblock": func(f *fake, arg string) {
		if f.count("dblock") < number(arg, 1) {
			f.fail("Unexpected error\n\nSQLiteError: database is locked")
			f.code, f.done = 1, true
		}
	},
	"unknown-loop": func(f *fake, _ string) {
		for {
			f.stepStart()
			f.text("This stream just ends")
			f.stepFinishCost("unknown", 0)
			time.Sleep(200 * time.Millisecond)
		}
	},
	"hang": func(*fake, string) { silence() },
	"exit-hang": func(f *fake, _ string) {
		f.answer(env("OC_FAKE_TEXT", "Complete, but the process stays."))
		silence()
	},
	"slowfirst": func(*fake, string) {
		time.Sleep(time.Duration(number(env("OC_FAKE_SEC", "2"), 2)) * time.Second)
	},
	// drip:N:MS is N signs of life, MS milliseconds apart: thinking that shows only under --thinking.
	"drip": func(f *fake, arg string) {
		var n, ms int
		fmt.Sscanf(arg, "%d:%d", &n, &ms) // what is missing is zero
		f.stepStart()
		for range n {
			if f.opts.set["thinking"] {
				f.event("reasoning", f.part("reasoning", map[string]any{"text": "Still thinking.", "time": span()}))
			}
			time.Sleep(time.Duration(ms) * time.Millisecond)
		}
	},
}

// rejected is a tool call for which a permission was asked, and nobody was there to give it.
func rejected(f *fake, permission string) {
	if permission == "" {
		permission = "edit"
	}
	fmt.Fprintf(f.err, "\x1b[93m\x1b[1m! \x1b[0mpermission requested: %s (fake-out.txt); auto-rejecting\n", permission)
	f.tool(toolCall{tool: "write", input: map[string]any{"filePath": "fake-out.txt", "content": "x\n"},
		err: "The user rejected permission to use this specific tool call."})
}

func (f *fake) streamError(message string) {
	f.logLine("ERROR", `message="stream error" providerID=mock modelID=worker session.id=%s small=false agent=build mode=primary error.error=%q`,
		f.session, "AI_APICallError: "+message)
}

func errorBody(kind, message string) string {
	b, err := json.Marshal(map[string]any{"error": map[string]any{"message": message, "type": kind}})
	if err != nil {
		panic(err) // strings only
	}
	return string(b)
}
