package policy

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestThePolicyWidens(t *testing.T) {
	g := newGround(t)
	for _, c := range []struct{ policy, command string }{
		{`{"allow_flags": ["agent"]}`, "oc-delegate --agent build x"},
		{`{"allow_flags": ["agent=build"]}`, "oc-delegate --agent build x"},
		{`{"allow_flags": ["agent=build"]}`, "oc-job continue agent x"},
		{`{"allow_flags": ["no-sandbox"]}`, "oc-delegate --no-sandbox x"},
		{`{"allow_flags": ["no-sandbox"]}`, "oc-job retry loose"},
		{`{"allow_flags": ["allow-read={outside}"]}`, "oc-delegate --allow-read {outside} x"},
		{`{"allow_flags": ["allow-read"]}`, "oc-delegate --allow-read {outside} x"},
		{`{"allow_flags": ["keep-env=A=b"]}`, "oc-delegate --keep-env A=b x"},
		{`{"allow_flags": ["profile=trusted-test"]}`, "oc-delegate --write --profile trusted-test x"},
		{`{"allow_flags": ["profile=allow_all"]}`, "oc-delegate --write --profile full-trusted x"},
		{`{"allow_flags": ["profile=full-trusted"]}`, "oc-delegate --write --profile allow_all x"},
		{`{"allow_flags": ["profile"]}`, "oc-job continue wide x"},
		{`{"allow_flags": ["on-finish=touch x"]}`, "oc-job start --on-finish 'touch x' x"},
		{`{"allow_flags": ["opencode"]}`, "oc-job retry program"},
		{`{"allow_flags": ["force"]}`, "oc-job cancel --force theirs"},
		{`{"allow_verbs": ["gc"]}`, "oc-job gc --older 7d"},
		{`{"allow_verbs": ["doctor", "notify", "watch"]}`, "oc-job doctor --fix"},
		{`{"allow_dirs": ["{outside}"]}`, "oc-delegate --write --dir {outside} -f out/secret.txt --out {outside}/a x"},
		{`{"allow_dirs": ["~/"]}`, "oc-delegate --dir {outside} x"},
	} {
		command := g.fill(c.command)
		if d := Decide(g.call(command), Policy{}, g.jobs); d.Verdict != Deny {
			t.Errorf("%q without a policy: %v", command, d.Verdict)
		}
		p, err := Parse([]byte(g.fill(c.policy)), g.outside)
		if err != nil {
			t.Errorf("%s: %v", c.policy, err)
			continue
		}
		if d := Decide(g.call(command), p, g.jobs); d.Verdict != Allow {
			t.Errorf("%q with %s: %v: %s", command, c.policy, d.Verdict, d.Reason)
		}
	}
}

// TestThePolicyWidensNothingElse: what is allowed is one thing, not its neighbours, and never writing where only looking is meant.
func TestThePolicyWidensNothingElse(t *testing.T) {
	g := newGround(t)
	for _, c := range []struct{ policy, command string }{
		{`{"allow_flags": ["agent=build"]}`, "oc-delegate --agent build2 x"},
		{`{"allow_flags": ["agent=build"]}`, "oc-delegate --agent build --no-sandbox x"},
		{`{"allow_flags": ["profile=trusted-test"]}`, "oc-delegate --write --profile full-trusted x"},
		{`{"allow_flags": ["allow-read={outside}/a"]}`, "oc-delegate --allow-read {outside} x"},
		{`{"allow_flags": ["force"]}`, "oc-job continue theirs x"},
		{`{"allow_verbs": ["gc"]}`, "oc-job doctor"},
		{`{"allow_verbs": ["gc"], "allow_flags": ["force"], "conductor_write": true}`, "oc-job apply --force mine"},
		{`{"allow_dirs": ["{outside}/deep"]}`, "oc-delegate --dir {outside} x"},
		{`{"allow_dirs": ["{outside}"]}`, "oc-delegate --dir {root} x"},
		{`{"allow_flags": ["no-sandbox"], "allow_dirs": ["{outside}"], "conductor_write": true}`, "oc-delegate --no-sandbox x; touch x"},
	} {
		p, err := Parse([]byte(g.fill(c.policy)), "")
		if err != nil {
			t.Errorf("%s: %v", c.policy, err)
		} else if d := Decide(g.call(g.fill(c.command)), p, g.jobs); d.Verdict != Deny {
			t.Errorf("%q with %s: %v", c.command, c.policy, d.Verdict)
		}
	}
	p, err := Parse([]byte(`{"allow_verbs": ["gc"], "allow_flags": ["profile"], "conductor_write": true}`), "")
	must(t, err)
	for _, command := range []string{"oc-job gc", "oc-delegate --write --profile full-trusted x", "oc-delegate --profile full-trusted x"} {
		c := g.call(command)
		c.PermissionMode = "plan"
		if d := Decide(c, p, g.jobs); d.Verdict != Deny {
			t.Errorf("%q in plan: %v", command, d.Verdict)
		}
	}
}

