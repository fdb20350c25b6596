package delegate

import (
	"strings"
	"testing"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/tree"
	"opencode-delegate/internal/verify"
)

// TestWhatIsNotKnownHoldsNothing: changes that nobody could read, and an answer of which only a part is there, are within no limit.
func TestWhatIsNotKnownHoldsNothing(t *testing.T) {
	schema, err := verify.ParseSchema("schema.json", []byte(`{"type": "object"}`))
	if err != nil {
		t.Fatal(err)
	}
	tr := tryOf(1, fault.OK, verify.None, 1)
	tr.res.Changes = tree.Changes{}
	tr.run.checks = checks{Checks: Checks{ForbidPath: []string{"secret"}, MaxDiff: 10}, schema: schema}
	tr.res.Text, tr.res.TextTruncated = `{"whole": false}`, true
	if err := tr.limits(t.Context()); err != nil {
		t.Error(err)
	}
	if tr.worst == nil || tr.worst.Kind != fault.WriteViolation {
		t.Errorf("files that are not known are allowed: %v", tr.worst)
	}
	tr.expect()
	for _, c := range tr.res.Verification.Checks {
		if c.Verdict != string(verify.Fail) || c.Reason == "" {
			t.Errorf("%s: %s, %q", c.Cmd, c.Verdict, c.Reason)
		}
	}
	if n := len(tr.res.Verification.Checks); n != 2 {
		t.Errorf("%d checks", n)
	}
	tr.run.checks.Verify = []string{"make check", "make more"}
	guarded, err := tr.guarded(t.Context(), sentry{})
	if err != nil || len(guarded) != 2 || worstOf(guarded) != verify.CouldNotRun {
		t.Errorf("changed tests that nobody could see are none: %v, %v", guarded, err)
	}

	none := tryOf(1, fault.OK, verify.None, 1)
	none.res.Changes = tree.Changes{}
	if err := none.limits(t.Context()); err != nil || none.worst != nil {
		t.Errorf("nobody has set a limit: %v", none.worst)
	}
}

// TestWorkThatWasNotKept: a check of what could not be taken down proves nothing of what would land.
func TestWorkThatWasNotKept(t *testing.T) {
	tr := tryOf(1, fault.OK, verify.None, 1)
	tr.run.checks.Verify = []string{"make check"}
	list, err := tr.checkWork(t.Context())
	if err != nil || worstOf(list) != verify.CouldNotRun || !strings.Contains(list[0].Reason, "could not be kept") {
		t.Errorf("%v, %v", list, err)
	}
	if why := tr.dependencies(t.Context()); why == "" {
		t.Error("dependencies that nobody has looked at are unchanged")
	}
	tr.run.checks.TrustDeps = true
	if why := tr.dependencies(t.Context()); why != "" {
		t.Error(why)
	}
}
