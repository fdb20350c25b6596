package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/job"
	"opencode-delegate/internal/proc"
	"opencode-delegate/internal/redact"
	"opencode-delegate/internal/testplace"
)

// TestLimitTenThousandRecords: however many jobs there were, whoever asks waits for less than 300 ms.
func TestLimitTenThousandRecords(t *testing.T) {
	const records = 10_000
	limit := testplace.Slower(300*time.Millisecond, testplace.Pace(t))
	dir := t.TempDir()
	state, bin := filepath.Join(dir, "state"), filepath.Join(dir, "bin")
	if err := buildInto(bin, "", "."); err != nil {
		t.Fatal(err)
	}
	// Every second job is of a session of its own, and those of the last three hundred are one caller.
	session := func(i int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", i) }
	store, err := job.OpenStore(state, redact.New(nil))
	if err != nil {
		t.Fatal(err)
	}
	const linked = 300
	for i := range linked {
		if err := store.Link(t.Context(), proc.Self(), session(records-1-2*i)); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now().Add(-records * time.Minute)
	for i := range records {
		at := began.Add(time.Duration(i) * time.Minute).UTC()
		end, exit, cost := at.Add(4*time.Minute), 0, 0.0123
		st := job.State{
			Schema: job.Schema, ID: job.NewID(at), State: job.Succeeded, Status: fault.OK, Exit: &exit, Caller: "shell", Background: true,
			Dir: dir, Repo: dir, Session: "ses_3f2a9c1e5ffe7Qd0tYv0mZxK1b", Tier: "code", Model: "opencode-go/kimi-k2.7-code", Version: "1.18.33",
			Profile: "write", Task: fmt.Sprintf("Add a --json flag to cmd/list with a test, and say in the docs what each of its %d members means", i),
			Prompt: "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae", CostUSD: &cost, MaxJobs: 4,
			CreatedAt: at, QueuedAt: &at, StartedAt: &at, EndedAt: &end,
		}
		if i%2 == 1 {
			st.Caller = session(i)
		}
		forge(t, state, st)
	}
	many := map[string]int{"list --all --json": records, "list --mine --json": linked}
	for _, args := range [][]string{
		{"list", "--all", "--json"}, {"list", "--mine", "--json"}, {"list", "--all"}, {"list"}, {"list", "--state", "failed"}, {"list", "-n", "10"}, {"status"}, {"status", "--json"}, {"notify"},
	} {
		best := time.Hour
		for range 5 { // other work on the machine takes time of this one
			cmd := exec.Command(filepath.Join(bin, "oc-job"), args...)
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "OC_DELEGATE_STATE="+state, "CLAUDE_CODE_SESSION_ID="+session(records-1))
			began := time.Now()
			out, err := cmd.Output()
			best = min(best, time.Since(began))
			if err != nil {
				t.Fatalf("%v: %v", args, err)
			}
			if want, ok := many[strings.Join(args, " ")]; ok {
				var all []struct{ ID string }
				if err := json.Unmarshal(out, &all); err != nil || len(all) != want {
					t.Fatalf("%v: %d jobs, %v", args, len(all), err)
				}
			}
		}
		t.Logf("%v: %v", args, best)
		if best > limit {
			t.Errorf("%v took %v, more than %v", args, best, limit)
		}
	}
}

// forge writes a record as a job leaves it, without the files that no list reads.
func forge(t *testing.T, root string, st job.State) {
	t.Helper()
	data, err := json.MarshalIndent(st, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	forgeRaw(t, root, st.ID, string(data))
}

func forgeRaw(t *testing.T, root, id, state string) {
	t.Helper()
	rec := filepath.Join(root, "jobs", id)
	if err := os.MkdirAll(rec, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(rec, "state.json"), []byte(state), 0o600); err != nil {
		t.Fatal(err)
	}
}
