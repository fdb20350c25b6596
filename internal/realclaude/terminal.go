package realclaude

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A Terminal is Claude Code as a user sees it, in tmux with a server of its own.
type Terminal struct {
	p       *Place
	tmux    string
	session string
	code    string // path of the file that gets the exit code
}

// The window is wide, so that few lines are broken.
const columns, rows = 180, 50

// limit bounds each thing that is waited for: it is long, since a machine can be slow, and only a failure takes so long.
const limit = 90 * time.Second

// Terminal starts Claude Code in the project, in a terminal, and returns when it takes input. The terminal ends with the test at the latest. There may be several.
//
// With "--permission-mode", "default" every version asks before it runs something.
func (p *Place) Terminal(args ...string) *Terminal {
	p.T.Helper()
	tmux, err := exec.LookPath("tmux")
	if err != nil {
		p.T.Fatal("tmux is missing, and without it Claude Code cannot be driven in a terminal: install it (on Debian: apt-get install tmux)")
	}
	t := &Terminal{p: p, tmux: tmux, session: fmt.Sprintf("claude%d", p.runs.Add(1))}
	// The window stays when the program ends, so that its last words and its exit code can be read.
	config := p.Write("tmux.conf", "set -g remain-on-exit on\nset -g status off\nset -g history-limit 20000\nset -sg escape-time 0\n")
	start := []string{"-f", config, "new-session", "-d", "-s", t.session, "-x", strconv.Itoa(columns), "-y", strconv.Itoa(rows), "-c", p.Project}
	for _, e := range p.Env() { // a server that runs already has the environment of its start
		start = append(start, "-e", e)
	}
	p.T.Cleanup(t.Kill)
	// A shell notes the exit code, as a user's would know it: tmux 3.3a sometimes shows a pane that has died and never with what.
	t.code = p.Write("out/"+t.session+".code", "")
	t.do(append(append(start, "--", "sh", "-c", `code=$1; shift; "$@"; echo $? >"$code"`, "sh", t.code, p.Claude.Path), args...)...)
	t.WaitFor("? for shortcuts")
	return t
}

// Type types text and returns when the screen shows its end.
func (t *Terminal) Type(text string) {
	t.p.T.Helper()
	t.do("send-keys", "-t", t.session, "-l", "--", text)
	t.WaitFor(end(text))
}

// end is the end of a text that is short enough to stand in one line.
func end(text string) string {
	all := []rune(strings.TrimSpace(text))
	return string(all[max(0, len(all)-12):])
}

// Paste pastes text as a terminal does, in one piece and marked as such, and returns when the screen shows its end or, for much text, Claude Code's placeholder.
func (t *Terminal) Paste(text string) {
	t.p.T.Helper()
	file := t.p.Write("paste", text)
	t.do("load-buffer", "-b", "paste", file)
	t.do("paste-buffer", "-p", "-r", "-d", "-b", "paste", "-t", t.session)
	t.wait("what was pasted is not on the screen", func(screen string) bool {
		return strings.Contains(screen, "[Pasted text #") || strings.Contains(flat(screen), flat(end(text)))
	})
}

// Send pastes text and presses Enter until the input has taken it: a busy Claude Code now and then swallows the key.
func (t *Terminal) Send(text string) {
	t.p.T.Helper()
	t.Paste(text)
	for range 5 {
		t.Enter()
		for patience := time.Now().Add(4 * time.Second); time.Now().Before(patience); time.Sleep(50 * time.Millisecond) {
			if in := flat(input(t.Screen())); !strings.Contains(in, flat(end(text))) && !strings.Contains(in, "[Pasted text #") {
				return
			}
		}
	}
	t.p.T.Fatalf("Claude Code %s does not take what was typed. The screen:\n%s", t.p.Claude.Version, shown(t.Screen()))
}

// input is what stands in the box for the next prompt: between the last two rules of the screen. A dialog has none.
func input(screen string) string {
	lines := strings.Split(screen, "\n")
	var rules []int
	for i, l := range lines {
		if strings.HasPrefix(strings.TrimSpace(l), "────") {
			rules = append(rules, i)
		}
	}
	if len(rules) < 2 {
		return ""
	}
	return strings.Join(lines[rules[len(rules)-2]+1:rules[len(rules)-1]], "\n")
}

