package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/job"
	"opencode-delegate/internal/testplace"
)

// TestLimitHooks: Claude Code waits for each hook, and one comes before each tool call. None takes 50 ms, in a state directory with
// ten thousand jobs, nor says more than a few lines.
func TestLimitHooks(t *testing.T) {
	const records, most = 10_000, 1200
	limit := testplace.Slower(50*time.Millisecond, testplace.Pace(t))
	p := fakePlace(t)
	state, bin := filepath.Join(p.Root, "state"), filepath.Join(p.Root, "built")
	if err := buildInto(bin, "", "."); err != nil {
		t.Fatal(err)
	}
	began := time.Now().Add(-records * time.Minute)
	for i := range records {
		at := began.Add(time.Duration(i) * time.Minute).UTC()
		exit := 0
		st := job.State{
			Schema: job.Schema, ID: job.NewID(at), State: job.Succeeded, Status: fault.OK, Exit: &exit, Caller: fmt.Sprintf("s%d", i%100), Background: true,
			Dir: p.Project, Repo: p.Project, Task: strings.Repeat("Add a flag and a test for it, ", 6), CreatedAt: at, EndedAt: &at,
		}
		forge(t, state, st)
	}
	env := append(p.Env, "CLAUDE_PROJECT_DIR="+p.Project, "CLAUDE_ENV_FILE="+filepath.Join(p.Root, "env.sh"), "CLAUDE_PLUGIN_OPTION_POLICY_TEXT=true",
		"CLAUDE_PLUGIN_OPTION_NUDGE=true", "CLAUDE_PLUGIN_OPTION_TIER_CODE=a/b")
	// And a session that has been away for long.
	untold(t, state, "s1", 200)
	for _, c := range []struct{ event, input string }{
		{"SessionStart", `{"session_id":"s1","cwd":"/","source":"startup"}`},
		{"UserPromptSubmit", `{"session_id":"s1","prompt":"Rename all of it across the repository."}`},
		{"UserPromptSubmit", `{"session_id":"s1","prompt":"` + strings.Repeat("x ", 1<<20) + `"}`},
		{"UserPromptExpansion", `{"session_id":"s1","command_name":"opencode:status","command_args":"` + strings.Repeat("y ", 50_000) + `"}`},
		{"UserPromptExpansion", `{"session_id":"s1","command_name":"opencode:cancel","command_args":"@x"}`},
		{"PreToolUse", `{"session_id":"s1","cwd":"` + p.Project + `","agent_type":"opencode:opencode-delegate","tool_name":"Bash","tool_input":{"command":"oc-delegate --write x"}}`},
		{"PreToolUse", `{"session_id":"s1","cwd":"` + p.Project + `","agent_type":"opencode:opencode-delegate","tool_name":"Bash","tool_input":{"command":"oc-job cancel ` + job.NewID(began) + `"}}`},
		{"PreToolUse", `{"session_id":"s1","cwd":"` + p.Project + `","tool_name":"Write","tool_input":{"content":"` + strings.Repeat("z", 3<<20) + `"}}`},
		{"SessionEnd", `{"session_id":"s1","reason":"other"}`},
		{"Watch", `{"session_id":"s1"}`},
	} {
		best := time.Hour
		said := 0
		for range 7 { // other work on the machine takes time of this one
			cmd := exec.Command(filepath.Join(bin, "oc-job"), "hook", c.event)
			cmd.Dir, cmd.Env, cmd.Stdin = p.Project, env, strings.NewReader(c.input)
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, os.Stderr
			began := time.Now()
			err := cmd.Run()
			best = min(best, time.Since(began))
			if err != nil {
				t.Fatalf("%s: %v", c.event, err)
			}
			said = max(said, out.Len())
		}
		t.Logf("%s %.60s: %v, %d bytes", c.event, c.input, best, said)
		if best > limit {
			t.Errorf("%s took %v, more than %v", c.event, best, limit)
		}
		if said > most {
			t.Errorf("%s said %d bytes, more than %d", c.event, said, most)
		}
	}
}

// untold makes the ends of the newest jobs of a caller untold ones.
func untold(t *testing.T, state, caller string, n int) {
	t.Helper()
	store, err := job.OpenStore(state, nil)
	if err != nil {
		t.Fatal(err)
	}
	found, err := store.List(t.Context(), func(v job.View) bool { return v.Caller == caller })
	if err != nil || len(found) == 0 {
		t.Fatalf("%d jobs, %v", len(found), err)
	}
	dir := filepath.Join(state, "news", key(caller))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, v := range found[:min(n, len(found))] {
		if err := os.WriteFile(filepath.Join(dir, v.ID), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// key is how the state directory names a caller.
func key(caller string) string {
	sum := sha256.Sum256([]byte(caller))
	return hex.EncodeToString(sum[:8])
}
