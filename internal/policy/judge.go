package policy

import (
	"strings"

	"opencode-delegate/internal/permission"
)

// pathLimit bounds the paths of one call: each costs some system calls.
const pathLimit = 64

// A judgement is how far one call has been judged.
type judgement struct {
	call   Call
	policy Policy
	jobs   Jobs

	paths  int
	tree   *tree
	writes bool
}

func (j *judgement) invocation(in invocation) error {
	if in.verb.act == landing {
		return refuse("oc-job %s is not allowed here: %s; the user decides about it", in.verb.name, in.verb.why)
	}
	if in.verb.act == closed {
		if !j.policy.verb(in.verb.name) {
			return refuse("oc-job %s is not allowed here: %s", in.verb.name, in.verb.why)
		}
		j.writes = true
	}
	placed := false
	for _, s := range in.settings {
		if err := j.setting(s); err != nil {
			return err
		}
		placed = placed || s.flag.use == place
	}
	if looks(in) {
		j.writes = false
		return nil
	}
	j.writes = j.writes || in.verb.writes
	if in.verb.paths {
		for _, word := range in.args {
			if err := j.mayReadWord(word); err != nil {
				return err
			}
		}
	}
	switch in.verb.act {
	case begin:
		if !placed {
			return j.runIn("the current directory", ".")
		}
	case end:
		for _, word := range in.args {
			if _, err := j.own(word); err != nil && !j.policy.flag("force", "") {
				return err
			}
		}
	case again:
		word := ""
		if len(in.args) > 0 {
			word = in.args[0]
		}
		job, err := j.own(word)
		if err != nil {
			return err
		}
		for _, s := range stored(job.Request, j.call.Opencode) {
			if err := j.setting(s); err != nil {
				return refuse("what job %.40q was asked to do is not allowed here: %v", word, err)
			}
		}
	}
	return nil
}

// looks reports a call that prints something about itself and does nothing. --explain and --print-command look into the
// directory of the run, and are judged as the run would be.
func looks(in invocation) bool {
	for _, s := range in.settings {
		if s.flag.name == "help" || s.flag.name == "version" {
			return true
		}
	}
	return false
}

func (j *judgement) setting(s setting) error {
	f := s.flag
	switch f.use {
	case free:
		return nil
	case grants:
		j.writes = true
		return nil
	case place:
		return j.runIn("--dir", s.value)
	case reads:
		return j.mayRead("--"+f.name, s.value)
	case written:
		j.writes = true
		return j.mayWrite("--"+f.name, s.value)
	case commit:
		if strings.HasPrefix(s.value, "-") {
			return refuse("--%s %.40q begins with a dash and names no commit", f.name, s.value)
		}
		return nil
	case profile:
		return j.profile(s)
	case refused:
		if j.policy.flag(f.name, s.value) {
			return nil
		}
	}
	return refuse("--%s is not allowed here: %s; only the user's own policy can allow it", f.name, f.why)
}

func (j *judgement) profile(s setting) error {
	p, err := permission.Parse(s.value)
	if err != nil {
		return err
	}
	j.writes = j.writes || p.Writes()
	switch {
	case p == permission.ReadOnly, p == permission.Standard:
		return nil
	case j.policy.flag("profile", p.Name()):
		return nil
	}
	return refuse("--profile %.40q is not allowed here: %s", s.value, s.flag.why)
}

// own is a job of this caller.
func (j *judgement) own(word string) (Job, error) {
	if j.jobs == nil {
		return Job{}, refuse("jobs cannot be looked up here")
	}
	job, err := j.jobs(word)
	switch {
	case err != nil:
		return Job{}, err
	case job.Caller == "" || job.Caller != j.call.Caller:
		return Job{}, refuse("job %.40q belongs to another caller", word)
	}
	return job, nil
}
