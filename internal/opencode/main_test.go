package opencode

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"opencode-delegate/internal/proc"
	"opencode-delegate/internal/sandbox"
)

// playEnv makes the test binary an opencode of a kind; notesEnv is a directory in which it leaves what it saw.
const (
	playEnv  = "OC_TEST_PLAY"
	notesEnv = "OC_TEST_NOTES"
)

func TestMain(m *testing.M) {
	if code, ok := proc.Main(os.Args); ok {
		os.Exit(code)
	}
	if code, ok := sandbox.Main(os.Args); ok {
		os.Exit(code)
	}
	if kind := os.Getenv(playEnv); kind != "" {
		os.Exit(play(kind, os.Getenv(notesEnv)))
	}
	// Most tests of the driver wait for a limit to pass; the real opencode has a bound of its own (realAtOnce).
	flag.Parse()
	flag.Set("test.parallel", "6")
	os.Exit(m.Run())
}

const playedSession = "ses_played"

func say(v map[string]any) {
	v["sessionID"] = playedSession
	v["timestamp"] = time.Now().UnixMilli()
	text, _ := json.Marshal(v)
	os.Stdout.Write(append(text, '\n'))
}

func sayText(text string) {
	say(map[string]any{"type": "text", "part": map[string]any{"type": "text", "text": text}})
}

func sayStep(reason string, input int, cost float64) {
	say(map[string]any{"type": "step_finish", "part": map[string]any{"type": "step-finish", "reason": reason, "cost": cost,
		"tokens": map[string]any{"input": input, "output": 0, "reasoning": 0, "cache": map[string]any{"read": 0, "write": 0}}}})
}

func logLine(level, rest string) {
	fmt.Fprintf(os.Stderr, "timestamp=%s level=%s run=00000000 %s\n", time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), level, rest)
}

func answer() {
	say(map[string]any{"type": "step_start", "part": map[string]any{"type": "step-start"}})
	sayText("Hello.")
	sayStep("stop", 100, 0.001)
}

