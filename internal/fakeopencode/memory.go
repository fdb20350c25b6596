package fakeopencode

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// log appends one JSON line about this call to OC_FAKE_LOG. A log that cannot be written is said on stderr, or a test would look
// for a call that it cannot see; the usual cause is a sandbox.
func (f *fake) log(stdin []byte) {
	path := os.Getenv("OC_FAKE_LOG")
	if path == "" {
		return
	}
	vars := map[string]string{}
	for _, e := range os.Environ() {
		name, value, _ := strings.Cut(e, "=")
		vars[name] = value
	}
	cwd, _ := os.Getwd()
	line, err := json.Marshal(map[string]any{
		"argv": f.args, "cwd": cwd, "pid": os.Getpid(), "at": time.Now().UTC(), "env": vars,
		"stdin_bytes": len(stdin), "stdin_sha256": fmt.Sprintf("%x", sha256.Sum256(stdin)), "stdin": clip(string(stdin), 64<<10),
	})
	if err == nil {
		err = appendTo(path, append(line, '\n'))
	}
	if err != nil {
		fmt.Fprintln(f.err, "fake opencode: OC_FAKE_LOG:", err)
	}
}

func appendTo(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := file.Write(text); err != nil {
		file.Close()
		return err
	}
	return file.Close()
}

// count returns how often it was called with this name before, and counts the call.
func (f *fake) count(name string) int {
	path := filepath.Join(f.state, "count-"+name)
	text, _ := os.ReadFile(path) // the first call finds none
	n, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	if err := f.keep(path, []byte(strconv.Itoa(n+1))); err != nil {
		fmt.Fprintln(f.err, "fake opencode: state:", err)
	}
	return n
}

func (f *fake) keep(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}

// A saved session, as `session list` shows it.
type saved struct {
	ID        string `json:"id"`
	Title     string `json:"title"`
	Updated   int64  `json:"updated"`
	Created   int64  `json:"created"`
	ProjectID string `json:"projectId"`
	Directory string `json:"directory"`
}

// openSession settles the session of a run. Of another directory's session the real one runs the tools there and prints
// nothing for ever; so does this one.
func (f *fake) openSession() bool {
	id := f.opts.value["session"]
	if id == "" && f.opts.set["continue"] {
		for _, s := range f.sessions() {
			if s.Directory == f.dir {
				id = s.ID
				break
			}
		}
	}
	var from saved
	if id != "" {
		all := f.sessions()
		at := slices.IndexFunc(all, func(s saved) bool { return s.ID == id })
		if at < 0 {
			return false
		}
		from = all[at]
		if from.Directory != f.dir {
			silence()
		}
	}
	now := time.Now().UnixMilli()
	switch {
	case id == "" || f.opts.set["fork"]:
		f.session = newID("ses_")
		from.Created = now
		from.Title = f.opts.value["title"]
	default:
		f.session = id
	}
	for _, m := range f.modes {
		switch m.name {
		case "session":
			f.session = m.arg
		case "replay":
			if id := recordedSession(m.arg); id != "" {
				f.session = id
			}
		}
	}
	s := saved{ID: f.session, Title: from.Title, Updated: now, Created: from.Created, ProjectID: "fake", Directory: f.dir}
	text, err := json.Marshal(s)
	if err == nil {
		err = f.keep(filepath.Join(f.state, "sessions", filepath.Base(f.session)+".json"), text)
	}
	if err != nil {
		fmt.Fprintln(f.err, "fake opencode: state:", err)
	}
	return true
}

// sessions are those of earlier runs, newest first.
func (f *fake) sessions() []saved {
	files, _ := filepath.Glob(filepath.Join(f.state, "sessions", "*.json")) // the pattern is well formed
	var all []saved
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		var s saved
		if json.Unmarshal(text, &s) == nil {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b saved) int { return int(b.Updated - a.Updated) })
	return all
}

// newID makes an identifier of opencode's shape.
func newID(prefix string) string { return prefix + rand.Text() }

func clip(s string, n int) string {
	if len(s) > n {
		return s[:n]
	}
	return s
}
