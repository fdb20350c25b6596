package testmodel

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestSequenceOfSteps(t *testing.T) {
	s := start(t, Options{})
	turns := play(t, s, "worker", `go [[mock:[{"tool":"write","args":{"filePath":"a]]b"}},{"calls":[{"tool":"read","args":{}},{"tool":"bash","args":{"command":"ls"}}]},{"text":"end","finish":"length"}]]] now`, nil)
	if len(turns) != 3 {
		t.Fatalf("%d turns, want 3: %+v", len(turns), turns)
	}
	if got := turns[0].calls; len(got) != 1 || got[0] != `write {"filePath":"a]]b"}` || turns[0].finish != "tool_calls" {
		t.Errorf("turn 0: %+v", turns[0])
	}
	if got := turns[1].calls; len(got) != 2 || got[0] != `read {}` || got[1] != `bash {"command":"ls","description":"run a command"}` {
		t.Errorf("turn 1: %q", got)
	}
	if turns[2].text != "end" || turns[2].finish != "length" || !turns[2].usage || !turns[2].done {
		t.Errorf("turn 2: %+v", turns[2])
	}
}

func TestClosingQuotesTheLastResult(t *testing.T) {
	s := start(t, Options{})
	turns := play(t, s, "worker", `[[mock:{"tool":"bash","args":{"command":"ls"}}]]`, nil, "a.txt\n")
	if want := "FINAL after 1 tool turn(s). Last result: a.txt\n"; turns[1].text != want {
		t.Errorf("closing %q, want %q", turns[1].text, want)
	}
}

func TestRefusalInTheMiddle(t *testing.T) {
	s := start(t, Options{})
	turns := play(t, s, "worker", `[[mock:[{"tool":"write","args":{}},{"status":401,"body":"no","headers":{"Retry-After":"7"}}]]]`, nil)
	if len(turns) != 2 || turns[1].status != 401 || turns[1].text != "no" {
		t.Errorf("%+v", turns)
	}
	turns = play(t, s, "worker", `[[mock:[{"tool":"write","args":{}},{"do":"err-402"}]]]`, nil)
	if turns[1].status != 402 || !strings.Contains(turns[1].text, "Insufficient credits") {
		t.Errorf("%+v", turns[1])
	}
}

// TestStepWithALimit proves that a limit counts requests, for each server and each directive apart.
func TestStepWithALimit(t *testing.T) {
	for range 2 {
		s := start(t, Options{})
		for i, want := range []int{429, 200, 200} {
			if got := ask(t, s, "err-429-once", nil, user("hi")); got.status != want {
				t.Errorf("request %d: status %d, want %d", i, got.status, want)
			}
		}
		prompt := user(`[[mock:[{"status":500,"times":2},{"text":"up again"}]]]`)
		for i, want := range []int{500, 500, 200} {
			if got := ask(t, s, "worker", nil, prompt); got.status != want {
				t.Errorf("directive, request %d: status %d, want %d", i, got.status, want)
			}
		}
	}
}

func TestLaterMessages(t *testing.T) {
	s := start(t, Options{})
	for _, c := range []struct {
		name   string
		second bool // whether the second answer has a block
		third  bool
	}{{"digest-on-ask", true, true}, {"digest-never", false, false}} {
		first := user("work [[mock:" + c.name + "]]")
		said := msg{"role": "assistant", "content": "words"}
		again := user("write the block")
		for i, want := range []bool{false, c.second, c.third} {
			messages := []msg{first}
			for range i {
				messages = append(messages, said, again)
			}
			got := ask(t, s, "worker", nil, messages...)
			if has := strings.Contains(got.text, digestMark); has != want || got.text == "" {
				t.Errorf("%s, answer %d: %q, want a block: %v", c.name, i+1, got.text, want)
			}
		}
	}
	// A directive with one answer does not reach beyond its message.
	got := ask(t, s, "text", nil, user("[[mock:err-401]]"), msg{"role": "assistant", "content": "x"}, user("hi"))
	if got.text != "Hello from the mock model." {
		t.Errorf("after a one-answer directive: %+v", got)
	}
}

