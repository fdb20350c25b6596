package opencode

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestParseLogLine(t *testing.T) {
	at := time.Date(2026, 11, 29, 16, 42, 32, 428e6, time.UTC)
	const stamp = "timestamp=2026-11-29T16:42:32.428Z level="
	for _, c := range []struct {
		line string
		want LogLine
	}{
		{stamp + `INFO run=1 message=created id=ses_1 slug=x version=1.18.33 projectID=p directory="/a \"b\"/c d" path="" parentID=undefined title="message=stream error" agent=undefined`,
			LogLine{Kind: LogCreated, At: at, Session: "ses_1", Version: "1.18.33", Directory: `/a "b"/c d`, Agent: "undefined"}},
		{stamp + `INFO run=1 message=created id=ses_2 version=1 directory=/d parentID=ses_1`, LogLine{Kind: LogCreated, At: at, Session: "ses_2", Parent: "ses_1", Version: "1", Directory: "/d"}},
		{stamp + `INFO run=1 message=stream providerID=mock modelID=a/b:c session.id=ses_1 small=false agent=build mode=primary`,
			LogLine{Kind: LogStream, At: at, Session: "ses_1", Provider: "mock", Model: "a/b:c", Agent: "build"}},
		{stamp + `INFO run=1 message=stream providerID=mock modelID=m session.id=ses_1 small=true agent=title mode=subagent`,
			LogLine{Kind: LogStream, At: at, Session: "ses_1", Provider: "mock", Model: "m", Agent: "title", Small: true, Subagent: true}},
		{stamp + `ERROR run=1 message="stream error" providerID=p modelID=m session.id=ses_1 error.error="AI_APICallError: it said \"no\"\nand left"`,
			LogLine{Kind: LogStreamError, At: at, Session: "ses_1", Provider: "p", Model: "m", Error: "AI_APICallError: it said \"no\"\nand left"}},
		{stamp + `ERROR run=1 message="stream error" providerID=p modelID=m error.error.message="Upstream failed" error.error.type=server_error error.error.code=502`,
			LogLine{Kind: LogStreamError, At: at, Provider: "p", Model: "m", Error: "Upstream failed", ErrorType: "server_error", ErrorCode: "502"}},
		{stamp + `ERROR run=1 message=failed ref=err_1 error="ProviderModelNotFoundError: Model not found: a/b." cause="x\n at"`,
			LogLine{Kind: LogFailed, At: at, Ref: "err_1", Error: "ProviderModelNotFoundError: Model not found: a/b."}},
		{stamp + `ERROR run=1 message=process session.id=ses_1 error=bad stack=undefined`, LogLine{Kind: LogProcessError, At: at, Session: "ses_1", Error: "bad"}},
		{stamp + `INFO run=1 message=process session.id=ses_1`, LogLine{Kind: LogInfo, At: at, Session: "ses_1"}},
		{stamp + `INFO run=1 message=evaluated permission=bash pattern="id -u" action.permission=bash action.action=ask action.pattern=*`,
			LogLine{Kind: LogEvaluated, At: at, Permission: "bash", Pattern: "id -u", Action: "ask"}},
		{stamp + `INFO run=1 message=loop session.id=ses_1 step=12`, LogLine{Kind: LogLoop, At: at, Session: "ses_1", Step: 12}},
		{stamp + `INFO run=1 message="exiting loop" session.id=ses_1`, LogLine{Kind: LogExitingLoop, At: at, Session: "ses_1"}},
		{stamp + `ERROR run=1 message=x error="SqliteError: database is locked"`, LogLine{Kind: LogDatabase, At: at, Error: "SqliteError: database is locked"}},
		// A value cut in its middle, a quote that nothing closes.
		{stamp + `ERROR run=1 message="stream error" error.error="AI_APICallError: half\`, LogLine{Kind: LogStreamError, At: at, Error: "AI_APICallError: half"}},
		{"timestamp=yesterday level=ERROR message=\"stream error\"", LogLine{Kind: LogOther, Error: "timestamp=yesterday level=ERROR message=\"stream error\""}},
		// Text that quotes a log line is no log line.
		{` timestamp=2026-11-29T16:42:32.428Z level=ERROR message="stream error"`, LogLine{Kind: LogOther, Error: `timestamp=2026-11-29T16:42:32.428Z level=ERROR message="stream error"`}},
		{"\x1b[93m\x1b[1m! \x1b[0mpermission requested: bash (echo a, id); auto-rejecting", LogLine{Kind: LogRejected, Permission: "bash", Pattern: "echo a, id"}},
		{"! permission requested: doom_loop; auto-rejecting", LogLine{Kind: LogRejected, Permission: "doom_loop"}},
		{"the text says permission requested: bash (x); auto-rejecting", LogLine{Kind: LogOther, Error: "the text says permission requested: bash (x); auto-rejecting"}},
		{"\x1b[93m\x1b[1m! \x1b[0m agent \"bogus\" not found. Falling back to default agent", LogLine{Kind: LogAgentFallback, Agent: "bogus"}},
		{`! agent "x" is a subagent, not a primary agent. Falling back to default agent`, LogLine{Kind: LogAgentFallback, Agent: "x"}},
		{"\x1b[91m\x1b[1mError: \x1b[0mSession not found", LogLine{Kind: LogFatal, Error: "Session not found"}},
		{"error: Unable to connect. Is the computer able to access the url?", LogLine{Kind: LogFatal, Error: "Unable to connect. Is the computer able to access the url?"}},
		{"", LogLine{}},
	} {
		if got := ParseLogLine([]byte(c.line)); got != c.want {
			t.Errorf("%s\n got %+v\nwant %+v", c.line, got, c.want)
		}
	}
}

func TestLongLinesAreBounded(t *testing.T) {
	line := []byte(`timestamp=2026-11-29T16:42:32.428Z level=ERROR message="stream error" error.error="` + strings.Repeat("x", 10<<20) + `"`)
	if l := ParseLogLine(line); l.Kind != LogStreamError || len(l.Error) > lineLimit || len(l.Error) < lineLimit/2 {
		t.Errorf("kind %d, %d bytes of error", l.Kind, len(l.Error))
	}
	var got []int
	readLines(strings.NewReader(strings.Repeat("y", 300<<10)+"\nshort\n\nlast"), new(strings.Builder), func(line []byte) { got = append(got, len(line)) })
	if len(got) != 3 || got[0] != lineLimit || got[1] != 5 || got[2] != 4 {
		t.Errorf("lines of %d bytes", got)
	}
}

func FuzzParseLogLine(f *testing.F) {
	files, _ := filepath.Glob(recordings + "/*/stderr")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for line := range strings.Lines(string(text[:min(len(text), 16<<10)])) {
			f.Add([]byte(strings.TrimSuffix(line, "\n")))
		}
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		l := ParseLogLine(line)
		if l.Kind != LogOther && l.Kind != LogInfo && len(line) == 0 {
			t.Errorf("%d of nothing", l.Kind)
		}
		ev := FromLog(l, time.Unix(1e9, 0))
		if got, _ := Classify(ev); got.Reason == "" || len([]rune(got.Reason)) > reasonLimit || strings.ContainsAny(got.Reason, "\n\r\x1b\x00") {
			t.Errorf("reason %q", got.Reason)
		}
	})
}
