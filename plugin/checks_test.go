package plugin_test

import (
	"strings"
	"testing"
)

// A good page of each kind, which each case below breaks in one place.
const (
	goodCommand = "---\ndescription: Show it\nargument-hint: \"[ID]\"\nallowed-tools: Bash(oc-job status --args-from-hook)\ndisable-model-invocation: true\n---\n\n" +
		"!`oc-job status --args-from-hook`\n\nShow it: /opencode:status.\n\n```sh\noc-job wait --timeout 110s ID\n```\n\nJOB_RUNNING. Arguments: $ARGUMENTS\n"
	goodAgent = "---\nname: x\ndescription: Does it\ntools: Bash\nmodel: haiku\ncolor: cyan\nmaxTurns: 3\n---\n\nDo `oc-delegate --digest`.\n"
)

// TestChecksFind: each check of the texts fails for a text that breaks its rule, and for no other.
func TestChecksFind(t *testing.T) {
	for _, c := range []struct {
		kind     kind
		text     string
		old, new string // what is changed in it
		want     string // a part of what is said; empty = nothing is
	}{
		{command, goodCommand, "", "", ""},
		{agent, goodAgent, "", "", ""},
		{reference, "Costs $5, `${X}`.\n", "", "", ""},

		{command, goodCommand, "---\ndescription", "\n---\ndescription", "no frontmatter"},
		{command, goodCommand, "true\n---\n", "true\n", "no frontmatter"},
		{command, goodCommand, "description: Show it\n", "", "description is not there"},
		{command, goodCommand, "disable-model-invocation: true\n", "", "disable-model-invocation is not there"},
		{command, goodCommand, "disable-model-invocation: true\n", "disable-model-invocation: false\n", "listed in every session"},
		{command, goodCommand, "argument-hint", "arguments-hint", "no member"},
		{command, goodCommand, "argument-hint", "model", "no member"},
		{command, goodCommand, "Show it\n", "Show it\ndescription: Twice\n", "twice"},
		{command, goodCommand, "Show it\n", "Show: it\n", "double quotes"},
		{command, goodCommand, "Show it\n", "Show it #1\n", "double quotes"},
		{command, goodCommand, "Show it\n", "[Show it\n", "double quotes"},
		{command, goodCommand, "Show it\n", "*Show it\n", "double quotes"},
		{command, goodCommand, "Show it\n", "Show it:\n", "double quotes"},
		{command, goodCommand, "Show it\n", "  Show it\n", "double quotes"},
		{command, goodCommand, "Show it\n", "Show it \n", "no line of a key"},
		{command, goodCommand, "Show it\n", "\n", "no line of a key"},
		{command, goodCommand, `"[ID]"`, `"[ID"]"`, "cannot be read"},
		{command, goodCommand, `"[ID]"`, `"[ID]\t"`, "cannot be read"},
		{agent, goodAgent, "model: haiku\n", "", "model is not there"},
		{agent, goodAgent, "tools: Bash\n", "", "tools is not there"},
		{skill, goodAgent, "", "", "no member"},
		{reference, goodAgent, "", "", "no frontmatter"},

		{agent, goodAgent, "name: x", "name: y", "it is called"},
		{agent, goodAgent, "Do ", "Do \"$CLAUDE_PLUGIN_ROOT\"/bin/", "variable of Claude Code"},
		{agent, goodAgent, "Do ", "Do\t", "tabs"},
		{agent, goodAgent, "Do ", "!`oc-job status` ", "it runs"},
		{agent, goodAgent, "Do ", "Do $ARGUMENTS ", "would replace"},
		{command, goodCommand, "Show it:", "For $5 show it:", "would replace"},
		{command, goodCommand, "Show it:", "In ${HOME} show it:", "would replace"},
		{command, goodCommand, "Bash(oc-job status --args-from-hook)", "Bash(oc-job status:*)", "may run"},
		{command, goodCommand, "Bash(oc-job status --args-from-hook)", "Bash(oc-job:*)", "may run"},
		{command, goodCommand, "!`oc-job status --args-from-hook`\n", "", "runs 0 commands"},
		{command, goodCommand, "!`oc-job status --args-from-hook`", "!`oc-job status $ARGUMENTS`", "not one plain call"},
		{command, goodCommand, "!`oc-job status --args-from-hook`", "!`git status`", "not one plain call"},
		{command, goodCommand, "!`oc-job status --args-from-hook`", "!`oc-job status; oc-job list`", "not one plain call"},
		{command, strings.ReplaceAll(goodCommand, "oc-job status --args-from-hook", "oc-delegate review"), "", "", "does not exit 0"},
		{command, goodCommand, "110s ID", "110s $ARGUMENTS", "with the arguments in it"},
		{agent, goodAgent, "Do ", "See @AGENTS.md and do ", "into the conversation"},
		{command, goodCommand, "```sh", "```", "of the kind"},
		{command, goodCommand, "```sh", "```python", "of the kind"},
		{command, goodCommand, "--timeout", "--timeouts", "no flag --timeouts"},
		{command, goodCommand, "[ID]", "[--verbose]", "no flag --verbose"},
		{agent, goodAgent, "--digest", "--digests", "no flag --digests"},
		{command, goodCommand, "JOB_RUNNING", "JOB_RUNS", "no status JOB_RUNS"},
	} {
		if c.old != "" && strings.Count(c.text, c.old) == 0 {
			t.Fatalf("%q is not in the text", c.old)
		}
		p, err := parse("x.md", c.kind, strings.Replace(c.text, c.old, c.new, 1))
		said := p.problems()
		if err != nil {
			said = []string{err.Error()} // what was not read whole has more, which says nothing
		}
		got := strings.Join(said, "\n")
		if c.want == "" && got != "" || c.want != "" && !strings.Contains(got, c.want) {
			t.Errorf("%q for %q is said to be %q, want %q", c.new, c.old, got, c.want)
		}
	}
}
