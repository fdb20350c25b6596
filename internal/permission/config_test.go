package permission

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"opencode-delegate/internal/fault"
)

func TestConfigNamesEachAgentTwice(t *testing.T) {
	name := AgentName("7f3a")
	var got struct {
		Default string `json:"default_agent"`
		Agent   map[string]struct {
			Mode       string
			Disable    *bool
			Permission json.RawMessage
		}
		Mode map[string]struct{ Permission json.RawMessage }
	}
	if err := json.Unmarshal(Config(ReadOnly, []string{name, "build"}, "/tmp"), &got); err != nil {
		t.Fatal(err)
	}
	want := string(ReadOnly.Rules("/tmp"))
	if got.Default != name || got.Agent[name].Mode != "primary" || got.Agent["build"].Mode != "" {
		t.Errorf("default %q, modes %q and %q", got.Default, got.Agent[name].Mode, got.Agent["build"].Mode)
	}
	for _, n := range []string{name, "build"} {
		if string(got.Agent[n].Permission) != want || string(got.Mode[n].Permission) != want {
			t.Errorf("%s: rules differ from the profile's", n)
		}
		if d := got.Agent[n].Disable; d == nil || *d {
			t.Errorf("%s: a repository could disable it", n)
		}
	}
	if _, ok := got.Agent["general"]; ok {
		t.Error("read-only defines a subagent that it never may call")
	}
	if text := string(Config(TrustedTest, []string{name})); !strings.Contains(text, `"general":{"permission":{"*":"deny"`) {
		t.Errorf("trusted-test leaves the subagent general as it is: %s", text)
	}
	if Env(ReadOnly, "/tmp") != want {
		t.Error("OPENCODE_PERMISSION differs from the profile's rules")
	}
}

func TestMergeKeepsTheUserAndPutsOursLast(t *testing.T) {
	user := "\ufeff" + `{
	  // a comment with "quotes", and a comma,
	  "model": "a/b", /* and { another } */
	  "agent": {"build": {"permission": {"*": "allow", "b*": "allow", "bash": "allow",}, "prompt": "http://x // no comment"}},
	  "instructions": ["a.md",],
	  "permission": "allow",
	  "n": 12345678901234567890.10,
	}`
	ours := `{"permission":{"*":"deny"},"agent":{"build":{"permission":{"*":"deny","bash":"deny"}}},"instructions":["/r/AGENTS.md"]}`
	got, err := Merge([]byte(user), []byte(ours))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"model":"a/b","n":12345678901234567890.10,"permission":{"*":"deny"},` +
		`"agent":{"build":{"prompt":"http://x // no comment","permission":{"b*":"allow","*":"deny","bash":"deny"}}},` +
		`"instructions":["a.md","/r/AGENTS.md"]}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestMergeOfNothing(t *testing.T) {
	for _, user := range []string{"", " \n", "{}", "// only words", "/* */"} {
		got, err := Merge([]byte(user), []byte(`{"a":1}`))
		if err != nil || string(got) != `{"a":1}` {
			t.Errorf("Merge(%q) = %s, %v", user, got, err)
		}
	}
}

func TestMergeRefusesWhatIsNoObject(t *testing.T) {
	for _, user := range []string{"[]", "1", `"x"`, "{", `{"a"}`, `{"a":1} x`, `{"a":1}{}`, `{"a":/*`, `{'a':1}`, `{"a":1,,}`,
		`{,}`, `{"instructions":"a"}`, `{"a":"` + strings.Repeat("x", maxContent) + `"}`} {
		_, err := Merge([]byte(user), []byte(`{"instructions":[]}`))
		if f := fault.Of(err); f == nil || f.Kind != fault.Usage || !strings.Contains(f.Reason, "OPENCODE_CONFIG_CONTENT") {
			t.Errorf("Merge(%.40q): %v", user, err)
		}
	}
}

func FuzzMerge(f *testing.F) {
	for _, s := range []string{`{"a":1,}`, `{"permission":{"*":"allow"}}`, `// x`, `{"a":"\"//"}`, `{"agent":[{}]}`, "\xff{"} {
		f.Add([]byte(s))
	}
	ours := Config(ReadOnly, []string{"build"})
	f.Fuzz(func(t *testing.T, user []byte) {
		got, err := Merge(user, ours)
		if err != nil {
			return
		}
		if !json.Valid(got) {
			t.Fatalf("invalid JSON: %s", got)
		}
		var v struct {
			Agent map[string]struct{ Permission json.RawMessage }
		}
		if err := json.Unmarshal(got, &v); err != nil {
			t.Fatal(err)
		}
		for _, tool := range []string{"bash", "edit", "task", "webfetch"} {
			if a := decide(ruleset(t, v.Agent["build"].Permission), tool, "x"); a != "deny" {
				t.Fatalf("%s = %s in %s", tool, a, fmt.Sprintf("%.300s", got))
			}
		}
	})
}
