package plugin

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"opencode-delegate/internal/atomicfile"
	"opencode-delegate/internal/call"
	"opencode-delegate/internal/cli"
	"opencode-delegate/internal/job"
	"opencode-delegate/internal/plain"
	"opencode-delegate/internal/record"
)

// What a person types behind a command of the plugin is pasted by Claude Code, as text, into the command's own shell line, before any shell
// reads it. So no line of ours has a place for it. The hook sees it as data before the line is run, keeps it, and the line reads it.

// kept is a file of arguments/.
type kept struct {
	Session string    `json:"session"`
	Command string    `json:"command"`
	Text    string    `json:"text"`
	At      time.Time `json:"at"`
}

const (
	// argumentsLimit bounds what is kept, in bytes.
	argumentsLimit = 1 << 20
	// keptLimit bounds the file: a byte of the text may need six.
	keptLimit = 6*argumentsLimit + 4<<10
	// argumentsTime is how long they are good: a command runs at once. Later they would be those of another wish.
	argumentsTime = time.Minute
	// clockSlack is how far a clock may be set back meanwhile.
	clockSlack = 5 * time.Second
)

// Kept are the commands of the plugin that read their arguments with --args-from-hook.
var Kept = []string{"status", "result", "cancel"}

// namespace is what Claude Code puts before the names of the plugin's commands.
const namespace = "opencode:"

func keptFile(dir, session, command string) string {
	sum := sha256.Sum256([]byte(session))
	return filepath.Join(dir, hex.EncodeToString(sum[:8])+"-"+command)
}

// expanded keeps the arguments of a command. Those that name a file to Claude Code stop the prompt: it would read the file into the
// conversation, and a hook cannot change what was typed.
func (h *hook) expanded() error {
	command, ours := strings.CutPrefix(h.in.Command, namespace)
	if !ours || !slices.Contains(Kept, command) {
		return nil
	}
	root, err := job.RootPath(h.Getenv, h.Home)
	if err != nil {
		return err
	}
	old := keptFile(filepath.Join(root, argumentsDir), h.in.Session, command)
	if err := os.Remove(old); err != nil && !errors.Is(err, os.ErrNotExist) { // what stays would be taken for what was typed now
		return err
	}
	block := func(what string) error {
		return h.tell(answer{Decision: "block", Reason: "/" + h.in.Command + ": " + what + "; nothing was done"})
	}
	switch {
	case plain.HasMention(h.in.Args):
		return block("Claude Code would read the file that an at sign names, so give a job's id or name, without one")
	case len(h.in.Args) > argumentsLimit:
		return block("more than 1 MiB was typed, so give a job's id or name")
	}
	store, err := h.Store()
	if err != nil {
		return err
	}
	dir, err := store.ArgumentsDir()
	if err != nil {
		return err
	}
	data, err := json.Marshal(kept{h.in.Session, command, h.in.Args, h.Now().UTC()})
	if err != nil {
		return err
	}
	return atomicfile.WriteFast(keptFile(dir, h.in.Session, command), data, 0o600)
}

// argumentsDir is the name of the directory that [job.Store.ArgumentsDir] makes.
const argumentsDir = "arguments"

// Arguments takes what was typed behind a command a moment ago; it can be taken once. false: nothing that is good was kept.
func Arguments(a *cli.App, command string) (text string, ok bool) {
	session := call.Caller(a.Getenv)
	root, err := job.RootPath(a.Getenv, a.Home)
	if err != nil || !call.IsSession(session) {
		return "", false
	}
	path := keptFile(filepath.Join(root, argumentsDir), session, command)
	data, err := record.Read(path, keptLimit)
	if err != nil {
		return "", false
	}
	if os.Remove(path) != nil { // another one has taken them
		return "", false
	}
	var k kept
	if json.Unmarshal(data, &k) != nil || k.Session != session || k.Command != command || len(k.Text) > argumentsLimit {
		return "", false
	}
	if age := a.Now().Sub(k.At); age > argumentsTime || age < -clockSlack {
		return "", false
	}
	return k.Text, true
}

// forget removes what was kept of a session and not taken.
func (h *hook) forget(session string) error {
	root, err := job.RootPath(h.Getenv, h.Home)
	if err != nil {
		return err
	}
	var errs []error
	for _, command := range Kept {
		if err := os.Remove(keptFile(filepath.Join(root, argumentsDir), session, command)); !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return oneLine(errs...)
}

// Words splits what was typed at white space; '…' and "…" keep words together. Nothing is ever expanded, and a backslash is one.
func Words(text string) ([]string, error) {
	var words []string
	var word strings.Builder
	begun, quoted := false, rune(0)
	for _, r := range text {
		switch {
		case quoted != 0 && r == quoted:
			quoted = 0
		case quoted != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quoted, begun = r, true
		case unicode.IsSpace(r):
			if begun {
				words = append(words, word.String())
				word.Reset()
			}
			begun = false
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	if quoted != 0 {
		return nil, errors.New("a quote is open at the end; close it, or leave it out")
	}
	if begun {
		words = append(words, word.String())
	}
	return words, nil
}
