package plugin

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"opencode-delegate/internal/policy"
)

// guardedAgent is the type of the subagent whose tool calls are stopped when a hook fails.
const guardedAgent = policy.Subagent

// An input is what Claude Code gives a hook, as far as it is used here.
type input struct {
	Session string `json:"session_id"`
	Cwd     string `json:"cwd"`

	Source string `json:"source"` // SessionStart: startup, resume, clear, compact

	Prompt string `json:"prompt"`    // UserPromptSubmit
	Turn   string `json:"prompt_id"` // what begins with a prompt and ends with Stop

	Command string `json:"command_name"` // UserPromptExpansion: opencode:status
	Args    string `json:"command_args"` // what was typed behind it

	AgentType      string         `json:"agent_type"` // PreToolUse; empty = the conductor
	PermissionMode string         `json:"permission_mode"`
	Tool           string         `json:"tool_name"`
	ToolInput      jsontext.Value `json:"tool_input"`
}

// inputLimit bounds what is read of an input, in bytes. What a tool is to write stands in it.
const inputLimit = 4 << 20

// A given is an input as it came.
type given struct {
	data    []byte
	guarded bool // it is about the subagent, as far as can be told without understanding it
}

// readGiven reads an input to its end. What is beyond the limit is read for the mark of the subagent only.
func readGiven(r io.Reader) (given, error) {
	data, err := io.ReadAll(io.LimitReader(r, inputLimit+1))
	g := given{data, marked(data)}
	if err != nil {
		return g, fmt.Errorf("what the host gave cannot be read: %w", err)
	}
	if len(data) <= inputLimit {
		return g, nil
	}
	const overlap = 1 << 10 // longer than a mark, with some white space in it
	buf := make([]byte, 64<<10)
	kept := copy(buf, data[len(data)-overlap:])
	for !g.guarded {
		n, err := io.ReadFull(r, buf[kept:])
		g.guarded = marked(buf[:kept+n])
		if err != nil {
			break
		}
		kept = copy(buf, buf[len(buf)-overlap:])
	}
	return g, errors.New("what the host gave is larger than 4 MiB")
}

// marked reports whether a text says that it is about the subagent. Only the host can have written the mark: within a JSON string its
// quotes are escaped.
func marked(data []byte) bool {
	blank := func(b []byte) []byte { return bytes.TrimLeft(b, " \t\r\n") }
	for {
		i := bytes.Index(data, []byte(`"agent_type"`))
		if i < 0 {
			return false
		}
		data = data[i+len(`"agent_type"`):]
		if v, ok := bytes.CutPrefix(blank(data), []byte(":")); ok && bytes.HasPrefix(blank(v), []byte(`"`+guardedAgent+`"`)) {
			return true
		}
	}
}

// input decodes what came. Names are compared exactly and none may stand twice, so that nobody can add a second command under a name that
// only we take for the first. Half a surrogate pair is a replacement character: a person may have pasted one. What a tool is given is decoded
// more strictly, where it matters.
func (g given) input() (in input, err error) {
	if err := json.Unmarshal(g.data, &in, jsontext.AllowInvalidUTF8(true)); err != nil {
		return input{}, errors.New("what the host gave is not the JSON object that it gives a hook")
	}
	return in, nil
}
