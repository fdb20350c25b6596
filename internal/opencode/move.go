package opencode

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"opencode-delegate/internal/fault"
)

// exportLimit bounds the export of a session, in bytes: it holds everything that its tools have printed.
const exportLimit = 128 << 20

// MoveSession makes a session one of another directory, absolute and there, in which it can go on then, and no longer where it was. opencode has no command
// for that, and a run with the session of another directory hangs; but the import of a session's own export into a directory leaves it there, under the
// same id (1.18.33; 1.8 s). Whether it did is asked afterwards. A session that opencode does not know, or that did not move, is a *fault.Error NOT_FOUND.
func MoveSession(ctx context.Context, run Runner, b Binary, id, dir string) error {
	if !sessionID().MatchString(id) {
		return fault.New(fault.NotFound, "%q is no session id of opencode", oneLine(id, 80))
	}
	reply, err := run(ctx, Query{Argv: []string{b.Path, "export", id}, Limit: exportLimit})
	if err != nil {
		return fmt.Errorf("export of session %s: %w", id, err)
	}
	switch {
	case bytes.Contains(reply.Stderr, []byte("not found")):
		return unknownSession(id)
	case reply.Code != 0:
		return fmt.Errorf("export of session %s: opencode exits %d: %s", id, reply.Code, firstLine(reply.Stderr, 200))
	case !json.Valid(reply.Stdout):
		return fault.New(fault.NotFound, "session %s cannot be moved to another directory: its export is larger than %d MiB or not whole", id, exportLimit>>20)
	}
	reply, err = run(ctx, Query{Argv: []string{b.Path, "import", FileArg}, Dir: dir, File: reply.Stdout})
	if err != nil {
		return fmt.Errorf("import of session %s: %w", id, err)
	}
	if reply.Code != 0 {
		return fmt.Errorf("import of session %s: opencode exits %d: %s", id, reply.Code, firstLine(reply.Stderr, 200))
	}
	is, err := SessionDir(ctx, run, b, id)
	if err == nil && is != dir {
		err = fault.New(fault.NotFound, "session %s cannot be moved: this version of opencode keeps it in %s", id, oneLine(is, 200))
	}
	return err
}
