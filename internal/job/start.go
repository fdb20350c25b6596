package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"opencode-delegate/internal/crashpoint"
	"opencode-delegate/internal/delegate"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/lock"
	"opencode-delegate/internal/record"
)

// supervisorRole is the first argument of a supervisor; the job's id is the second. It is given by a person never, and does nothing
// without its pipes.
const supervisorRole = "__supervisor"

// startLimit bounds the time in which a supervisor has to take the lease.
const startLimit = 30 * time.Second

// An assignment is what a supervisor is told over a pipe. The record has it too, but for its secrets.
type assignment struct {
	Root    string           `json:"root"`
	Request delegate.Request `json:"request"`
	Launch  Launch           `json:"launch"`
}

// Start makes a job and a supervisor for it, which lives on without this process: in a session of its own, with nothing of
// the caller's open but its environment. It returns when the supervisor holds the lease. reused tells that the order found a twin,
// whose state comes back.
func (s *Store) Start(ctx context.Context, self string, o Order, now time.Time) (st State, reused bool, err error) {
	if err := o.portable(); err != nil {
		return State{}, false, err
	}
	j, twin, err := s.create(ctx, o, now)
	if err != nil {
		return State{}, false, err
	}
	if twin != nil {
		return *twin, true, nil
	}
	defer j.release()
	if err := s.launch(self, j, o); err != nil {
		if !j.mine() {
			return j.state, false, nil // it was this process that slept: the job has its supervisor, or has ended
		}
		j.guardedEnd(err, now)
		return j.state, false, fault.New(fault.RunFailed, "job %s has no supervisor: %w", j.state.ID, err).
			With("oc-job doctor looks for the cause; oc-job retry " + j.state.ID + " begins again")
	}
	return j.state, false, nil
}

// launch starts the supervisor and waits until it holds the lease.
func (s *Store) launch(self string, j *Job, o Order) error {
	theirs, tell, err := os.Pipe()
	if err != nil {
		return err
	}
	defer theirs.Close()
	defer tell.Close()
	hear, say, err := os.Pipe()
	if err != nil {
		return err
	}
	defer hear.Close()
	defer say.Close()
	panics, err := j.Record.Create(record.Panic)
	if err != nil {
		return err
	}
	defer panics.Close()
	data, err := json.Marshal(assignment{s.root, o.Request, *o.Launch})
	if err != nil {
		return err
	}
	cmd := exec.Command(self, supervisorRole, j.state.ID)
	cmd.Dir = s.root // so that no directory of the caller's is held
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs, say, panics
	detach(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	crashpoint.Here("supervisor started", j.state.ID)
	theirs.Close()
	say.Close()
	_ = tell.SetWriteDeadline(time.Now().Add(startLimit))
	_, terr := tell.Write(data) // of one that has ended at once its last words tell more
	tell.Close()
	crashpoint.Here("supervisor told", j.state.ID)
	_ = hear.SetReadDeadline(time.Now().Add(startLimit))
	answer, err := io.ReadAll(io.LimitReader(hear, 4<<10))
	if string(answer) == held {
		crashpoint.Here("supervisor holds", j.state.ID)
		return nil
	}
	if held, herr := lock.Held(j.Record.File(record.Lease)); herr == nil && held {
		return nil // it was this process that slept
	}
	_ = cmd.Process.Kill() // our own child, not yet waited for: its pid is nobody else's
	switch said := strings.TrimSpace(string(answer)); {
	case said != "":
		return errors.New(said)
	case err != nil:
		return fmt.Errorf("it did not take the lease within %s", startLimit)
	}
	if terr != nil {
		return fmt.Errorf("it ended at once: %w", terr)
	}
	return errors.New("it ended before it had the lease")
}

// held is what a supervisor says when it has the lease.
const held = "held\n"

// mine reports whether this process may say what became of a job whose supervisor it could not start: it takes the lease, and nobody
// has written an end.
func (j *Job) mine() bool {
	lease, err := lock.Try(j.Record.File(record.Lease))
	if err != nil {
		return !errors.Is(err, lock.ErrHeld)
	}
	j.lease = lease
	st, err := readState(j.Record.Path(), j.state.ID)
	if err == nil {
		j.state = st
	}
	return err != nil || !st.State.Terminal()
}

// guardedEnd writes down that a job could not be started.
func (j *Job) guardedEnd(cause error, now time.Time) {
	f := fault.New(fault.RunFailed, "the job could not be started: %w", cause)
	res := delegate.Unjudged(delegate.Request{Model: j.state.Model, Tier: j.state.Tier, Dir: j.state.Dir}, delegate.Job{ID: j.state.ID, Record: j.Record},
		f, now, now, delegate.Remains{})
	_ = j.finish(res)
}
