package plugin_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"opencode-delegate/internal/delegate"
	"opencode-delegate/internal/policy"
	"opencode-delegate/internal/testplace"
)

// A line is a call of ours in a text, as a model would make it.
type line struct {
	text string
	bang bool // Claude Code makes it
}

var (
	spans = regexp.MustCompile("`([^`]+)`")
	calls = regexp.MustCompile(`\boc-(delegate|job)\s`)
)

// lines are all calls of a text. A call that is not in code, or is not a plain one, is an error: nobody would try it.
func lines(body string) (list []line, err error) {
	take := func(text string, bang bool) string {
		if text = strings.ReplaceAll(text, "\n   ", "\n"); !calls.MatchString(text) {
			return ""
		}
		if _, e := policy.Words(text); e != nil && err == nil {
			err = fmt.Errorf("%q: %w", text, e)
		}
		list = append(list, line{text, bang})
		return ""
	}
	rest := fences.ReplaceAllStringFunc(body, func(f string) string {
		m := fences.FindStringSubmatch(f)
		if m[1] != "sh" {
			return m[2]
		}
		return take(m[2], false)
	})
	rest = bangs.ReplaceAllStringFunc(rest, func(b string) string { return take(b[2:len(b)-1], true) })
	rest = spans.ReplaceAllStringFunc(rest, func(s string) string { return take(strings.ReplaceAll(s[1:len(s)-1], "\n", " "), false) })
	if stray := calls.FindStringIndex(rest); stray != nil && err == nil {
		err = fmt.Errorf("a call that is not in code: %q", rest[stray[0]:min(len(rest), stray[0]+60)])
	}
	return list, err
}