// play is an opencode of a kind. notes is where it leaves what it saw.
func play(kind, notes string) int {
	note := func(name, text string) { os.WriteFile(filepath.Join(notes, name), []byte(text), 0o600) }
	const failing = `message="stream error" providerID=mock modelID=worker session.id=ses_played small=false agent=build mode=primary error.error=`
	switch kind {
	case "ok":
		prompt, _ := io.ReadAll(os.Stdin)
		note("prompt", fmt.Sprintf("%x %d", sha256.Sum256(prompt), len(prompt)))
		note("argv", strings.Join(os.Args[1:], "\x00"))
		note("environ", strings.Join(os.Environ(), "\x00"))
		dir, _ := os.Getwd()
		note("cwd", dir)
		answer()
	case "exit1":
		answer()
		return 1
	case "stays":
		answer()
		time.Sleep(time.Minute)
	case "hangs":
		note("ready", "")
		time.Sleep(time.Minute)
	case "ignores":
		signal.Ignore(syscall.SIGINT)
		term := make(chan os.Signal, 1)
		signal.Notify(term, syscall.SIGTERM)
		note("ready", "")
		<-term
		note("term", time.Now().Format(time.RFC3339Nano))
		time.Sleep(time.Minute)
	case "killed":
		say(map[string]any{"type": "step_start", "part": map[string]any{"type": "step-start"}})
		self, _ := os.FindProcess(os.Getpid())
		self.Signal(syscall.SIGKILL)
		time.Sleep(time.Minute)
	case "quota":
		logLine("INFO", "message=created id=ses_played version=9.9.9 directory=/d parentID=undefined title=T")
		logLine("ERROR", failing+`"AI_APICallError: Weekly usage limit reached. Resets in 3 days."`)
		time.Sleep(time.Minute)
	case "quota-event":
		logLine("ERROR", failing+`"AI_APICallError: Insufficient credits"`)
		time.Sleep(300 * time.Millisecond)
		say(map[string]any{"type": "error", "error": map[string]any{"name": "APIError", "data": map[string]any{"message": "Insufficient credits", "statusCode": 402}}})
		return 1
	case "rate":
		for range 100 {
			logLine("ERROR", failing+`"AI_APICallError: Rate limit reached for requests"`)
			time.Sleep(100 * time.Millisecond)
		}
	case "rate-heals":
		for range 3 {
			logLine("ERROR", failing+`"AI_APICallError: Overloaded"`)
			time.Sleep(100 * time.Millisecond)
		}
		answer()
	case "locked":
		count, _ := filepath.Glob(filepath.Join(notes, "try*"))
		note(fmt.Sprintf("try%d", len(count)), "")
		if len(count) < 2 {
			fmt.Fprintln(os.Stderr, "\x1b[91m\x1b[1mError: \x1b[0mUnexpected error\n\nFailed query:"+
				[]string{" insert into \"project\" (\"id\") values (?)\nparams: global", "\nCREATE TABLE `project` (\n"}[len(count)])
			return 1
		}
		io.Copy(io.Discard, os.Stdin)
		answer()
	case "agent":
		fmt.Fprintln(os.Stderr, "\x1b[93m\x1b[1m! \x1b[0m agent \"bogus\" not found. Falling back to default agent")
		time.Sleep(time.Minute)
	case "steps", "steps-deaf":
		pause := 50 * time.Millisecond
		if kind == "steps-deaf" {
			signal.Ignore(syscall.SIGTERM)
			pause = 400 * time.Millisecond
		}
		for range 10 {
			say(map[string]any{"type": "step_start", "part": map[string]any{"type": "step-start"}})
			say(map[string]any{"type": "tool_use", "part": map[string]any{"type": "tool", "tool": "bash", "state": map[string]any{"status": "completed", "input": map[string]any{"command": "true"}}}})
			sayStep("tool-calls", 100, 0.000131)
			time.Sleep(pause)
		}
		answer()
	case "noisy":
		os.Stderr.WriteString("first key is hunter2-hunter2-1\n")
		os.Stderr.Write(bytes.Repeat([]byte("0123456789abcde\n"), 2<<20/16))
		os.Stderr.Write(append(bytes.Repeat([]byte("x"), 300<<10), '\n'))
		os.Stderr.WriteString("last key is hunter2-hunter2-2\n")
		answer()
	case "many", "many-hang":
		for range 200 {
			sayText("more")
		}
		if kind == "many-hang" {
			time.Sleep(time.Minute)
		}
		answer()
	case "holder":
		// A daemon of the worker keeps both pipes.
		c := exec.Command("/bin/sh", "-c", "sleep 60")
		c.Stdout, c.Stderr = os.Stdout, os.Stderr
		c.SysProcAttr = detached()
		if err := c.Start(); err != nil {
			return 3
		}
		answer()
	case "leaks":
		fmt.Fprintln(os.Stderr, "my key is hunter2-hunter2-2")
		say(map[string]any{"type": "error", "error": map[string]any{"name": "APIError", "data": map[string]any{"message": "Incorrect API key provided: hunter2-hunter2-1", "statusCode": 401}}})
		return 1
	case "leaks-cut":
		fmt.Fprintln(os.Stderr, "Error: "+strings.Repeat("y", 290-len("opencode did not start its work: "))+"hunter2-hunter2-1")
		return 1
	case "leaks-permission":
		answer()
		fmt.Fprintln(os.Stderr, "! permission requested: bash ("+strings.Repeat("y", 145)+"hunter2-hunter2-1); auto-rejecting")
		return 1
	case "leaks-colour":
		fmt.Fprintln(os.Stderr, "Error: "+strings.Repeat("y", 290-len("opencode did not start its work: "))+"hunter2-\x1b[31mhunter2-1\x1b[0m")
		return 1
	case "leaks-lines":
		say(map[string]any{"type": "error", "error": map[string]any{"name": "APIError", "data": map[string]any{"message": "bad value line1abc9\r\nline2def8", "statusCode": 400}}})
		return 1
	case "session":
		for _, line := range []string{`{"type":"step_start"`, `{"type":"text","part":{"text":"Hello."}`, `{"type":"step_finish","part":{"reason":"stop"}`} {
			id, _ := json.Marshal(os.Getenv("OC_TEST_SESSION"))
			fmt.Printf("%s,\"timestamp\":%d,\"sessionID\":%s}\n", line, time.Now().UnixMilli(), id)
		}
	case "flood":
		line := os.Getenv("OC_TEST_LINE")
		block := []byte(strings.Repeat(line+"\n", 64<<10/len(line+"\n")))
		if os.Getenv("OC_TEST_ANSWER") != "" {
			for range 200 { // 13 MB
				os.Stdout.Write(block)
			}
			answer()
			return 0
		}
		for {
			os.Stdout.Write(block)
		}
	case "long":
		say(map[string]any{"type": "step_start", "part": map[string]any{"type": "step-start"}})
		for range 6 {
			sayText(strings.Repeat("0123456789abcde\n", 8<<20/16))
		}
		sayStep("stop", 100, 0.001)
	case "v2":
		fmt.Println(`{"type":"session.next.text","properties":{"text":"hi"}}`)
	case "version":
		note("asked"+fmt.Sprint(time.Now().UnixNano()), strings.Join(os.Args[1:], " "))
		if os.Args[1] == "--version" {
			fmt.Println("1.18.33")
			return 0
		}
		fmt.Fprint(os.Stderr, help118)
	}
	return 0
}

const help118 = `opencode run [message..]

Options:
  -h, --help         show help                                                             [boolean]
      --print-logs   print logs to stderr                                                  [boolean]
      --log-level    log level                  [string] [choices: "DEBUG", "INFO", "WARN", "ERROR"]
  -s, --session      session id to continue                                                 [string]
      --fork         fork the session before continuing (requires --continue or --session) [boolean]
  -m, --model        model to use in the format of provider/model                           [string]
      --agent        agent to use                                                           [string]
      --format       format: default (formatted) or json (raw JSON events)
                                          [string] [choices: "default", "json"] [default: "default"]
  -f, --file         file(s) to attach to message                                            [array]
      --title        title for the session (uses truncated prompt if no value provided)     [string]
      --dir          directory to run in, path on remote server if attaching                [string]
      --variant      model variant (provider-specific reasoning effort, e.g., high, max, minimal)
      --thinking     show thinking blocks                                  [boolean] [default: false]
      --auto         auto-approve permissions that are not explicitly denied (dangerous!)
`
