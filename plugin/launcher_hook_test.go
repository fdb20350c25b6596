package plugin_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// notOurs is a file that is executable and no program of this system.
const notOurs = "\x7fELF of another machine\n"

// TestHooksFailNobody: without a program, with one that is not for this system and with one that dies, a hook ends well; the first of a session says what to do.
func TestHooksFailNobody(t *testing.T) {
	eachShell(t, "plugin", func(t *testing.T, s *shelf) {
		silent := []string{"SessionEnd", "UserPromptSubmit", "UserPromptExpansion", "PreToolUse", "Watch", ""}
		for _, event := range silent {
			if got := s.run("oc-job", "hook", event); got.exit != 0 || got.stdout+got.stderr != "" {
				t.Errorf("%s without a program: %+v", event, got)
			}
		}
		start := func(what string) {
			t.Helper()
			got := s.run("oc-job", "hook", "SessionStart")
			var told map[string]string
			if err := json.Unmarshal([]byte(got.stdout), &told); err != nil || got.exit != 0 || len(told) != 1 || !strings.Contains(told["systemMessage"], "use the release folder") {
				t.Errorf("%s: %+v", what, got)
			}
		}
		start("no program")
		s.write("lib/linux-amd64/oc-job", notOurs, 0o755)
		start("a program of another system")
		watches := s.run("oc-job", "hook", "Watch")
		if watches.exit != 0 || watches.stdout != "" {
			t.Errorf("the watcher, a program of another system: %+v", watches)
		}
		s.write("lib/linux-amd64/oc-job", "", 0o755)
		start("an empty program")
		for _, ending := range []string{"exit 2", "exit 1", "exit 134", "kill -9 $$", "kill -11 $$", "echo '{\"half'; kill -6 $$"} {
			s.program("lib/linux-amd64/oc-job", ending+"\n")
			for _, event := range []string{"SessionStart", "SessionEnd", "UserPromptSubmit", "UserPromptExpansion"} {
				if got := s.run("oc-job", "hook", event); got.exit != 0 || strings.Contains(got.stdout, "systemMessage") {
					t.Errorf("%s with a program that does %s: %+v", event, ending, got)
				}
			}
		}
	})
}

// TestHooksReachTheProgram: with the words, stdin and the answer as they are; the watcher, which stays, in the launcher's own process and with its exit code.
func TestHooksReachTheProgram(t *testing.T) {
	eachShell(t, "plugin", func(t *testing.T, s *shelf) {
		s.program("lib/linux-amd64/oc-job", echo)
		s.env = append(s.env, "STUB=it", "STUB_EXIT=0")
		for _, event := range []string{"SessionStart", "SessionEnd", "UserPromptSubmit", "UserPromptExpansion", "Watch"} {
			got := s.call(s.dir, "{\n}\n", s.path("bin/oc-job"), "hook", event, "more words")
			first, rest, _ := strings.Cut(got.stdout, "\n")
			if got.exit != 0 || got.stderr != "" || !strings.HasPrefix(first, "it ") || rest != "[hook]\n["+event+"]\n[more words]\n<{>\n<}>\n" {
				t.Errorf("%s: %+v", event, got)
			}
		}
		s.program("lib/linux-amd64/oc-job", "echo done >&2; echo $$; exit 2\n")
		got := s.run("oc-job", "hook", "Watch")
		if got.exit != 2 || got.stderr != "done\n" || strings.TrimSpace(got.stdout) != strconv.Itoa(got.pid) {
			t.Errorf("the watcher: %+v", got)
		}
		// oc-delegate has no hooks: there it is a task like any other.
		s.program("lib/linux-amd64/oc-delegate", "exit 9\n")
		if got := s.run("oc-delegate", "hook", "PreToolUse"); got.exit != 9 {
			t.Errorf("oc-delegate: %+v", got)
		}
	})
}

// What the hook before a tool call is given. The marker within a command is another's words.
const (
	bySubagent  = `{"session_id":"s","agent_id":"a","agent_type":"opencode:opencode-delegate","tool_name":"Bash","tool_input":{"command":"ls"}}`
	bySpaced    = "{ \"agent_type\" :\n\t \"opencode:opencode-delegate\" , \"tool_name\": \"Edit\"}\r\n"
	byQuoter    = `{"tool_name":"Bash","tool_input":{"command":"echo '{\"agent_type\":\"opencode:opencode-delegate\"}' \"agent_type\" : \"opencode:opencode-delegate\" | oc-job"}}`
	byConductor = `{"tool_name":"Bash","tool_input":{"command":"oc-delegate x"}}`
	byAnother   = `{"agent_type":"other:opencode-delegate","tool_name":"Bash","tool_input":{"command":"oc-job list"}}`
	byLonger    = `{"agent_type":"opencode:opencode-delegate-of-mine","tool_name":"Bash","tool_input":{"command":"oc-job list"}}`
	byStarter   = `{"tool_name":"Agent","tool_input":{"subagent_type":"opencode:opencode-delegate","prompt":"oc-delegate x"}}`
)