func TestLinesAreFound(t *testing.T) {
	got, err := lines("Run `oc-delegate` or\n\n!`oc-job status`\n\n```sh\noc-delegate - <<'E'\nx `y`\nE\n```\n1. so\n\n   ```sh\n   oc-job list\n   ```\n\n" +
		"and `oc-job wait\nID`, `git diff`.\n```text\nnothing\n```\n")
	want := []line{{"oc-delegate - <<'E'\nx `y`\nE\n", false}, {"   oc-job list\n", false}, {"oc-job status", true}, {"oc-job wait ID", false}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	for _, bad := range []string{
		"Run oc-delegate x now.\n", "```text\noc-job list\n```\n", "Try `git diff | oc-delegate x -`.\n", "```sh\noc-job list\noc-job status\n```\n",
		"```sh\noc-job list | head\n```\n", "!`oc-job list; oc-job status`\n", "    oc-job list\n",
	} {
		if got, err := lines(bad); err == nil {
			t.Errorf("%q is taken for %+v", bad, got)
		}
	}
}

// me is the session whose calls the lines are.
const me = "5afc92f8-c25c-4759-9aec-d6e948350d73"

// A bench is a place where lines are tried: a project with what they name, under git, with something to review.
type bench struct {
	*testplace.Place
	programs string
	number   int
}

func newBench(t *testing.T, programs string) *bench {
	t.Helper()
	b := &bench{testplace.Fake(t, "OC_FAKE=sh", "OC_FAKE_SH=date +%s%N > out.txt", `OC_FAKE_TEXT={"findings": []}`, "GORACE=atexit_sleep_ms=0", "CLAUDE_CODE_SESSION_ID="+me), programs, 0}
	b.Write("project/Makefile", "build test:\n\t@true\n")
	for _, file := range []string{"docs/spec.md", "docs/architecture.md", "docs/migration.md", "src/payments.py", "src/billing/api.py", "src/search/api.py", "tests/t.py", "build.log", "FILE"} {
		b.Write("project/"+file, "one\n")
	}
	b.Git("init", "-q", "-b", "main")
	b.Git("config", "user.name", "t")
	b.Git("config", "user.email", "t@example.org")
	b.Git("add", ".")
	b.Git("commit", "-q", "-m", "one")
	b.Git("tag", "REF")
	b.Git("switch", "-q", "-c", "work")
	b.Write("project/src/payments.py", "two\n")
	return b
}

// run is a shell in the project with the programs on its PATH. Each line has a state directory of its own, so that none rests on another.
func (b *bench) run(script string, env ...string) (stdout, stderr string, exit int) {
	b.T.Helper()
	cmd := exec.Command("sh", "-eu", "-c", script)
	cmd.Dir = b.Project
	cmd.Env = append(append(b.Env, "PATH="+b.programs+string(filepath.ListSeparator)+os.Getenv("PATH"),
		fmt.Sprintf("OC_DELEGATE_STATE=%s", filepath.Join(b.Root, fmt.Sprintf("state-%d", b.number)))), env...)
	var out, err strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &err
	if e := cmd.Run(); cmd.ProcessState == nil {
		b.T.Fatal(e)
	}
	return out.String(), err.String(), cmd.ProcessState.ExitCode()
}

// must is a run on which a line rests.
func (b *bench) must(want int, script string, env ...string) {
	b.T.Helper()
	if out, stderr, exit := b.run(script, env...); exit != want {
		b.T.Fatalf("%s: exit %d\n%s%s", script, exit, out, stderr)
	}
}

// prepare makes the jobs and sessions that a call names.
func (b *bench) prepare(r policy.Reading) {
	b.T.Helper()
	names := slices.Clone(r.Flags["after"])
	switch r.Verb {
	case "wait", "result", "status", "logs", "cancel", "retry":
		names = append(names, r.Args...)
	case "continue", "recover":
		names = append(names, r.Args[:min(1, len(r.Args))]...)
	case "diff", "apply", "merge", "discard", "undo":
		b.work(r.Verb, r.Args[0])
	}
	for _, name := range names {
		if r.Verb == "recover" {
			b.must(12, "oc-job start --timeout 1s --name "+name+" 'Do it.' && oc-job wait "+name, "OC_FAKE=hang")
			continue
		}
		b.must(0, "oc-job start --name "+name+" 'Do it.' && oc-job wait "+name)
	}
	if r.Verb == "fix" {
		// A review has no name of its own; one that is done again has.
		name := r.Flags["from"][0]
		b.must(0, "oc-delegate review && oc-job retry --name "+name+" && oc-job wait "+name,
			`OC_FAKE_TEXT={"findings":[{"file":"src/payments.py","line":1,"claim":"a"},{"file":"src/payments.py","line":1,"claim":"b"},{"file":"src/payments.py","line":1,"claim":"c"}]}`)
	}
	for _, id := range r.Flags["session"] {
		b.must(0, "oc-delegate 'Do it.'", "OC_FAKE=session:"+id)
	}
	if len(names) == 0 && r.Verb != "" && !slices.Contains(onWork, r.Verb) {
		b.must(0, "oc-delegate 'Do it.'") // the newest job, where none is named
	}
}

// onWork are verbs about what a job has written.
var onWork = []string{"diff", "apply", "merge", "discard", "undo"}

// work makes a job that has written: in a copy, but for undo.
func (b *bench) work(verb, name string) {
	b.T.Helper()
	script := "rm -f out.txt; oc-job start --write --isolate --name " + name + " 'Do it.' && oc-job wait " + name
	switch verb {
	case "merge": // which needs a tree in which nothing is changed
		script = "git commit -q -a -m two --allow-empty; " + script
	case "undo":
		script = strings.Replace(script, " --isolate", "", 1)
	}
	b.must(0, script)
}

// judge holds a call to what the hook before a tool call would say: the conductor may make each that only reads, and the subagent each that neither names a check nor
// lands work. What only the conductor may do, once its host has asked the user, stands in no text of the subagent's.
func (b *bench) judge(text string, kind kind) error {
	jobs := func(string) (policy.Job, error) {
		return policy.Job{Caller: me, Request: delegate.Request{Schema: 1, Dir: b.Project, Profile: "read-only", Caller: me}}, nil
	}
	c := policy.Call{Tool: "Bash", Command: text, Cwd: b.Project, Project: b.Project, AgentType: policy.Subagent, PermissionMode: "default", Caller: me}
	words, err := policy.Words(text)
	if err != nil {
		return err
	}
	verb := words[min(1, len(words)-1)]
	conductors := slices.Contains(words, "--verify") || slices.Contains(onWork[1:], verb)
	want := policy.Allow
	if conductors {
		want = policy.Deny
	}
	if conductors && kind == agent {
		return errors.New("the subagent is told to make a call that it may not make")
	}
	if d := policy.Decide(c, policy.Policy{}, jobs); d.Verdict != want {
		return fmt.Errorf("the subagent: %v, want %v: %s", d.Verdict, want, d.Reason)
	}
	want = policy.Allow
	if conductors || slices.Contains(words, "--write") || slices.Contains(words, "--out") || verb == "fix" {
		want = policy.None // the user is asked
	}
	c.AgentType = ""
	if d := policy.Decide(c, policy.Policy{}, jobs); d.Verdict != want {
		return fmt.Errorf("the conductor: %v, want %v: %s", d.Verdict, want, d.Reason)
	}
	return nil
}

// try makes one call as it stands.
func (b *bench) try(l line, kind kind) error {
	b.T.Helper()
	b.number++
	words, err := policy.Words(l.text)
	if err != nil {
		return err
	}
	if l.bang {
		out, stderr, exit := b.run(l.text)
		if exit != 0 || strings.TrimSpace(out) == "" {
			return fmt.Errorf("exit %d, stdout %q, stderr %q: behind a ! it has to say something and to exit 0", exit, out, stderr)
		}
		return nil
	}
	if err := b.judge(l.text, kind); err != nil {
		return err
	}
	r, err := policy.ReadWords(words)
	if err != nil {
		return err
	}
	b.prepare(r)
	out, stderr, exit := b.run(l.text)
	if exit != 0 || out+stderr == "" {
		return fmt.Errorf("exit %d\n%s%s", exit, out, stderr)
	}
	if words[0] == policy.Jobber && slices.Contains([]string{"start", "continue", "retry", "recover"}, r.Verb) {
		if out, stderr, exit := b.run("oc-job wait --timeout 300s"); exit != 0 {
			return fmt.Errorf("the job: exit %d\n%s%s", exit, out, stderr)
		}
	}
	return nil
}

// TestLines makes each call that a text of the plugin shows, as it stands there, against the fake opencode.
func TestLines(t *testing.T) {
	programs := t.TempDir()
	build := exec.Command("go", "build", "-o", programs+string(filepath.Separator), "../cmd/oc-delegate", "../cmd/oc-job")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	tried := 0
	for _, p := range append(pages(t), readme(t)) {
		list, err := lines(p.body)
		if err != nil {
			t.Errorf("%s: %v", p.path, err)
		}
		if len(list) == 0 {
			continue
		}
		t.Run(p.path, func(t *testing.T) {
			b := newBench(t, programs)
			for _, l := range list {
				if err := b.try(l, p.kind); err != nil {
					t.Errorf("%s\n%v", l.text, err)
				}
			}
		})
		tried += len(list)
	}
	t.Logf("%d calls", tried)
	if tried < 50 {
		t.Errorf("%d calls were found, want at least 50", tried)
	}
}

// readmeAround is README.md: whole, before the section of a title, that section, and from the next one on.
func readmeAround(t *testing.T, title string) (text, before, section, after string) {
	t.Helper()
	data, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(data), "\n## "+title+"\n")
	section, after, ok2 := strings.Cut(rest, "\n## ")
	if !ok || !ok2 {
		t.Fatalf("README.md has no section %q", title)
	}
	return string(data), before, section, after
}

// readme is README.md as far as no other test runs what stands there: those of the two commands run its indented lines.
func readme(t *testing.T) page {
	t.Helper()
	text, before, _, after := readmeAround(t, "Background jobs")
	var fenced strings.Builder
	for _, f := range fences.FindAllString(text, -1) {
		fenced.WriteString(f + "\n")
	}
	for l := range strings.Lines(fences.ReplaceAllString(before+after, "")) {
		code, indented := strings.CutPrefix(l, "    ")
		run := strings.HasPrefix(code, "oc-delegate ") || strings.HasPrefix(code, "dist/oc-delegate ") || strings.Contains(code, "| oc-delegate ")
		if indented && calls.MatchString(code) && !run && !strings.HasPrefix(code, "install ") {
			t.Errorf("README.md: nothing runs %q: put it into a block of the kind sh", code)
		}
	}
	return page{path: "README.md", kind: reference, body: fenced.String()}
}
