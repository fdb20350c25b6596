package policy

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"opencode-delegate/internal/delegate"
)

// TestTheSubagentUsesNothingElse: no other tool, whatever it is called.
func TestTheSubagentUsesNothingElse(t *testing.T) {
	g := newGround(t)
	for _, tool := range []string{"", "Edit", "Write", "Read", "WebFetch", "Agent", "Task", "Skill", "BashOutput", "bash", "Bash ", "mcp__plugin_x_y__Bash", "PowerShell"} {
		c := g.call("oc-job list")
		c.Tool = tool
		if d := Decide(c, Policy{ConductorWrite: true}, g.jobs); d.Verdict != Deny || d.Reason == "" {
			t.Errorf("subagent, tool %q: %v %q", tool, d.Verdict, d.Reason)
		}
		c.AgentType = ""
		if d := Decide(c, Policy{ConductorWrite: true}, g.jobs); d.Verdict != None {
			t.Errorf("conductor, tool %q: %v", tool, d.Verdict)
		}
	}
}

// TestOtherAgentsAreLeftToTheHost: nothing is said about agents of other plugins, whatever their names look like.
func TestOtherAgentsAreLeftToTheHost(t *testing.T) {
	g := newGround(t)
	for _, agent := range []string{"general-purpose", "opencode-delegate", "opencode:opencode-delegate ", "Opencode:opencode-delegate", "x:opencode:opencode-delegate"} {
		for _, command := range []string{"oc-job list", "touch x", "oc-delegate --no-sandbox x"} {
			c := g.call(command)
			c.AgentType = agent
			if d := Decide(c, Policy{ConductorWrite: true}, g.jobs); d.Verdict != None {
				t.Errorf("agent %q, %q: %v", agent, command, d.Verdict)
			}
		}
	}
}

// TestWhereARunMayBe: a run without --dir works where the command runs.
func TestWhereARunMayBe(t *testing.T) {
	g := newGround(t)
	for cwd, want := range map[string]Verdict{
		g.project: Allow, g.project + "/src/deep": Allow, g.project + "/self/src": Allow, g.outside: Deny, g.root: Deny, g.project + "/out": Deny,
		g.project + "/.git": Deny, g.project + "/missing": Deny, "": Deny, ".": Deny, "project": Deny, "/": Deny, g.root + "/project-2": Deny,
	} {
		for _, command := range []string{"oc-delegate x", "oc-job start x", "oc-delegate --explain", "oc-delegate -f {project}/README.md x"} {
			c := g.call(g.fill(command))
			c.Cwd = cwd
			if d := Decide(c, Policy{}, g.jobs); d.Verdict != want {
				t.Errorf("in %q, %q: %v, want %v: %s", cwd, command, d.Verdict, want, d.Reason)
			}
		}
		c := g.call("oc-job list") // looks at no directory of a run
		c.Cwd = cwd
		if d := Decide(c, Policy{}, g.jobs); d.Verdict != Allow {
			t.Errorf("in %q, list: %v: %s", cwd, d.Verdict, d.Reason)
		}
	}
	for _, project := range []string{"", "/", "project", g.root + "/missing"} {
		c := g.call("oc-delegate x")
		c.Project = project
		if d := Decide(c, Policy{}, g.jobs); d.Verdict != Deny {
			t.Errorf("project %q: %v", project, d.Verdict)
		}
	}
	c := g.call("oc-delegate -f ../README.md x") // relative to the current directory, not to the project
	c.Cwd = filepath.Join(g.project, "src")
	if d := Decide(c, Policy{}, g.jobs); d.Verdict != Allow {
		t.Errorf("%v: %s", d.Verdict, d.Reason)
	}
	c.Project = filepath.Join(g.root, "link")
	must(t, os.Symlink(g.project, c.Project))
	if d := Decide(c, Policy{}, g.jobs); d.Verdict != Allow {
		t.Errorf("project behind a link: %v: %s", d.Verdict, d.Reason)
	}
}

