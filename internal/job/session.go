package job

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"opencode-delegate/internal/delegate"
	"opencode-delegate/internal/fault"
)

// FindSession settles which session a request goes on in, from our own records.
//
// With newest it is the newest session of the request's directory and caller; opencode's own idea of the last session is never
// used, since that may be another caller's. Else it is the session that the request names: known tells that a record has it
// in this very directory; one that no record has is for opencode to know. A session that is not there, that belongs to another
// directory, or that is known to be dead is a fault NOT_FOUND.
func (s *Store) FindSession(ctx context.Context, req *delegate.Request, newest bool) (known bool, err error) {
	switch {
	case newest:
		st, ok, err := s.newest(ctx, func(v View) bool {
			return v.Session != "" && v.Dead == "" && !v.Isolated && v.Dir == req.Dir && s.SameCaller(v.Caller, req.Caller)
		})
		if err != nil {
			return false, err
		}
		if !ok {
			return false, fault.New(fault.NotFound, "no earlier session of yours in %s", req.Dir).With("leave -c out to begin one")
		}
		req.Session = st.Session
		return true, nil
	case req.Session == "":
		return false, nil
	}
	if err := delegate.CheckSession(req.Session); err != nil {
		return false, err
	}
	st, ok, err := s.newest(ctx, func(v View) bool { return v.Session == req.Session })
	switch {
	case err != nil:
		return false, err
	case !ok:
		return false, nil
	case st.Dir != req.Dir:
		return false, fault.New(fault.NotFound, "session %s belongs to %s, not to %s", req.Session, st.Dir, req.Dir).With(
			fmt.Sprintf("--dir %s goes on in it", st.Dir))
	case st.Isolated && !strings.HasPrefix(req.Onward, s.Record(st.ID).Path()+string(filepath.Separator)):
		// Also where an earlier job of the session is named: the session has moved on, into the copy of the newest.
		return false, fault.New(fault.NotFound, "session %s goes on in the copy of job %s, and only there", req.Session, st.ID).With("oc-job continue " + st.ID + " goes on in it")
	case st.Dead != "":
		return false, fault.New(fault.NotFound, "session %s cannot be continued: %s", req.Session, st.Dead).With("begin a new one: leave -s out")
	}
	return true, nil
}
