package job

import (
	"slices"
	"strings"
	"testing"
	"time"

	"opencode-delegate/internal/fault"
)

// legal is the state machine as docs/jobs.md draws it; what is not here is refused.
const legal = `
waiting queued skipped cancelled interrupted failed lost
queued  running cancelled interrupted failed lost
running succeeded failed timeout cancelled interrupted lost
`

// Every pair of phases is tried on a real record; a terminal state is final.
func TestMoves(t *testing.T) {
	table := map[Phase][]string{}
	for _, line := range strings.Split(strings.TrimSpace(legal), "\n") {
		words := strings.Fields(line)
		table[Phase(words[0])] = words[1:]
	}
	s := open(t)
	for _, from := range Phases() {
		if from == Unreadable {
			continue // no record says it of itself
		}
		if from.Terminal() != (table[from] == nil) {
			t.Errorf("%s: terminal %v", from, from.Terminal())
		}
		for _, to := range Phases() {
			if from == to && !from.Terminal() {
				continue
			}
			want := slices.Contains(table[from], string(to))
			if from.MayBecome(to) != want {
				t.Errorf("%s may become %s: %v", from, to, !want)
			}
			if to == Unreadable {
				continue
			}
			j := in(t, s, from)
			exit, at := 1, time.Now().UTC()
			err := j.Update(func(st *State) {
				if st.State = to; to.Terminal() {
					st.Exit, st.EndedAt = &exit, &at
				}
			})
			if (err == nil) != want {
				t.Errorf("%s to %s: %v", from, to, err)
			}
			if !want && from.Terminal() && !strings.Contains(err.Error(), "final") {
				t.Errorf("%s to %s: %v", from, to, err)
			}
			now, wanted := j.State().State, from
			if want {
				wanted = to
			}
			if st, err := readState(j.Record.Path(), j.State().ID); err != nil || st.State != wanted || now != wanted {
				t.Errorf("%s to %s: the record says %s, the job %s, %v", from, to, st.State, now, err)
			}
			j.dies()
		}
	}
	if Unreadable.Terminal() != true || Unreadable.MayBecome(Lost) {
		t.Error("unreadable is a state of a record")
	}
}

// A change that is no move is written too, and not after the end.
func TestUpdateOfAnotherMember(t *testing.T) {
	s := open(t)
	j := in(t, s, Running)
	if err := j.Update(func(st *State) { st.Session = "ses_1" }); err != nil {
		t.Fatal(err)
	}
	if v := look(t, s, j.State().ID); v.Session != "ses_1" || v.State.State != Running {
		t.Errorf("%+v", v)
	}
	if err := j.finish(ended(j, fault.RunFailed)); err != nil {
		t.Fatal(err)
	}
	if err := j.Update(func(st *State) { st.Session = "ses_2" }); err == nil {
		t.Error("a record was written after its end")
	}
}

func TestEndedMatchesTheExitCode(t *testing.T) {
	for k, want := range map[fault.Kind]Phase{
		fault.OK: Succeeded, fault.Timeout: TimedOut, fault.Cancelled: Cancelled, fault.Interrupted: Interrupted, fault.Skipped: Skipped, fault.JobLost: Lost,
		fault.Usage: Failed, fault.RunFailed: Failed, fault.EmptyOutput: Failed, fault.NotFound: Failed, fault.Incomplete: Failed, fault.NoChanges: Failed,
		fault.BudgetExceeded: Failed, fault.VerifyFailed: Failed, fault.QuotaExhausted: Failed, fault.AuthRequired: Failed, fault.OpencodeMissing: Failed,
		fault.ModelUnavailable: Failed, fault.PermissionDenied: Failed, fault.WriteViolation: Failed, fault.JobRunning: Failed, fault.Conflict: Failed,
		"FROM_A_LATER_VERSION": Failed,
	} {
		if got := Ended(k); got != want {
			t.Errorf("%s is %s, want %s", k, got, want)
		}
	}
}