func TestBadDirectivesAreSaid(t *testing.T) {
	s := start(t, Options{})
	for _, d := range []string{
		"[[mock:nonsense]]", "[[mock:text", `[[mock:{"tool":"x"]]`, `[[mock:{"tol":"x"}]]`, `[[mock:[]]]`,
		`[[mock:{"tool":"x"}`, `[[mock:[{"user":true}]]]`, `[[mock:{"do":"nope"}]]`, "[[mock:big-text many]]",
	} {
		got := ask(t, s, "worker", nil, user(d))
		if got.status != http.StatusBadRequest || !strings.Contains(got.text, "testmodel: ") {
			t.Errorf("%s: %+v", d, got)
		}
	}
	for _, r := range s.Requests() {
		if r.Error == "" {
			t.Errorf("%q left no error in the log", r.User)
		}
	}
}

func TestNestedDirectiveBelongsToTheSubagent(t *testing.T) {
	s := start(t, Options{})
	turns := play(t, s, "worker", `[[mock:{"tool":"task","args":{"prompt":"sub [[mock:err-401]]"}}]]`, nil)
	if len(turns) != 2 || !strings.HasPrefix(turns[0].calls[0], "task ") {
		t.Errorf("%+v", turns)
	}
}

func TestArgument(t *testing.T) {
	s := start(t, Options{})
	turns := play(t, s, "worker", "[[mock:secret hunter2-hunter2]]", nil)
	if !strings.Contains(turns[0].calls[0], "echo hunter2-hunter2") || !strings.Contains(turns[1].text, "hunter2-hunter2") {
		t.Errorf("%+v", turns)
	}
	if got := ask(t, s, "worker", nil, user("[[mock:big-text 1000001]]")); len(got.text) != 1000001 || strings.Contains(got.text, "\n") {
		t.Errorf("big-text: %d bytes", len(got.text))
	}
}

func TestFaults(t *testing.T) {
	s := start(t, Options{})
	if got := ask(t, s, "reset0", nil, user("hi")); !errors.Is(got.err, syscall.ECONNRESET) {
		t.Errorf("reset0: %+v", got)
	}
	if got := ask(t, s, "reset", nil, user("hi")); got.err == nil || got.text != "This stream is reset" {
		t.Errorf("reset: %+v", got)
	}
	if got := ask(t, s, "eof", nil, user("hi")); got.err != nil || got.finish != "" || got.done || got.text == "" {
		t.Errorf("eof: %+v", got)
	}
	if got := ask(t, s, "garbage", nil, user("hi")); got.err == nil {
		t.Errorf("garbage: %+v", got)
	}
	if got := ask(t, s, "err-529", nil, user("hi")); got.status != 529 || !strings.Contains(got.text, "Overloaded") {
		t.Errorf("err-529: %+v", got)
	}
}

// TestCloseEndsWhatHangs: a test that ends must not wait for a scenario that never does.
func TestCloseEndsWhatHangs(t *testing.T) {
	s := start(t, Options{})
	var wg sync.WaitGroup
	for _, model := range []string{"hang", "hang-headers", "stall"} {
		wg.Go(func() { ask(t, s, model, nil, user("hi")) })
	}
	for deadline := time.Now().Add(5 * time.Second); len(s.Requests()) < 3; {
		if time.Now().After(deadline) {
			t.Fatal("the requests did not arrive")
		}
		time.Sleep(5 * time.Millisecond)
	}
	begin := time.Now()
	s.Close()
	wg.Wait()
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("Close and the clients took %v", took)
	}
}

func TestBelievableWorker(t *testing.T) {
	s := start(t, Options{})
	all := []string{"read", "write"}
	contract := "\n\nEnd with a block that begins with ===DIGEST=== and lists the files that you write."
	turns := play(t, s, "worker", "Create a file hello.py that greets"+contract, all)
	if !strings.HasPrefix(turns[0].calls[0], `write {"content":"print(`) || !strings.Contains(turns[1].text, "\n- hello.py: new") {
		t.Errorf("write: %+v", turns)
	}
	listing := "<path>/p</path>\n<type>directory</type>\n<entries>\n.git/\na.txt\nREADME.md\nsub/\n\n(4 entries)\n</entries>"
	for name, prompt := range map[string]string{"a question": "What is in this project?" + contract, "no write tool": "Create a file hello.py" + contract} {
		turns = play(t, s, "other", prompt, []string{"read"}, listing, "# Hi")
		if len(turns) != 3 || turns[0].calls[0] != `read {"filePath":"."}` || turns[1].calls[0] != `read {"filePath":"README.md"}` ||
			!strings.Contains(turns[2].text, "- README.md says") || !strings.Contains(turns[2].text, digestMark) {
			t.Errorf("%s: %+v", name, turns)
		}
	}
	for task, want := range map[string]int{"Your reply lacked the block. Answer with it.": 0, "Create a file b.txt now": 1} {
		got := ask(t, s, "worker", all, user("Create a.txt"), msg{"role": "assistant", "content": "x"}, user(task+contract))
		if len(got.calls) != want || (want == 0 && !strings.Contains(got.text, digestMark)) {
			t.Errorf("a second message, %s: %+v", task, got)
		}
	}
	turns = play(t, s, "worker", "Say hi", nil)
	if len(turns) != 1 || turns[0].text == "" || strings.Contains(turns[0].text, digestMark) {
		t.Errorf("no tools, no contract: %+v", turns)
	}
}

