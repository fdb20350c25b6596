package job

import (
	"encoding/json"
	"errors"
	"fmt"
	"opencode-delegate/internal/call"
	"opencode-delegate/internal/delegate"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/record"
)

// resultLimit bounds what is read of a result.json; its text has at most 256 KiB, its list of files is the longest part.
const resultLimit = 64 << 20

// ReadResult is the result of a job that has ended.
func (s *Store) ReadResult(id string) (delegate.Result, error) {
	data, err := record.Read(s.Record(id).File(record.Result), resultLimit)
	if err != nil {
		return delegate.Result{}, err
	}
	var res delegate.Result
	if err := json.Unmarshal(data, &res); err != nil {
		return res, fmt.Errorf("result.json is damaged: %w", err)
	}
	switch {
	case res.Schema < 1 || res.Schema > Schema:
		return res, fmt.Errorf("result.json has schema %d, and this version knows %d", res.Schema, Schema)
	case res.ID != id:
		return res, errors.New("result.json is that of another job")
	case res.Status == "":
		return res, errors.New("result.json has no status")
	}
	res.Record, res.Exit = s.dir(id), res.Status.Exit()
	return res, nil
}

// requestLimit bounds what is read of a request.json.
const requestLimit = 1 << 20

// ReadRequest is what a job was asked to do.
func (s *Store) ReadRequest(id string) (delegate.Request, error) {
	data, err := record.Read(s.Record(id).File(record.Request), requestLimit)
	if err != nil {
		return delegate.Request{}, err
	}
	var req delegate.Request
	if err := json.Unmarshal(data, &req); err != nil {
		return req, fmt.Errorf("request.json is damaged: %w", err)
	}
	if req.Schema < 1 || req.Schema > Schema {
		return req, fmt.Errorf("request.json has schema %d, and this version knows %d", req.Schema, Schema)
	}
	return req, nil
}

// Result is what a job came to. A job that has not ended is a fault JOB_RUNNING; one whose result cannot be read is JOB_LOST, with
// where the rest of it lies.
func (s *Store) Result(v View) (delegate.Result, error) {
	if v.Live() {
		return delegate.Result{}, running(v.State)
	}
	res, err := s.ReadResult(v.ID)
	if err != nil {
		f := fault.New(fault.JobLost, "job %s has no result that can be read: %w", v.ID, bare(err))
		if v.State.State == Unreadable {
			f = fault.New(fault.JobLost, "job %s cannot be read: %s", v.ID, v.Problem)
		}
		return res, f.With("what there is lies in " + s.dir(v.ID))
	}
	res.SessionDead = v.Dead
	return res, nil
}

// ReadPrompt is the task of a job, exactly as it was given.
func (s *Store) ReadPrompt(id string) (string, error) {
	data, err := record.Read(s.Record(id).File(record.Prompt), call.PromptLimit+4<<10)
	if err != nil {
		return "", fault.New(fault.JobLost, "the task of job %s cannot be read: %w", id, bare(err))
	}
	return string(data), nil
}

// ReadLaunch is how a background job was started.
func (s *Store) ReadLaunch(id string) (Launch, error) {
	data, err := record.Read(s.Record(id).File(record.Launch), requestLimit)
	if err != nil {
		return Launch{}, err
	}
	var l Launch
	if err := json.Unmarshal(data, &l); err != nil {
		return l, fmt.Errorf("launch.json is damaged: %w", err)
	}
	if l.Schema < 1 || l.Schema > Schema {
		return l, fmt.Errorf("launch.json has schema %d, and this version knows %d", l.Schema, Schema)
	}
	return l, nil
}

// ReadProgress is what a run was doing when it last said so; false = nothing is known.
func (s *Store) ReadProgress(id string) (delegate.Progress, bool) {
	var p delegate.Progress
	data, err := record.Read(s.Record(id).File(record.Progress), 64<<10)
	return p, err == nil && json.Unmarshal(data, &p) == nil
}
