package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// verb runs a verb of the program with one word.
func (p *place) verb(name, word string) outcome {
	p.T.Helper()
	cmd := p.command("", name, word)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Run() // the signal line tells more than the exit code
	return outcome{stdout: stdout.String(), stderr: stderr.String(), signal: signalOf(p.T, stderr.String())}
}

// The worker of a review reads files and the difference, and changes nothing.
func TestRealReview(t *testing.T) {
	t.Parallel()
	p := realPlace(t)
	p.Write("project/a.txt", "hello\nthis line is new\n")
	before := p.Snapshot()
	finding := func(file string, line int, claim string) map[string]any {
		return map[string]any{"file": file, "line": line, "severity": "low", "claim": claim, "evidence": "I read it.", "suggestion": "Say good morning."}
	}
	list, err := json.Marshal(map[string]any{"findings": []any{finding("b/a.txt", 2, "it is new"), finding("invented.txt", 1, "it is not there"), finding("a.txt", 99, "the line is not there")}})
	if err != nil {
		t.Fatal(err)
	}
	script, err := json.Marshal([]map[string]any{
		{"calls": []any{map[string]any{"tool": "read", "args": map[string]any{"filePath": "a.txt"}}, map[string]any{"tool": "bash", "args": map[string]any{"command": "echo x > b.txt", "description": "x"}}}},
		{"text": "Here is what I found.\n\n```json\n" + string(list) + "\n```"},
	})
	if err != nil {
		t.Fatal(err)
	}
	o := p.verb("review", "mind the greeting [[mock:"+string(script)+"]]")
	o.want(t, "OK")
	if want := "findings: 1 (1 low); dropped: 2 that name no place in what was reviewed\nF1    low       a.txt:2  it is new\n"; !strings.HasPrefix(o.stdout, want) {
		t.Errorf("stdout is\n%s\nwant\n%s", o.stdout, want)
	}
	if r := p.result(o).Review; r == nil || len(r.Findings) != 1 || r.Dropped != 2 || r.Base == nil || r.Findings[0].Suggestion != "Say good morning." {
		t.Errorf("%+v", r)
	}
	if after := p.Snapshot(); len(after) != len(before) {
		t.Errorf("%d files, were %d", len(after), len(before))
	}
	told := ""
	for _, r := range p.Model.Requests() {
		told += r.User
		if slices.Contains(r.Tools, "bash") || slices.Contains(r.Tools, "webfetch") {
			t.Errorf("the model was offered %v", r.Tools)
		}
	}
	if !strings.Contains(told, "+this line is new") || !strings.Contains(told, "mind the greeting") {
		t.Errorf("the worker was told %q", told)
	}
}

// The worker of a research fetches pages, and has nothing to tell them: no file of the project or of the home, no command, not even to read.
func TestRealResearch(t *testing.T) {
	t.Parallel()
	p := realPlace(t)
	p.Write("project/secret.txt", "the-content\n")
	p.Write("home/notes.txt", "the-content\n")
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<html><body><p>The answer is 4711.</p></body></html>")
	}))
	defer page.Close()
	// Where the home lies in a repository, opencode would take all of it for the project, and read what it says of itself.
	p.Write("AGENTS.md", "The canary word is xylophone-4711.\n")
	if out, err := exec.Command("git", "init", "-q", p.Root).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	before := p.Snapshot()
	o := p.verb("research", fmt.Sprintf(`What is the answer? [[mock:[{"calls":[
		{"tool":"webfetch","args":{"url":"%s/","format":"text"}},
		{"tool":"read","args":{"filePath":"%s/secret.txt"}},
		{"tool":"read","args":{"filePath":"%s/home/notes.txt"}},
		{"tool":"glob","args":{"pattern":"**/*","path":"%s"}},
		{"tool":"bash","args":{"command":"cat %s/secret.txt","description":"x"}}]},
		{"text":"It is 4711.\n\n===DIGEST===\nClaims:\n- 4711, see %s/ \"The answer is 4711.\""}]]]`, page.URL, p.Project, p.Root, p.Project, p.Project, page.URL))
	o.want(t, "OK")
	r := p.result(o)
	if r.Profile != "research" || len(r.Changes.Files) > 0 || strings.Contains(o.stderr, "no address on the web") {
		t.Errorf("profile %s, changes %+v, %s", r.Profile, r.Changes, o.stderr)
	}
	events, err := os.ReadFile(filepath.Join(r.Record, "events.jsonl"))
	if err != nil || !strings.Contains(string(events), "The answer is 4711.") || strings.Contains(string(events), "the-content") {
		t.Errorf("the events: %v\n%s", err, events)
	}
	for _, r := range p.Model.Requests() {
		if !slices.Contains(r.Tools, "webfetch") || !slices.Contains(r.Tools, "websearch") || slices.Contains(r.Tools, "bash") || slices.Contains(r.Tools, "edit") {
			t.Errorf("the model was offered %v", r.Tools)
		}
		if strings.Contains(r.System, p.Project) || strings.Contains(r.System+r.User, "xylophone") {
			t.Error("the model was told of the project or the home")
		}
	}
	after := p.Snapshot()
	for name, content := range after {
		if before[name] != content {
			t.Errorf("changed: %s", name)
		}
	}
	// A second one needs no second directory, and an answer without an address is remarked.
	o = p.verb("research", `And now? [[mock:{"text":"I just know it.","digest":true}]]`)
	o.want(t, "OK")
	if !strings.Contains(o.stderr, "note: the answer names no address on the web") {
		t.Errorf("%s", o.stderr)
	}
}
