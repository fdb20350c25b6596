package job

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"unicode/utf8"

	"opencode-delegate/internal/delegate"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/permission"
	"opencode-delegate/internal/plain"
	"opencode-delegate/internal/repocode"
)

// An Order is a job that is to be.
type Order struct {
	Request delegate.Request
	Prompt  string
	Task    string  // whose first words are shown; empty = the prompt's
	Launch  *Launch // nil: the caller is the supervisor, and waits
	From    string  // where the caller is; a research, which works in a directory of ours, belongs to the repository of this one

	Name       string
	After      []string // full ids
	RetryOf    string
	ContinueOf string
	Reuse      bool // a live job with the same prompt, directory, model and grant is as good
}

// taskLimit is the number of code points of a prompt that state.json shows.
const taskLimit = 200

// Repository names the place whose jobs belong together: the git common directory of dir, else dir itself.
func Repository(dir string) string {
	if _, common, _, ok := repocode.Dirs(dir); ok && common != "" {
		return common
	}
	return dir
}

// state is the first state.json of the job.
func (o Order) state() State {
	req := o.Request
	sum := sha256.Sum256([]byte(o.Prompt))
	task := o.Task
	if task == "" {
		task = o.Prompt
	}
	place := req.Dir
	if req.Profile == string(permission.Research) && o.From != "" {
		place = o.From
	}
	st := State{
		Schema: Schema, Name: o.Name, State: Queued, Caller: req.Caller, Background: o.Launch != nil,
		Dir: req.Dir, Repo: Repository(place), Session: req.Session,
		Tier: req.Tier, Model: req.Model, Profile: req.Profile, Isolated: req.Isolate, Task: plain.Line(task, taskLimit), Prompt: hex.EncodeToString(sum[:]),
		After: distinct(o.After), RetryOf: o.RetryOf, ContinueOf: o.ContinueOf,
	}
	if o.Launch != nil {
		st.MaxJobs, st.MaxPerModel = o.Launch.MaxJobs, o.Launch.MaxPerModel
	}
	if len(o.After) > 0 {
		st.State = Waiting
	}
	if req.Fork {
		st.Session = "" // the copy has an id of its own
	}
	return st
}

// distinct is a list without repetitions, in its order.
func distinct(ids []string) (once []string) {
	for _, id := range ids {
		if !slices.Contains(once, id) {
			once = append(once, id)
		}
	}
	return once
}

// afterLimit is how many jobs one job can wait for.
const afterLimit = 100

// portable refuses what a supervisor could not be told, or a reader could not read back.
func (o Order) portable() error {
	if n := len(o.After); n > afterLimit {
		return fault.New(fault.Usage, "%d jobs are to be waited for; a job can wait for %d", n, afterLimit)
	}
	paths := slices.Concat([]string{o.Request.Dir, o.Request.Opencode, o.Request.ExpectSchema, o.Launch.Cwd, o.Launch.Reply.Out, o.Launch.Reply.UsageLog},
		o.Request.Files, o.Request.AllowRead, o.Request.AllowWrite, o.Request.Link, o.Request.Copy)
	for _, p := range paths {
		if !utf8.ValidString(p) {
			return fault.New(fault.Usage, "the path %q is not UTF-8, and a background job cannot keep it; rename it", p)
		}
	}
	return nil
}

// exclusive reports whether the order can be refused because of another job that lives.
func (o Order) exclusive() bool { return o.Reuse || o.Request.Session != "" && !o.Request.Fork }

// twin is a live job that makes this order unnecessary, if the order wants one.
func (o Order) twin(live []View) (State, bool) {
	want := o.state()
	for _, v := range live {
		if o.Reuse && (want.Session == "" || v.Session == want.Session) && v.Prompt == want.Prompt && v.Dir == want.Dir && v.Profile == want.Profile && (v.Model == want.Model || v.Requested == want.Model) {
			return v.State, true
		}
	}
	return State{}, false
}

// rival refuses an order whose session another job works in at this moment: two opencode on one session spoil it.
func (o Order) rival(live []View) error {
	if o.Request.Session == "" || o.Request.Fork {
		return nil
	}
	for _, v := range live {
		if v.Session == o.Request.Session {
			return fault.New(fault.JobRunning, "job %s still works in session %s", v.ID, v.Session).
				With(fmt.Sprintf("wait for it (oc-job wait %s), cancel it, or go on in a copy with --fork", v.ID))
		}
	}
	return nil
}