// TestAHomeDirectoryIsNoProject: in it lie what starts programs and what opens accounts. Its owner may say otherwise, and projects in it are like all others.
func TestAHomeDirectoryIsNoProject(t *testing.T) {
	g := newGround(t)
	must(t, os.Symlink(g.root, filepath.Join(g.outside, "to-home")))
	for _, project := range []string{g.root, g.root + "/", filepath.Join(g.outside, "to-home"), filepath.Dir(g.root)} {
		for _, command := range []string{"oc-delegate x", "oc-delegate --out .bashrc x", "oc-delegate -f project/README.md x", "oc-delegate --dir project --write x"} {
			c := g.call(command)
			c.Home, c.Project, c.Cwd = g.root, project, g.root
			if d := Decide(c, Policy{}, g.jobs); d.Verdict != Deny || !strings.Contains(d.Reason, "home directory") {
				t.Errorf("project %q, %q: %v: %s", project, command, d.Verdict, d.Reason)
			}
			c.AgentType = ""
			if d := Decide(c, Policy{}, g.jobs); d.Verdict != None {
				t.Errorf("conductor, project %q, %q: %v", project, command, d.Verdict)
			}
		}
	}
	for _, command := range []string{"oc-delegate --dir project --write x", "oc-delegate --dir project -f project/README.md x"} {
		c := g.call(command)
		c.Home, c.Project, c.Cwd = g.root, g.root, g.root
		if d := Decide(c, Policy{AllowDirs: []string{g.project}}, g.jobs); d.Verdict != Allow {
			t.Errorf("%q, allowed by the user: %v: %s", command, d.Verdict, d.Reason)
		}
	}
	for _, home := range []string{"", g.root, g.outside, g.root + "/missing"} {
		c := g.call("oc-delegate --write x")
		c.Home = home
		if d := Decide(c, Policy{}, g.jobs); d.Verdict != Allow {
			t.Errorf("home %q: %v: %s", home, d.Verdict, d.Reason)
		}
	}
}

// TestPathsAreNotLookedUpForEver: each path costs system calls.
func TestPathsAreNotLookedUpForEver(t *testing.T) {
	g := newGround(t)
	for n, want := range map[int]Verdict{pathLimit - 1: Allow, pathLimit: Deny} {
		c := g.call("oc-delegate x" + strings.Repeat(" -f README.md", n))
		if d := Decide(c, Policy{}, g.jobs); d.Verdict != want {
			t.Errorf("%d paths: %v: %s", n, d.Verdict, d.Reason)
		}
	}
}

// TestStoredRequestsAreJudgedWhole: whatever a stored request can ask for is either judged or known to be harmless.
func TestStoredRequestsAreJudgedWhole(t *testing.T) {
	g := newGround(t)
	judged := []string{"Dir", "Agent", "Opencode", "Profile", "Files", "AllowRead", "AllowWrite", "NoSandbox", "TrustProject", "KeepEnv", "AllowGitConfig",
		"Link", "Copy", "Verify", "Protect", "AllowTestChanges", "TrustDeps", "ExpectSchema", "AllowPath"}
	harmless := []string{"Schema", "Tier", "Model", "ModelSource", "Variant", "OpencodeSource", "Title", "Session", "Fork", "Digest", "DigestLimit", "Timeout", "Idle",
		"Grace", "RetryLimit", "MaxCost", "MaxTokens", "AllowNoChanges", "Caller",
		"IgnoreQuota", "Isolate", "WithDirty", "VerifyTimeout", "NoPreflight", "ExpectFile", "ForbidPath", "MaxDiff", "Repair", "Escalate", "BestOf", "Review",
		"Onward", "Resumes", "MayRevert"} // which are never taken from a stored request
	for _, f := range reflect.VisibleFields(reflect.TypeFor[delegate.Request]()) {
		switch {
		case f.Anonymous: // its fields come too
			continue
		case slices.Contains(harmless, f.Name):
			continue
		case !slices.Contains(judged, f.Name):
			t.Errorf("nobody has decided about %s of a stored request", f.Name)
			continue
		}
		r := g.request(nil)
		switch v := reflect.ValueOf(&r).Elem().FieldByIndex(f.Index); v.Kind() {
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Slice:
			v.Set(reflect.ValueOf([]string{g.outside}))
		default:
			v.SetString(g.outside)
		}
		jobs := func(string) (Job, error) { return Job{me, r}, nil }
		for _, command := range []string{"oc-job continue a x", "oc-job retry a", "oc-job retry", "oc-job recover"} {
			if d := Decide(g.call(command), Policy{}, jobs); d.Verdict != Deny || !strings.Contains(d.Reason, "asked to do") {
				t.Errorf("%s of a request with %s: %v: %s", command, f.Name, d.Verdict, d.Reason)
			}
		}
	}
}

