package event

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"opencode-delegate/internal/redact"
)

// endings are those of the recordings of real runs that are not the usual success. The default format ("-default") and
// old versions print no events that are known; a run that its recorder cut is Silent or Partial.
var endings = map[Ending]string{
	Silent: `argv-dash-json argv-dash2-json attach-badurl dir-file dir-missing err-401-default err-403-usage-json err-429-ra3600-json err-429-zen-go-default
		err-429-zen-go-json err-429-zen-go-printlogs file-missing hang-headers-json hang-json hang-timeouts-json old-1.0.0-err401 old-1.0.0-text old-1.1.31-askwrite
		old-1.1.31-err401 old-1.1.31-text perm-ask-write-default reset0-json sess-otherdir session-unknown stdin-open-json`,
	Alien: `ansi-default long-default old-1.1.31-dir old-1.2.27-auto text-default write-default`,
	Failed: `attach-err401 err-400-anthropic-credit-json err-401-json err-401-zen-auth-json err-401-zen-credits-json err-401-zen-model-json err-402-json err-403-json
		err-403-zen-region-json err-404-model-json err-429-json err-429-openai-quota-json err-429-openai-quota-nora-json err-429-zai-plan-json err-429-zen-free-json
		err-429-zen-go-ra1-json err-500-json err-502-html-json err-529-json err-context-json garbage-json model-noslash model-unknown old-1.2.27-err401 printlogs-err-401
		provider-unknown sse-error-go-json write-then-401-json`,
	Denied: `bash-abs-external perm-ask-bash-json perm-ask-write-json printlogs-perm read-env-json read-external-json write-external-json`,
	Empty:  `empty-json reasoning-only-json write-then-empty-json`,
	Cut:    `length-json`,
	Broken: `eof-json ok-error-body-json ok-html-json`,
	// The lines of conc-* belong to several sessions: their recorder has mixed them (the same line, with the same
	// millisecond, is in all eight).
	Partial: `attach-sigint conc-1 conc-2 conc-3 conc-4 conc-5 conc-6 conc-7 conc-8 reset-json sig-int-bash sig-kill-bash sig-pgint-bash sig-pgkill-bash sig-term-bash
		sse-error-json stall-json write-then-hang-json`,
}

func TestRecordings(t *testing.T) {
	want := map[string]Ending{}
	for ending, names := range endings {
		for _, name := range strings.Fields(names) {
			want[name] = ending
		}
	}
	files, err := filepath.Glob("../../testdata/recordings/*/stdout")
	if err != nil || len(files) < 170 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	seen := 0
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file))
		if strings.HasPrefix(name, "info-") {
			continue // other commands than run
		}
		seen++
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		tr := fold(all(t, NewStream(bytes.NewReader(raw), NewLog(&log, redact.New(nil))))...)
		expected, ok := want[name]
		if !ok {
			expected = Success
		}
		if got := tr.Ending(); got != expected {
			t.Errorf("%s: %s, want %s: %+v", name, got, expected, tr)
		}
		delete(want, name)
		if !bytes.Equal(bytes.TrimSuffix(log.Bytes(), []byte("\n")), bytes.TrimSuffix(raw, []byte("\n"))) {
			t.Errorf("%s: the log differs from what was recorded", name)
		}
		var tokens Tokens
		var cost float64
		for text := range bytes.Lines(raw) {
			var e struct {
				SessionID string
				Part      struct {
					Type   string
					Cost   float64
					Tokens struct {
						Input, Output, Reasoning int64
						Cache                    struct{ Read, Write int64 }
					}
				}
			}
			if json.Unmarshal(text, &e) == nil && e.SessionID == tr.Session() && e.Part.Type == "step-finish" {
				k := e.Part.Tokens
				tokens = tokens.Add(Tokens{k.Input, k.Output, k.Reasoning, k.Cache.Read, k.Cache.Write})
				cost += e.Part.Cost
			}
		}
		if tokens != tr.Tokens() || cost != tr.Cost() {
			t.Errorf("%s: %+v for %v, want %+v for %v", name, tr.Tokens(), tr.Cost(), tokens, cost)
		}
	}
	if len(want) > 0 {
		t.Errorf("no recording of %v", want)
	}
	t.Logf("%d recordings", seen)
}

// TestRecordedDetails looks closer at those that have something special.
func TestRecordedDetails(t *testing.T) {
	read := func(name string) *Transcript {
		f, err := os.Open("../../testdata/recordings/" + name + "/stdout")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		return fold(all(t, NewStream(f, nil))...)
	}
	if tr := read("bash-fail-json"); tr.Commands() != 1 || tr.FailedCommands() != 1 || tr.LastTool().Target != "echo oops >&2; exit 3" || *tr.LastTool().Exit != 3 {
		t.Errorf("bash-fail-json: %+v", tr)
	}
	for name, tool := range map[string]string{"perm-deny-all-env": "bash", "perm-deny-write-auto": "write", "plan-task-json": "task", "readonly-explicit-bashtask": "read", "ro-attack-strong": "bash"} {
		if tr := read(name); len(tr.Refused()) != 1 || tr.Refused()[0] != tool || tr.Subagents() != 0 {
			t.Errorf("%s: refused %v, %d subagents", name, tr.Refused(), tr.Subagents())
		}
	}
	for name, tool := range map[string]string{"perm-ask-bash-json": "bash", "write-external-json": "write", "read-env-json": "read"} {
		if tr := read(name); len(tr.Rejected()) != 1 || tr.Rejected()[0] != tool {
			t.Errorf("%s: rejected %v", name, tr.Rejected())
		}
	}
	for _, name := range []string{"unknown-tool-json", "bad-args-json", "question-json"} {
		if tr := read(name); len(tr.Refused())+len(tr.Rejected()) != 0 {
			t.Errorf("%s: refused %v, rejected %v", name, tr.Refused(), tr.Rejected())
		}
	}
	if tr := read("plan-task-explore-json"); tr.Subagents() != 1 || tr.LastTool().Target != "sub task" {
		t.Errorf("plan-task-explore-json: %+v", tr)
	}
	if tr := read("long-json"); len(tr.Answer()) != 1 || tr.Answer()[0].Size < 1<<20 || len(tr.Answer()[0].Head) > HeadLimit {
		t.Errorf("long-json: %d texts", len(tr.Answer()))
	}
	if tr := read("reasoning-thinking-json"); tr.Events() != 4 || len(tr.Texts()) != 1 {
		t.Errorf("reasoning-thinking-json: %+v", tr)
	}
	if e := read("err-429-zen-go-ra1-json").Errors(); len(e) != 1 || e[0].Name != "APIError" || e[0].Status != 429 || !*e[0].Retryable || e[0].Headers["retry-after"] != "1" ||
		!strings.HasPrefix(e[0].Message, "5-hour usage limit") || !strings.Contains(e[0].Body, `"GoUsageLimitError"`) {
		t.Errorf("err-429-zen-go-ra1-json: %+v", e)
	}
	if e := read("model-unknown").Errors(); len(e) != 1 || e[0].Name != "UnknownError" || !strings.HasPrefix(e[0].Ref, "err_") {
		t.Errorf("model-unknown: %+v", e)
	}
}