// TestGuard: a call of the subagent runs only when the program has decided; nobody else is ever stopped by what is broken here.
func TestGuard(t *testing.T) {
	const (
		allow = `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}`
		other = `{"systemMessage":"by the way"}`
	)
	say := func(text string) string { return "cat >/dev/null; printf '%s\\n' '" + text + "'\n" }
	eachShell(t, "plugin", func(t *testing.T, s *shelf) {
		for _, c := range []struct {
			what, program    string
			subagent, others string // stdout; the subagent is stopped where it is empty
		}{
			{"no program", "", "", ""},
			{"a decision", say(allow), allow, allow},
			{"a decision, without reading", "echo '" + allow + "'\n", allow, allow},
			{"a decision in lines", say("{\n \"permissionDecision\": \"deny\"\n}"), "{\n \"permissionDecision\": \"deny\"\n}", "{\n \"permissionDecision\": \"deny\"\n}"},
			{"no decision", "cat >/dev/null\n", "", ""},
			{"other words", say(other), "", other},
			{"garbage", say("permissionDecision allow"), "", ""},
			{"garbage before a decision", say("panic: " + allow), "", ""},
			{"half a decision", say(strings.TrimSuffix(allow, "}}")), "", ""},
			{"exit 1", say(allow) + "exit 1\n", "", ""},
			{"a panic", "echo 'panic: x' >&2; echo 'goroutine 1' >&2; exit 2\n", "", ""},
			{"exit 134", "exit 134\n", "", ""},
			{"killed", say(allow) + "kill -9 $$\n", "", ""},
			{"a fault of memory", "kill -11 $$\n", "", ""},
			{"another system's program", notOurs, "", ""},
		} {
			os.Remove(s.path("lib/linux-amd64/oc-job")) // the first has none
			switch {
			case c.program == notOurs:
				s.write("lib/linux-amd64/oc-job", c.program, 0o755)
			case c.program != "":
				s.program("lib/linux-amd64/oc-job", c.program)
			}
			for _, given := range []string{bySubagent, bySpaced, byQuoter, byConductor, byAnother, byLonger, byStarter} {
				got := s.call(s.dir, given, s.path("bin/oc-job"), "hook", "PreToolUse")
				want := said{stdout: c.others}
				if given == bySubagent || given == bySpaced {
					want = said{stdout: c.subagent}
					if c.subagent == "" {
						want.exit = 2
					}
				}
				told := lineCount(got.stderr) == 1 && strings.Contains(got.stderr, "/opencode:setup") && strings.HasSuffix(got.stderr, "\n")
				if got.exit != want.exit || strings.TrimSuffix(got.stdout, "\n") != want.stdout || told != (want.exit == 2) || !told && got.stderr != "" {
					t.Errorf("%s, given %s: %+v", c.what, given, got)
				}
			}
		}
	})
}

// TestGuardIsCheap: what is not about delegation starts no program; what is reaches it whole, whatever its size; and what cannot be read stops the call.
func TestGuardIsCheap(t *testing.T) {
	eachShell(t, "plugin", func(t *testing.T, s *shelf) {
		seen := s.path("seen")
		s.program("lib/linux-amd64/oc-job", "cat >'"+seen+"'; echo '{\"permissionDecision\":1}'\n")
		for _, given := range []string{`{"cwd":"/src/opencode-delegate","tool_name":"Bash","tool_input":{"command":"ls"}}`, `{"tool_name":"Edit"}`, ""} {
			if got := s.call(s.dir, given, s.path("bin/oc-job"), "hook", "PreToolUse"); got.exit != 0 || got.stdout+got.stderr != "" {
				t.Errorf("%q: %+v", given, got)
			}
		}
		if _, err := os.Stat(seen); err == nil {
			t.Error("the program was started for a call that is not about delegation")
		}
		for _, large := range []string{
			`{"tool_input":{"command":"` + strings.Repeat("é\\\"agent_type\\\":%s\\n", 300_000) + `oc-job"}}`,
			`{"tool_input":{"command":"` + strings.Repeat("x y ", 1_300_000) + `"},"agent_type":"opencode:opencode-delegate"}`,
		} {
			began := time.Now()
			got := s.call(s.dir, large, s.path("bin/oc-job"), "hook", "PreToolUse")
			took := time.Since(began)
			if text, err := os.ReadFile(seen); err != nil || string(text) != large || got.exit != 0 || got.stdout != "{\"permissionDecision\":1}\n" {
				t.Errorf("%d bytes: exit %d, stdout %.200q, stderr %.200q; the program got %d bytes, %v", len(large), got.exit, got.stdout, got.stderr, len(text), err)
			}
			t.Logf("%.1f MB in %v", float64(len(large))/1e6, took)
			if took > 10*time.Second { // of the 30 that Claude Code gives it
				t.Errorf("%d bytes took %v", len(large), took)
			}
		}
		os.Remove(s.path("lib/linux-amd64/oc-job"))
		s.env = []string{"PATH=" + filepath.Join(s.dir, "nowhere")}
		if got := s.call(s.dir, byConductor, s.path("bin/oc-job"), "hook", "PreToolUse"); got.exit != 2 && !strings.HasSuffix(s.first, " sh") {
			t.Errorf("without cat: %+v", got)
		}
	})
}
