package permission

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"opencode-delegate/internal/fault"
)

// A rule is one line of opencode's ruleset.
type rule struct{ permission, pattern, action string }

// ruleset reads rules as opencode does: in the order in which the members stand.
func ruleset(t *testing.T, text json.RawMessage) []rule {
	t.Helper()
	o, err := parse(text)
	if err != nil {
		t.Fatalf("rules %s: %v", text, err)
	}
	var rules []rule
	for _, m := range o.members {
		var one string
		if json.Unmarshal(m.value, &one) == nil {
			rules = append(rules, rule{m.key, "*", one})
			continue
		}
		patterns, err := parse(m.value)
		if err != nil {
			t.Fatalf("rule %q: %v", m.key, err)
		}
		for _, p := range patterns.members {
			var a string
			if err := json.Unmarshal(p.value, &a); err != nil {
				t.Fatalf("rule %q %q: %v", m.key, p.key, err)
			}
			rules = append(rules, rule{m.key, p.key, a})
		}
	}
	return rules
}

// matches is opencode's wildcard: * is any text, also with slashes, ? one character.
func matches(text, pattern string) bool {
	q := regexp.QuoteMeta(pattern)
	q = strings.ReplaceAll(strings.ReplaceAll(q, `\*`, ".*"), `\?`, ".")
	return regexp.MustCompile("(?s)^" + q + "$").MatchString(text)
}

// decide is opencode's evaluation: the last rule that matches, else "ask".
func decide(rules []rule, permission, what string) string {
	for _, r := range slices.Backward(rules) {
		if matches(permission, r.permission) && matches(what, r.pattern) {
			return r.action
		}
	}
	return "ask"
}

func TestProfilesHoldExactlyTheirTools(t *testing.T) {
	every := []string{"read", "glob", "grep", "list", "invalid", "edit", "write", "patch", "apply_patch", "bash", "todowrite", "task",
		"external_directory", "webfetch", "websearch", "repo_clone", "repo_overview", "lsp", "skill", "question",
		"plan_enter", "plan_exit", "doom_loop", "codesearch", "someserver_sometool", "a_tool_of_next_year"}
	read := []string{"read", "glob", "grep", "list", "invalid"}
	standard := append(slices.Clone(read), "edit", "write", "patch", "apply_patch", "bash", "todowrite")
	test := append(slices.Clone(standard), "task")
	full := slices.DeleteFunc(slices.Clone(every), func(s string) bool {
		return slices.Contains([]string{"question", "plan_enter", "plan_exit", "doom_loop"}, s)
	})
	research := append(slices.Clone(read), "webfetch", "websearch")
	for p, allowed := range map[Profile][]string{ReadOnly: read, Research: research, Standard: standard, TrustedTest: test, FullTrusted: full} {
		rules := ruleset(t, p.Rules())
		for _, tool := range every {
			want := "deny"
			if slices.Contains(allowed, tool) {
				want = "allow"
			}
			if got := decide(rules, tool, "x"); got != want {
				t.Errorf("%s: %s = %s, want %s", p, tool, got, want)
			}
		}
		for _, r := range rules {
			if r.action == "ask" {
				t.Errorf("%s: rule %v asks, and nobody would answer", p, r)
			}
		}
	}
}

func TestTheFirstRuleDenies(t *testing.T) {
	for _, p := range []Profile{ReadOnly, Research, Standard, TrustedTest} {
		if got := ruleset(t, p.Rules())[0]; got != (rule{"*", "*", "deny"}) {
			t.Errorf("%s opens with %v", p, got)
		}
	}
}

func TestReadSparesSecrets(t *testing.T) {
	for file, want := range map[string]string{
		"main.go": "allow", ".env": "deny", "a/b/.env": "deny", ".env.production": "deny", "a/.env.local": "deny",
		".env.example": "allow", "a/.env.example": "allow", "environment.md": "allow", "mcp:server:res://x": "deny",
	} {
		if got := decide(ruleset(t, ReadOnly.Rules()), "read", file); got != want {
			t.Errorf("read %s = %s, want %s", file, got, want)
		}
	}
	if got := decide(ruleset(t, FullTrusted.Rules()), "read", ".env"); got != "allow" {
		t.Errorf("full-trusted reads .env: %s", got)
	}
}

func TestOutsideOpensOnlyWhatIsNamed(t *testing.T) {
	rules := ruleset(t, Standard.Rules("/tmp", "/home/u/go/pkg/mod/", "/odd*", "/q?", "/{env:HOME}", "relative"))
	for path, want := range map[string]string{
		"/tmp/*": "allow", "/tmp/x/y": "allow", "/home/u/go/pkg/mod/*": "allow", "/home/u/go/pkg/mod": "allow", "/home/u/*": "deny",
		"/etc/*": "allow", "/usr/include/x": "allow", "/home/*": "deny", "/etcetera/*": "deny", "/tmpfile/*": "deny", "/odder/*": "deny", "/qq/*": "deny", "relative/x": "deny",
	} {
		if got := decide(rules, "external_directory", path); got != want {
			t.Errorf("external_directory %s = %s, want %s", path, got, want)
		}
	}
	if got := decide(ruleset(t, ReadOnly.Rules("/tmp")), "external_directory", "/etc/*"); got != "deny" {
		t.Errorf("read-only reads /etc: %s", got)
	}
	if text := string(Standard.Rules("/{env:HOME}")); strings.Contains(text, "{env") {
		t.Errorf("a substitution of opencode got into the rules: %s", text)
	}
}

func TestParse(t *testing.T) {
	for name, want := range map[string]Profile{"read-only": ReadOnly, "minimal": ReadOnly, "standard": Standard,
		"workspace-write": Standard, "trusted-test": TrustedTest, "full-trusted": FullTrusted, "allow_all": FullTrusted} {
		p, err := Parse(name)
		if err != nil || p != want || p.Name() != string(want) || p.Writes() != (want != ReadOnly) {
			t.Errorf("Parse(%q) = %v (writes %v), %v", name, p, p.Writes(), err)
		}
	}
	for _, name := range []string{"", "plan", "Read-Only", "read-only "} {
		if _, err := Parse(name); fault.Of(err) == nil || fault.Of(err).Kind != fault.Usage {
			t.Errorf("Parse(%q): %v", name, err)
		}
	}
}