func TestWorthReading(t *testing.T) {
	for _, c := range []struct {
		entries []string
		want    string
	}{{[]string{"a/", "b.txt", "c.txt"}, "b.txt"}, {[]string{"a.txt", "readme"}, "readme"}, {[]string{"a/"}, ""}, {nil, ""}} {
		if got := worthReading(c.entries); got != c.want {
			t.Errorf("worthReading(%q) = %q, want %q", c.entries, got, c.want)
		}
	}
}

func TestTitleRequestsAreApart(t *testing.T) {
	s := start(t, Options{})
	title := []msg{{"role": "system", "content": "You are a title generator."}, user("create a.txt [[mock:write]]")}
	if got := ask(t, s, "worker", nil, title...); got.text != "Mock session title" {
		t.Errorf("title: %+v", got)
	}
	if got := ask(t, s, "fail-title", nil, title[0], user("x")); got.status != 401 {
		t.Errorf("fail-title: %+v", got)
	}
	if r := s.Requests(); !r[0].Title || !r[1].Title {
		t.Errorf("log: %+v", r)
	}
}

func TestRequestsAndLog(t *testing.T) {
	var log bytes.Buffer
	s := start(t, Options{Log: &log})
	ask(t, s, "worker", []string{"read", "bash"}, msg{"role": "system", "content": "be good"}, user("[[mock:text]]"+strings.Repeat("z", maxKept)))
	got := s.Requests()
	if len(got) != 1 {
		t.Fatalf("%d requests", len(got))
	}
	r := got[0]
	if r.Scenario != "text" || r.Auth || strings.Join(r.Tools, ",") != "read,bash" || r.System != "be good" ||
		len(r.User) != maxKept || r.UserBytes != maxKept+13 || len(r.UserSHA256) != 64 {
		t.Errorf("%+v", r)
	}
	var logged Request
	if err := json.Unmarshal(log.Bytes(), &logged); err != nil || logged.UserSHA256 != r.UserSHA256 {
		t.Errorf("log %q: %v", head(log.String()), err)
	}
}

func TestStartRefusesTheWorld(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", ":0", "example.org:80", "192.0.2.1:1", "nonsense"} {
		if s, err := Start(Options{Addr: addr}); err == nil {
			s.Close()
			t.Errorf("Start(%q) listens", addr)
		}
	}
}

func TestScenariosAreWellFormed(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range Scenarios() {
		if seen[s.Name] || s.Help == "" || len(s.Answers) == 0 {
			t.Errorf("scenario %q: double, without help or without an answer", s.Name)
		}
		seen[s.Name] = true
		for i, steps := range s.Answers {
			if len(steps) == 0 {
				t.Errorf("scenario %q: answer %d has no step", s.Name, i)
			}
		}
	}
	var config struct {
		Provider map[string]struct {
			Options struct{ BaseURL string }
			Models  map[string]struct{ Cost *struct{ Input float64 } }
		}
	}
	s := start(t, Options{})
	if err := json.Unmarshal(s.Config(), &config); err != nil {
		t.Fatal(err)
	}
	p := config.Provider[Provider]
	if p.Options.BaseURL != s.URL || p.Models["worker"].Cost == nil || p.Models["unpriced"].Cost != nil || len(p.Models) != len(seen)+len(Neutral) {
		t.Errorf("config: %+v", p)
	}
}