// Enter presses the key.
func (t *Terminal) Enter() {
	t.p.T.Helper()
	t.Press("Enter")
}

// Press presses keys by tmux's names: Escape, C-c, Up, Tab.
func (t *Terminal) Press(keys ...string) {
	t.p.T.Helper()
	t.do(append([]string{"send-keys", "-t", t.session}, keys...)...)
}

// Screen is what is on the screen.
func (t *Terminal) Screen() string {
	t.p.T.Helper()
	return t.do("capture-pane", "-p", "-J", "-t", t.session)
}

// History is what is on the screen and what has left it at the top.
func (t *Terminal) History() string {
	t.p.T.Helper()
	return t.do("capture-pane", "-p", "-J", "-S", "-", "-t", t.session)
}

// WaitFor returns the screen as soon as it shows the text, and fails the test when it does not within limit. Line breaks and runs of blanks count as one blank: Claude Code
// breaks lines where it likes.
func (t *Terminal) WaitFor(text string) string {
	t.p.T.Helper()
	return t.wait(fmt.Sprintf("%q is not on the screen", text), func(screen string) bool { return strings.Contains(flat(screen), flat(text)) })
}

// WaitGone returns the screen as soon as it no longer shows the text.
func (t *Terminal) WaitGone(text string) string {
	t.p.T.Helper()
	return t.wait(fmt.Sprintf("%q is still on the screen", text), func(screen string) bool { return !strings.Contains(flat(screen), flat(text)) })
}

func (t *Terminal) wait(complaint string, done func(screen string) bool) string {
	t.p.T.Helper()
	for end := time.Now().Add(limit); ; time.Sleep(50 * time.Millisecond) {
		screen := t.Screen()
		if done(screen) {
			return screen
		}
		code := t.exited()
		if code != "" || time.Now().After(end) {
			state := "it still runs"
			if code != "" {
				state = "it has ended with " + code
			}
			t.p.T.Fatalf("Claude Code %s: after %v %s; %s. The screen:\n%s", t.p.Claude.Version, limit, complaint, state, shown(t.History()))
		}
	}
}

// Exit leaves Claude Code as a user does and returns its exit code.
func (t *Terminal) Exit() int {
	t.p.T.Helper()
	t.Press("C-u") // a prompt that was interrupted before its answer stands in the input again
	t.Type("/exit")
	t.Enter()
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if code := t.exited(); code != "" {
			n, err := strconv.Atoi(code)
			if err != nil {
				t.p.T.Fatalf("Claude Code %s ended with %q", t.p.Claude.Version, code)
			}
			return n
		}
	}
	t.p.T.Fatalf("Claude Code %s did not end after /exit. The screen:\n%s", t.p.Claude.Version, shown(t.Screen()))
	return -1
}

// exited is the exit code of the program; empty while it runs.
func (t *Terminal) exited() string { return strings.TrimSpace(t.p.read(t.code)) }

// Kill ends the terminal as a user does who closes the window.
func (t *Terminal) Kill() {
	t.run("kill-session", "-t", t.session) // an error means that it has gone
}

func (t *Terminal) do(args ...string) string {
	t.p.T.Helper()
	out, err := t.run(args...)
	if err != nil {
		t.p.T.Fatalf("tmux %s: %v", args[0], err)
	}
	return out
}

func (t *Terminal) run(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, t.tmux, append([]string{"-S", filepath.Join(t.p.Root, "tmux")}, args...)...)
	cmd.Env = t.p.Env()
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return "", fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
	}
	return string(out), err
}

// shown is a screen without its empty lines, for the message of a test.
func shown(screen string) string {
	var lines []string
	for _, l := range strings.Split(screen, "\n") {
		if l = strings.TrimRight(l, " "); l != "" {
			lines = append(lines, l)
		}
	}
	return strings.Join(lines, "\n")
}

// flat is a text with each run of white space as one blank, and without the lines of boxes, which cut a text in two.
func flat(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == '\n' || r == '\t' || r == '\u00a0' || r == '│' }), " ")
}