func TestTheConfiguredProgramIsNoChoice(t *testing.T) {
	g := newGround(t)
	c := g.call("oc-job retry program")
	if c.Opencode = g.outside + "/opencode"; Decide(c, Policy{}, g.jobs).Verdict != Allow {
		t.Error("a job with the user's own program is refused")
	}
	if c.Opencode = g.outside + "/opencode2"; Decide(c, Policy{}, g.jobs).Verdict != Deny {
		t.Error("a job with another program than the user's own is allowed")
	}
}

func TestJobsAreNeededForWhatNamesOne(t *testing.T) {
	g := newGround(t)
	for _, command := range []string{"oc-job cancel mine", "oc-job retry", "oc-job continue mine x"} {
		if d := Decide(g.call(command), Policy{}, nil); d.Verdict != Deny {
			t.Errorf("%q without jobs: %v", command, d.Verdict)
		}
		c := g.call(command)
		c.Caller = ""
		if d := Decide(c, Policy{}, func(string) (Job, error) { return Job{"", g.request(nil)}, nil }); d.Verdict != Deny {
			t.Errorf("%q of nobody: %v", command, d.Verdict)
		}
	}
}

// TestReasonsAreOneLine: also one that comes from elsewhere.
func TestReasonsAreOneLine(t *testing.T) {
	g := newGround(t)
	jobs := func(string) (Job, error) { return Job{}, errors.New(strings.Repeat("no such\njob\x1b[2J ", 100)) }
	for _, c := range []Call{g.call("oc-job cancel x"), g.conductor("oc-job cancel x")} {
		if d := Decide(c, Policy{}, jobs); d.Verdict == Allow || len([]rune(d.Reason)) != reasonLimit || strings.ContainsAny(d.Reason, "\n\x1b") {
			t.Errorf("%v: %q", d.Verdict, d.Reason)
		}
	}
}

func TestReasonsSayWhatWouldBeRight(t *testing.T) {
	g := newGround(t)
	for command, want := range map[string]string{
		`oc-delegate "cost: $5"`:            "single quotes",
		"oc-delegate x | head":              "one plain call",
		"oc-delegate - <<EOF\nx\nEOF":       "<<'EOF'",
		"oc-delegate --no-sandbox x":        "only the user's own policy can allow it",
		"oc-delegate -f ../a x":             "does not lie in the project",
		"oc-delegate '--fix' x":             "goes after --",
		"oc-job cancel theirs":              "another caller",
		"cd src && oc-delegate x":           "nothing before its name",
		"oc-job gc":                         "it removes records",
		"oc-delegate --title a --title b x": "twice",
	} {
		if d := Decide(g.call(command), Policy{}, g.jobs); d.Verdict != Deny || !strings.Contains(d.Reason, want) {
			t.Errorf("%q: %v: %s", command, d.Verdict, d.Reason)
		}
	}
}
