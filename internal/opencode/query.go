package opencode

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"opencode-delegate/internal/lazyregexp"

	"opencode-delegate/internal/fault"
)

// modelLine is a line of `opencode models`: provider/model, and nothing else.
var modelLine = lazyregexp.New(`^[^\s/{}"]+/[^\s{}"]+$`)

// Models lists what `opencode models` knows, as provider/model; provider empty means all. A provider that opencode does
// not know has none. dir is as for [Query]: providers may be a project's own.
func Models(ctx context.Context, run Runner, b Binary, dir, provider string) ([]string, error) {
	argv := []string{b.Path, "models"}
	if provider != "" {
		if !plainWord(provider) {
			return nil, nil
		}
		argv = append(argv, provider)
	}
	reply, err := run(ctx, Query{Argv: argv, Dir: dir})
	if err != nil {
		return nil, fmt.Errorf("opencode models %s: %w", provider, err)
	}
	if reply.Code != 0 {
		if bytes.Contains(reply.Stderr, []byte("Provider not found")) {
			return nil, nil
		}
		return nil, fmt.Errorf("opencode models %s exits %d: %s", provider, reply.Code, firstLine(reply.Stderr, 200))
	}
	var ids []string
	for line := range strings.Lines(plain(string(reply.Stdout))) {
		if id := strings.TrimSpace(line); modelLine().MatchString(id) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// plainWord reports whether s can stand as an argument of its own: it is no flag and holds nothing odd.
func plainWord(s string) bool {
	return s != "" && !strings.HasPrefix(s, "-") && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f })
}

var sessionID = lazyregexp.New(`^ses_[A-Za-z0-9]{1,64}$`)

// SessionDir returns the directory that a session belongs to, wherever it was made. A session that opencode does not
// know is a *fault.Error NOT_FOUND.
//
// It asks the database by one row (0.9 s), and a version without that command for an export (1.1 s and the whole
// session). `session list` knows the sessions of one project only.
func SessionDir(ctx context.Context, run Runner, b Binary, id string) (string, error) {
	if !sessionID().MatchString(id) {
		return "", fault.New(fault.NotFound, "%q is no session id of opencode", oneLine(id, 80))
	}
	// The id is checked above: nothing in it can end the literal.
	reply, err := run(ctx, Query{Argv: []string{b.Path, "db", "select directory from session where id = '" + id + "'", "--format", "json"}})
	if err != nil {
		return "", fmt.Errorf("directory of session %s: %w", id, err)
	}
	var rows []struct {
		Directory string `json:"directory"`
	}
	if reply.Code == 0 && json.Unmarshal(reply.Stdout, &rows) == nil {
		if len(rows) == 0 {
			return "", unknownSession(id)
		}
		return rows[0].Directory, nil
	}
	reply, err = run(ctx, Query{Argv: []string{b.Path, "export", id}})
	if err != nil {
		return "", fmt.Errorf("directory of session %s: %w", id, err)
	}
	if dir := exportedDir(reply.Stdout); dir != "" {
		return dir, nil
	}
	if bytes.Contains(reply.Stderr, []byte("not found")) {
		return "", unknownSession(id)
	}
	return "", fmt.Errorf("directory of session %s: opencode export exits %d: %s", id, reply.Code, firstLine(reply.Stderr, 200))
}

func unknownSession(id string) error {
	return fault.New(fault.NotFound, "opencode knows no session %s", id).With("list them: opencode session list")
}

// exportedDir reads info.directory of an export, which may be cut: info is its first member.
func exportedDir(text []byte) string {
	d := json.NewDecoder(bytes.NewReader(text))
	for _, want := range []json.Token{json.Delim('{'), "info"} {
		if t, err := d.Token(); err != nil || t != want {
			return ""
		}
	}
	var info struct {
		Directory string `json:"directory"`
	}
	if err := d.Decode(&info); err != nil && !errors.Is(err, io.EOF) {
		return ""
	}
	return info.Directory
}

// CheckAgent asks opencode, in the project, whether a run can have this agent. opencode itself would go on with its
// default agent, which may write. nil: it can. A *fault.Error USAGE says that there is no such agent, or that it is a
// subagent.
//
// The other runs of that question, `agent list`, costs the same 1.1 s and lists every rule of every agent.
func CheckAgent(ctx context.Context, run Runner, b Binary, dir, name string) error {
	if !plainWord(name) || len(name) > 200 {
		return fault.New(fault.Usage, "agent %q is no name of an agent", oneLine(name, 80))
	}
	reply, err := run(ctx, Query{Argv: []string{b.Path, "debug", "agent", name}, Dir: dir})
	if err != nil {
		return fmt.Errorf("agent %s: %w", name, err)
	}
	var agent struct {
		Name string `json:"name"`
		Mode string `json:"mode"`
	}
	switch err := json.Unmarshal(reply.Stdout, &agent); {
	case reply.Code == 0 && err == nil && agent.Mode == "subagent":
		return fault.New(fault.Usage, "agent %q is a subagent: a run needs a primary one", name)
	case reply.Code == 0 && err == nil && agent.Name != "":
		return nil
	case bytes.Contains(reply.Stderr, []byte("not found")) || bytes.Contains(reply.Stdout, []byte("not found")):
		return fault.New(fault.Usage, "opencode has no agent %q here", name).With("list them: opencode agent list")
	}
	return listedAgent(ctx, run, b, dir, name)
}

var agentLine = lazyregexp.New(`(?m)^(\S+) \((primary|subagent|all)\)\s*$`)

// listedAgent is for versions without `debug agent`.
func listedAgent(ctx context.Context, run Runner, b Binary, dir, name string) error {
	reply, err := run(ctx, Query{Argv: []string{b.Path, "agent", "list"}, Dir: dir})
	if err != nil {
		return fmt.Errorf("agent %s: %w", name, err)
	}
	found := agentLine().FindAllStringSubmatch(plain(string(reply.Stdout)), -1)
	if reply.Code != 0 || len(found) == 0 {
		return fmt.Errorf("agent %s: opencode agent list exits %d: %s", name, reply.Code, firstLine(reply.Stderr, 200))
	}
	for _, m := range found {
		if m[1] != name {
			continue
		}
		if m[2] == "subagent" {
			return fault.New(fault.Usage, "agent %q is a subagent: a run needs a primary one", name)
		}
		return nil
	}
	return fault.New(fault.Usage, "opencode has no agent %q here", name).With("list them: opencode agent list")
}
