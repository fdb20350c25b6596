package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"opencode-delegate/internal/call"
	"opencode-delegate/internal/delegate"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/job"
	"opencode-delegate/internal/plain"
	"opencode-delegate/internal/redact"
)

// An App is one call of a command with everything that it finds around it. What of it cannot be found is empty, and named
// by whoever needs it.
type App struct {
	Name           string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Environ        []string
	Cwd, Home      string
	Self           string // absolute path of this program
	Now            func() time.Time
	Secrets        *redact.Set

	print  func(line string)
	logger Logger
}

// A Logger prints lines of speech on stderr behind the name of a command.
type Logger func(stderr io.Writer, name string) func(line string)

// New is the call that this process is.
func New(name string, logger Logger) *App {
	a := &App{Name: name, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Environ: os.Environ(), Now: time.Now}
	a.Cwd, _ = os.Getwd()
	a.Home, _ = os.UserHomeDir()
	a.Self, _ = os.Executable()
	if real, err := filepath.EvalSymlinks(a.Cwd); err == nil && a.Cwd != "" {
		a.Cwd = real
	}
	a.Secrets = redact.New(a.Environ)
	a.print, a.logger = logger(a.Stderr, name), logger
	return a
}

// Redirected is the same call with other ends: what it prints and says goes there.
func (a *App) Redirected(stdout, stderr io.Writer) *App {
	b := *a
	b.Stdout, b.Stderr, b.print = stdout, stderr, a.logger(stderr, a.Name)
	return &b
}

// Getenv is a variable of the call.
func (a *App) Getenv(name string) string {
	for i := len(a.Environ) - 1; i >= 0; i-- {
		if k, v, ok := strings.Cut(a.Environ[i], "="); ok && k == name {
			return v
		}
	}
	return ""
}

// lineLimit is the number of code points of a spoken line.
const lineLimit = 1000

// Say speaks on stderr: one line in lower case without a full stop. What it quotes is cleaned of control characters and
// secrets first.
func (a *App) Say(format string, args ...any) {
	a.print(plain.Line(a.Secrets.String(fmt.Sprintf(format, args...)), lineLimit))
}

// SayEach says each text on a line of its own behind a label such as "hint".
func (a *App) SayEach(label string, texts []string) {
	for _, t := range texts {
		if strings.TrimSpace(t) != "" {
			a.Say("%s: %s", label, t)
		}
	}
}

// Store opens the state directory of the call.
func (a *App) Store() (*job.Store, error) {
	root, err := job.RootPath(a.Getenv, a.Home)
	if err != nil {
		return nil, err
	}
	return job.OpenStore(root, a.Secrets)
}

// Host is what a delegation needs of this machine and this call. A nil store keeps no facts about programs.
func (a *App) Host(store *job.Store) delegate.Host {
	h := delegate.Host{
		Self: a.Self, Environ: a.Environ, Home: a.Home, Cwd: a.Cwd, Secrets: a.Secrets, Now: a.Now,
	}
	h.StateRoot, _ = job.RootPath(a.Getenv, a.Home)
	if store != nil {
		h.CacheDir, h.Ledger = store.CacheDir(), store.Ledger()
	}
	return h
}

// Look prints what was asked to be seen, without secrets.
func (a *App) Look(print func(io.Writer) error) int {
	w := a.Secrets.Writer(a.Stdout)
	err := print(w)
	if cerr := w.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return a.Refuse(fault.New(fault.RunFailed, "stdout: %w", err))
	}
	return 0
}

// PrintJSON prints a value for a program: one line, without secrets, and safe for a terminal.
func (a *App) PrintJSON(v any) error {
	data, err := json.Marshal(v)
	if err == nil {
		_, err = fmt.Fprintf(a.Stdout, "%s\n", plain.JSON(a.Secrets.JSON().Bytes(data)))
	}
	return err
}

// ReadPrompt reads the prompt, but not past the end of the context: a pipe may stay open for ever.
func (a *App) ReadPrompt(ctx context.Context, p call.Prompt) (string, error) {
	type read struct {
		text string
		err  error
	}
	ch := make(chan read, 1)
	go func() {
		text, err := p.Read(a.Stdin)
		ch <- read{text, err}
	}()
	select {
	case r := <-ch:
		if r.err != nil {
			return "", fault.New(fault.Usage, "%w", r.err)
		}
		return r.text, nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// Notes are remarks about a call that change nothing. prompt is what the caller has written.
func (a *App) Notes(c call.Call, prompt string) []string {
	var notes []string
	if c.Request.Profile == "read-only" && !c.Recipe && call.LooksLikeWriting(prompt) {
		notes = append(notes, "the task seems to ask for changes, but the worker may only read; --write lets it edit")
	}
	if strings.HasPrefix(c.Request.Dir, "/mnt/") && isWSL() {
		notes = append(notes, "work below /mnt is slow under WSL; a directory of the Linux file system is faster")
	}
	if text := advice(c, prompt); text != "" && !a.watched(c) {
		notes = append(notes, text)
	}
	if a.Secrets.Found(prompt) {
		notes = append(notes, "the task seems to hold a secret; the record keeps the task as it is")
	}
	return notes
}

func isWSL() bool {
	v, err := os.ReadFile("/proc/sys/kernel/osrelease")
	return err == nil && strings.Contains(strings.ToLower(string(v)), "microsoft")
}
