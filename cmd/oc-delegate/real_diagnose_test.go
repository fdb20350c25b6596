package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"opencode-delegate/internal/testplace"
)

// The worker of a diagnosis is shown a part of the log and can search the whole of it, also where git ignores it; it runs nothing and changes nothing.
func TestRealDiagnose(t *testing.T) {
	t.Parallel()
	p := realPlace(t)
	var log strings.Builder
	for i := range 9000 {
		switch i {
		case 40:
			log.WriteString("main.c:7: error: the cause\n")
		case 4500:
			log.WriteString("a needle in the middle of it\n")
		default:
			fmt.Fprintf(&log, "step %s says nothing of the matter\n", strings.Repeat("abcdefghij"[i%10:i%10+1], 1+i/10%40))
		}
	}
	p.Write("project/.gitignore", "build/\n")
	p.Write("project/build/out.log", log.String())
	before := p.Snapshot()
	cmd := p.command("", "diagnose", "--log", "build/out.log", `What broke? [[mock:[{"calls":[
		{"tool":"grep","args":{"pattern":"needle","path":"build/out.log"}},
		{"tool":"read","args":{"filePath":"build/out.log","offset":4495,"limit":10}},
		{"tool":"bash","args":{"command":"echo x > b.txt","description":"x"}}]},
		{"text":"main.c:7, certain","digest":true}]]]`)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Run() // the signal line tells more than the exit code
	o := outcome{stdout: stdout.String(), stderr: stderr.String(), signal: signalOf(t, stderr.String())}
	o.want(t, "OK")
	testplace.Same(t, before, p.Snapshot())
	if r := p.result(o); r.Profile != "read-only" || r.DigestSource != "worker" {
		t.Errorf("profile %s, digest from %s, stdout %q", r.Profile, r.DigestSource, o.stdout)
	}
	told := ""
	for _, r := range p.Model.Requests() {
		told += r.User
		if slices.Contains(r.Tools, "bash") || slices.Contains(r.Tools, "edit") || slices.Contains(r.Tools, "webfetch") {
			t.Errorf("the model was offered %v", r.Tools)
		}
	}
	if !strings.Contains(told, "| main.c:7: error: the cause") || !strings.Contains(told, "The whole log is the file build/out.log.") || strings.Contains(told, "| a needle") {
		t.Errorf("the worker was told %.3000q", told)
	}
	events, err := os.ReadFile(filepath.Join(o.signal["record"].(string), "events.jsonl"))
	if err != nil || strings.Count(string(events), "a needle in the middle") < 2 {
		t.Errorf("the log was not searched and read: %v\n%s", err, events)
	}
}
