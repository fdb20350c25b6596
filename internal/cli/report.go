package cli

import (
	"fmt"
	"path/filepath"
	"strings"

	"opencode-delegate/internal/call"
	"opencode-delegate/internal/delegate"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/record"
)

// Report gives the answer, says how it went, and returns the exit code. recordErr tells that the record is not complete or, with a
// result that is empty, why nothing was started.
func (a *App) Report(r call.Reply, res delegate.Result, recordErr error) int {
	if recordErr != nil {
		if res.Status == "" {
			return a.Refuse(fault.Of(recordErr))
		}
		res.Notes = append(res.Notes, fmt.Sprintf("the record is not complete: %v", recordErr))
	}
	if err := Answer(r, res, a.Stdout, a.Secrets); err != nil {
		if res.Status == fault.OK {
			res.Status, res.Exit = fault.RunFailed, fault.RunFailed.Exit()
			res.Reason = fmt.Sprintf("the run succeeded, but its answer could not be delivered: %v", err)
		} else {
			a.Say("the answer could not be delivered: %v", err)
		}
		res.Hints = append(res.Hints, "the whole answer is in "+filepath.Join(res.Record, record.Text))
	}
	if res.Status != fault.OK {
		a.Say("%s", res.Reason)
	}
	if !r.Digest && !r.JSON { // which have it
		a.sayWhatFailed(res)
	}
	if n := int64(len([]rune(res.Text))); r.WarnChars > 0 && !r.Digest && !r.JSON && r.Out == "" && (n > r.WarnChars || res.TextTruncated) {
		res.Notes = append(res.Notes, fmt.Sprintf("the answer has more than %d characters; --digest would keep it short", r.WarnChars))
	}
	a.SayEach("note", res.Notes)
	a.SayEach("hint", res.Hints)
	return a.Signal(Of(res), r.UsageLog)
}

// excerptLines is how many lines of a failed check a person is shown; the log has all of it.
const excerptLines = 20

// sayWhatFailed shows what the check has printed that speaks against the work, the failing lines first.
func (a *App) sayWhatFailed(res delegate.Result) {
	if res.Status != fault.VerifyFailed {
		return
	}
	for _, c := range res.Verification.Checks {
		if c.Verdict != res.Verification.Verdict || c.Excerpt == "" {
			continue
		}
		lines := strings.Split(strings.TrimSpace(c.Excerpt), "\n")
		for _, line := range lines[:min(len(lines), excerptLines)] {
			a.Say("| %s", line)
		}
		return
	}
}

// RefuseAll answers a wrong call with every problem that it has.
func (a *App) RefuseAll(problems []string) int {
	for _, p := range problems {
		a.Say("%s", p)
	}
	return a.Signal(OfFault(fault.New(fault.Usage, "%s", strings.Join(problems, "; "))), "")
}

// Refuse ends a call that has no result.
func (a *App) Refuse(f *fault.Error) int {
	a.Say("%s", f.Reason)
	a.SayEach("hint", f.Hints)
	return a.Signal(OfFault(f), "")
}

// Signal prints the last line and returns the exit code. usageLog gets a copy; empty = none.
func (a *App) Signal(s Signal, usageLog string) int {
	if usageLog != "" {
		if err := AppendSignal(usageLog, s, a.Secrets); err != nil {
			a.Say("note: usage log: %v", err)
		}
	}
	WriteSignal(a.Stderr, s, a.Secrets) // a closed stderr leaves the exit code as the only voice
	return s.Exit
}
