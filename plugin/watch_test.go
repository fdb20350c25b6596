package plugin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/job"
	"opencode-delegate/internal/proc"
)

// ended makes a job of a session that ended at a time, and has not been told.
func (g *ground) ended(session string, at time.Time) string {
	g.t.Helper()
	exit := 0
	born := at.Add(-time.Minute).UTC()
	st := job.State{
		Schema: job.Schema, ID: job.NewID(born), State: job.Succeeded, Status: fault.OK, Exit: &exit, Caller: session, Background: true,
		Dir: "/x", Task: "x", CreatedAt: born, EndedAt: &at,
	}
	data, err := json.Marshal(st)
	if err != nil {
		g.t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(session))
	state := filepath.Join(g.root, "state")
	for path, text := range map[string]string{
		filepath.Join(state, "jobs", st.ID, "state.json"):                string(data),
		filepath.Join(state, "news", hex.EncodeToString(sum[:8]), st.ID): "",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			g.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			g.t.Fatal(err)
		}
	}
	return st.ID
}

// watcher is one that has just begun for a session.
func (g *ground) watcher(session string, stderr *bytes.Buffer) *watcher {
	g.t.Helper()
	a := g.app(nil, nil, stderr)
	a.Now = func() time.Time { return g.now }
	store, err := a.Store()
	if err != nil {
		g.t.Fatal(err)
	}
	dir, err := store.CallersDir()
	if err != nil {
		g.t.Fatal(err)
	}
	process := proc.Self()
	return &watcher{hook: &hook{App: a, in: input{Session: session}, ctx: context.Background()}, store: store, process: process, name: filepath.Join(dir, watchName(process))}
}

// look has the watcher look once, and returns what it said.
func (g *ground) look(w *watcher, stderr *bytes.Buffer, want bool) string {
	g.t.Helper()
	stderr.Reset()
	woken, err := w.look()
	if err != nil || woken != want || (stderr.Len() > 0) != want {
		g.t.Errorf("woken %v, want %v: %v %q", woken, want, err, stderr.String())
	}
	return stderr.String()
}

func TestWatchWaitsUntilAnEndIsSettled(t *testing.T) {
	g := newGround(t)
	var stderr bytes.Buffer
	w := g.watcher("s1", &stderr)
	end := time.Now()
	g.look(w, &stderr, false)
	id := g.ended("s1", end)
	for _, after := range []time.Duration{-time.Hour, 0, 1400 * time.Millisecond} {
		g.now = end.Add(after)
		g.look(w, &stderr, false)
	}
	g.now = end.Add(1600 * time.Millisecond)
	if said := g.look(w, &stderr, true); !strings.Contains(said, id) {
		t.Errorf("said %q", said)
	}
	// Once, whichever watcher it is; and one that ends meanwhile is told alone.
	w = g.watcher("s1", &stderr)
	g.now = end.Add(time.Hour)
	g.look(w, &stderr, false)
	next := g.ended("s1", end.Add(time.Minute))
	if said := g.look(w, &stderr, true); !strings.Contains(said, next) || strings.Contains(said, id) {
		t.Errorf("said %q", said)
	}
	// What has been heard needs no note any more.
	w.store.Heard("s1", id)
	third := g.ended("s1", end.Add(2*time.Minute))
	g.look(w, &stderr, true)
	if ids, err := w.wokenFor(); err != nil || strings.Join(ids, " ") != next+" "+third {
		t.Errorf("%q, %v", ids, err)
	}
}

func TestWatchNamesFive(t *testing.T) {
	g := newGround(t)
	var stderr bytes.Buffer
	w := g.watcher("s1", &stderr)
	for i := range 8 {
		g.ended("s1", g.now.Add(time.Duration(i-60)*time.Minute))
	}
	said := g.look(w, &stderr, true)
	if !strings.HasPrefix(said, "8 background jobs ") || strings.Count(said, ": OK\n") != 5 || !strings.Contains(said, "\n3 more: ") {
		t.Errorf("said %q", said)
	}
	g.look(w, &stderr, false) // for the three neither: the prompt of the wake tells of them
}

// TestWatchKnowsThePresentSession: also where nothing links it with the one in which the watcher began.
func TestWatchKnowsThePresentSession(t *testing.T) {
	g := newGround(t)
	var stderr bytes.Buffer
	w := g.watcher("s1", &stderr)
	if err := w.store.Link(t.Context(), w.process, "s2"); err != nil {
		t.Fatal(err)
	}
	g.ended("s3", g.now.Add(-time.Minute))
	g.look(w, &stderr, false)
	g.ended("s2", g.now.Add(-time.Minute))
	g.look(w, &stderr, true)
}