func TestPoliciesThatAreNotUnderstoodWidenNothing(t *testing.T) {
	for text, want := range map[string]string{
		`{"allow_flag": ["agent"]}`:               "unknown key",
		`{"allow_flags": ["agnet"]}`:              "no flag that has to be allowed",
		`{"allow_flags": ["--agent"]}`:            "no flag that has to be allowed",
		`{"allow_flags": ["write"]}`:              "no flag that has to be allowed",
		`{"allow_flags": ["no-sandbox=true"]}`:    "takes no value",
		`{"allow_flags": ["profile=everything"]}`: "everything",
		`{"allow_flags": "agent"}`:                "allow_flags",
		`{"allow_verbs": ["start"]}`:              "no verb that has to be allowed",
		`{"allow_verbs": ["hooks"]}`:              "no verb that has to be allowed",
		`{"allow_verbs": ["trust"]}`:              "no verb that has to be allowed",
		`{"allow_dirs": ["src"]}`:                 "absolute path",
		`{"allow_dirs": ["/"]}`:                   "absolute path",
		`{"allow_dirs": ["~"]}`:                   "absolute path",
		`{"conductor_write": "yes"}`:              "conductor_write",
		`{} {}`:                                   "more than one",
		`{"conductor_write": true} x`:             "more than one",
		`[]`:                                      "array",
		`{`:                                       "EOF",
		``:                                        "is empty",
	} {
		p, err := Parse([]byte(text), "/home/x")
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
		if !reflect.DeepEqual(p, Policy{}) {
			t.Errorf("%s: %+v", text, p)
		}
	}
}

func TestWhereThePolicyIsRead(t *testing.T) {
	g := newGround(t)
	env := func(v string) func(string) string {
		return func(name string) string { return map[string]string{"XDG_CONFIG_HOME": v}[name] }
	}
	file := filepath.Join(g.outside, "opencode-delegate", "policy.json")
	if got := Path(env(g.outside), "/home/x"); got != file {
		t.Errorf("path %q", got)
	}
	for _, v := range []string{"", "relative", "."} {
		if got := Path(env(v), g.outside); got != filepath.Join(g.outside, ".config", "opencode-delegate", "policy.json") {
			t.Errorf("XDG_CONFIG_HOME=%q: path %q", v, got)
		}
	}
	if got := Path(env(""), ""); got != "" {
		t.Errorf("without a home: %q", got)
	}
	load := func(path string) (Policy, error) { return Load(path, g.outside, g.project) }
	for _, path := range []string{"", file} {
		if p, err := load(path); err != nil || !reflect.DeepEqual(p, Policy{}) {
			t.Errorf("missing %q: %+v, %v", path, p, err)
		}
	}
	must(t, os.MkdirAll(filepath.Dir(file), 0o755))
	text := []byte(`{"conductor_write": true}`)
	must(t, os.WriteFile(file, text, 0o644))
	if p, err := load(file); err != nil || !p.ConductorWrite {
		t.Errorf("%+v, %v", p, err)
	}
	refused := map[string]func() string{
		"lies in the project": func() string {
			path := filepath.Join(g.project, "policy.json")
			must(t, os.WriteFile(path, text, 0o644))
			return path
		},
		"lies in the project;": func() string { // by a link from the user's own place
			path := filepath.Join(g.outside, "linked.json")
			must(t, os.Symlink(filepath.Join(g.project, "policy.json"), path))
			return path
		},
		"everybody may write it": func() string {
			path := filepath.Join(g.outside, "open.json")
			must(t, os.WriteFile(path, text, 0o644))
			must(t, os.Chmod(path, 0o666))
			return path
		},
		"everybody may replace it": func() string {
			dir := filepath.Join(g.outside, "shared")
			path := filepath.Join(g.outside, "to-shared.json")
			must(t, os.Mkdir(dir, 0o755))
			must(t, os.WriteFile(filepath.Join(dir, "policy.json"), text, 0o644))
			must(t, os.Symlink(filepath.Join(dir, "policy.json"), path))
			must(t, os.Chmod(dir, 0o777|os.ModeSticky))
			if _, err := load(path); err != nil {
				t.Errorf("in a sticky directory: %v", err)
			}
			must(t, os.Chmod(dir, 0o777))
			return path
		},
		"not a regular file": func() string { return g.outside },
		"larger than": func() string {
			path := filepath.Join(g.outside, "large.json")
			must(t, os.WriteFile(path, append(text, make([]byte, configLimit)...), 0o644))
			return path
		},
	}
	for _, want := range []string{"lies in the project", "lies in the project;", "everybody may write it", "everybody may replace it", "not a regular file", "larger than"} {
		path := refused[want]()
		p, err := load(path)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", want, err)
		}
		if !reflect.DeepEqual(p, Policy{}) {
			t.Errorf("%s: %+v", want, p)
		}
	}
}
