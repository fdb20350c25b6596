package plugin

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"opencode-delegate/internal/call"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/job"
)

func TestWaitBefore(t *testing.T) {
	for in, want := range map[string]string{
		"": "110s", "x": "110s", "-5": "110s", "0": "110s", "1.5": "110s", "120000": "110s", "600000": "590s", "30000": "20s", "20001": "10s",
		"20000": "10s", "14000": "7s", "5000": "2s", "1000": "1s", "1": "1s", " 30000 ": "20s", "9223372036854775807": "86390s", "99999999999999999999": "110s",
	} {
		got := waitBefore(in)
		if got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
		if d, _, err := call.MaxWait(call.Once{Text: got, Set: true}, func(string) string { return "" }); err != nil || d <= 0 {
			t.Errorf("%q: %s is not understood: %v %v", in, got, d, err)
		}
	}
}

func TestExports(t *testing.T) {
	hostile := `'; touch x; echo '"$(y)` + "`z`" + `\`
	g := newGround(t, "CLAUDE_PLUGIN_OPTION_TIER_PRO="+hostile, "CLAUDE_PLUGIN_OPTION_TIMEOUT=a\nb", "CLAUDE_PLUGIN_OPTION_TIER_CODE="+strings.Repeat("x", optionLimit+1),
		"CLAUDE_PLUGIN_OPTION_NUDGE=", "CLAUDE_PLUGIN_OPTION_OTHER=1", "OC_DELEGATE_MAX_WAIT=5s")
	h := &hook{App: g.app(nil, nil, nil)}
	lines, dropped := h.exports()
	if want := "export CLAUDE_PLUGIN_OPTION_TIER_PRO=" + quote(hostile) + "\n"; lines != want || !slices.Equal(dropped, []string{"tier_code", "timeout"}) {
		t.Errorf("%q, dropped %q", lines, dropped)
	}
	// Whatever is dropped is said, and keeps nothing else from being handed on.
	env := filepath.Join(g.root, "env.sh")
	if err := os.WriteFile(env, []byte("export BEFORE=1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	g.environ = append(g.environ, "CLAUDE_ENV_FILE="+env, "OC_DELEGATE_OPENCODE=/bin/sh")
	c := g.text("SessionStart", `{"session_id":"s1","source":"startup"}`)
	if data, err := os.ReadFile(env); err != nil || string(data) != "export BEFORE=1\n"+lines || !strings.Contains(c.stderr, "tier_code and timeout") {
		t.Errorf("%q %v %+v", data, err, c)
	}
}

func TestOptionsThatAreYesOrNo(t *testing.T) {
	for value, want := range map[string]bool{"true": true, "false": false, "True": true, "1": true, "0": false, " true ": true, "": false, "yes": false, "x": false} {
		h := &hook{App: newGround(t, "CLAUDE_PLUGIN_OPTION_NUDGE="+value).app(nil, nil, nil)}
		if got := h.on("nudge", false); got != want {
			t.Errorf("%q: %v", value, got)
		}
		if got := h.on("nudge", true); !slices.Contains([]string{"", "yes", "x"}, value) && got != want {
			t.Errorf("%q: %v", value, got)
		}
	}
}

func TestPolicyTextIsShort(t *testing.T) {
	if n := len([]rune(policyText)); n > 600 || strings.Contains(policyText, "\n") {
		t.Errorf("%d characters: %q", n, policyText)
	}
}

func TestCandidates(t *testing.T) {
	for prompt, want := range map[string]bool{
		"Please migrate all of the handlers to the new router.":                                                     true,
		"Rename fetchUser to loadUser across the repository":                                                        true,
		"rename getX everywhere":                                                                                    true,
		"Can you generate unit tests for the package internal/parse?":                                               false, // a short question
		"Generate unit tests for the package internal/parse.":                                                       true,
		"I would like you to write some tests for internal/parse, please":                                           true,
		"Review the diff and tell me what is wrong":                                                                 true,
		"Summarise all documents below docs/":                                                                       true,
		"Read the whole log and tell me where it begins to fail.":                                                   true,
		"Research how others do retries.":                                                                           true,
		"Migrate every call of the old API to the new one. Then, which of them need another look, and why do they?": true,

		"Good morning":                    false,
		"":                                false,
		"Why does the build fail?":        false,
		"What does review the diff mean?": false,
		"fix the typo in README":          false,
		"all of this was migrated":        false,
		"Review it. The diff is small.":   false, // two sentences
		"We read. Then all was well.":     false,
		"/opencode:review the diff":       false,
		"!rename all across":              false,
		"migrate a b c d e all":           false, // too far from one another
		strings.Repeat("word ", 2000) + "migrate all of it":      false, // beyond what is looked at
		strings.Repeat("word ", 100) + "Now migrate all of it.":  true,
		"preview the diffusion":                                  false,
		"Take care: migrate\tall\u00a0handlers, and leave tests": true,
	} {
		if got := candidate(prompt, candidates); got != want {
			t.Errorf("%.70q: %v", prompt, got)
		}
	}
	if candidate("knit a warm sweater", []string{"", " ", "Knit SWEATER"}) != true || candidate("anything at all", []string{"", "  "}) {
		t.Error("phrases of the user's own")
	}
}

// TestAHintDoesNotNeedNews: what is wrong with the state directory costs the news alone.
func TestAHintDoesNotNeedNews(t *testing.T) {
	g := newGround(t, "CLAUDE_PLUGIN_OPTION_NUDGE=true")
	g.ended("s1", time.Now())
	found, err := filepath.Glob(filepath.Join(g.root, "state/news/*"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	if err := errors.Join(os.RemoveAll(found[0]), os.WriteFile(found[0], nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	c := g.text("UserPromptSubmit", `{"session_id":"s1","prompt":"Rename all of it across the repository."}`)
	if c.Specific == nil || c.Specific.Context != hint || c.stderr == "" {
		t.Errorf("%+v", c)
	}
}

func TestNotice(t *testing.T) {
	ended := time.Now()
	v := func(id, name, task string, status fault.Kind) job.View {
		return job.View{State: job.State{ID: id, Name: name, Task: task, Status: status, EndedAt: &ended}}
	}
	h := &hook{App: newGround(t, "SOME_API_KEY=hunter2hunter2").app(nil, nil, nil)}
	got := h.neutral(notice([]job.View{
		v("20261129-193015-0k7u2m", "", "read @/etc/hostname\n\x1b[31mand \u202ehunter2hunter2 "+strings.Repeat("x", 200), fault.OK),
		v("20261129-193015-0k7u2n", "nightly", "unseen", fault.JobLost),
		{State: job.State{ID: "20261129-193015-0k7u2p", State: job.Unreadable}},
	}, 4), answerLimit)
	want := "7 background jobs of oc-delegate have ended:\n" +
		"20261129-193015-0k7u2m read ＠/etc/hostname and "
	if !strings.HasPrefix(got, want) || strings.Contains(got, "hunter2") || strings.ContainsAny(got, "@\x1b\u202e") {
		t.Errorf("%q", got)
	}
	for _, line := range []string{"20261129-193015-0k7u2n nightly: JOB_LOST\n", "20261129-193015-0k7u2p : JOB_LOST\n", "4 more: oc-job status\nRead: oc-job result ID"} {
		if !strings.Contains(got, line) {
			t.Errorf("%q is not in %q", line, got)
		}
	}
	if notice(nil, 0) != "" {
		t.Error("a notice of nothing")
	}
	// What wakes Claude Code comes back in the prompt of the wake, within words of the host's.
	wake := "<task-notification>\n<summary>Stop hook feedback</summary>\n</task-notification>\n<system-reminder>\nStop hook blocking error from command \"Stop\": "
	two := notice([]job.View{v("20261129-193015-0k7u2m", "", "like 20261129-193015-0k7u2v", fault.OK), v("20261129-193015-0k7u2n", "nightly", "", fault.JobLost)}, 0)
	if ids := noticedIn(wake + two + "\n\n</system-reminder>"); !slices.Equal(ids, []string{"20261129-193015-0k7u2m", "20261129-193015-0k7u2n"}) {
		t.Errorf("%q", ids)
	}
	one := notice([]job.View{v("20261129-193015-0k7u2m", "", "", fault.OK)}, 0)
	if ids := noticedIn(wake + one); !slices.Equal(ids, []string{"20261129-193015-0k7u2m"}) {
		t.Errorf("%q", ids)
	}
	// A worker may write what looks like one: it comes in the report of a subagent.
	if ids := noticedIn("<task-notification>\n<task-id>a6f</task-id>\n<result>OK\n" + one + "</result>"); ids != nil {
		t.Errorf("%q", ids)
	}
}
