// Package fakeopencode is an opencode that misbehaves on request. Tests compile it into their own binary and put it on PATH as
// `opencode`; what the real program does only under a failing network, a full quota or a kernel's kill, it does at once.
//
// The environment says what it does:
//
//	OC_FAKE              modes, by commas: what it does in order; by semicolons: in successive runs (the last one stays)
//	OC_FAKE_VERSION      1.18.33 (default), 1.2.27, 1.1.31 or 1.0.0: version, flags and where its usage goes
//	OC_FAKE_TEXT         the words of its answer
//	OC_FAKE_SEC          seconds, for `slowfirst`
//	OC_FAKE_SH           a shell command, for `sh`
//	OC_FAKE_SECRET       what `secret` gives away
//	OC_FAKE_MESSAGE      the provider's words, for `quota-hang`, `rate-hang` and `exit0-error`
//	OC_FAKE_MODELS       what `models` lists, by commas
//	OC_FAKE_RECORDINGS   the folder of recordings, for `replay`
//	OC_FAKE_LOG          receives a JSON line for each call; it must lie where a sandboxed worker may write
//	OC_FAKE_STATE        its memory; default: fake/ below opencode's data directory
//
// The modes are listed in testdata/script/README.md. Like the real program it reads all of stdin before it does anything, knows the
// sessions of earlier runs with their directories, and looks for nothing in the network.
package fakeopencode

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Main is the program; it returns the exit code. Some modes never return.
func Main() int {
	f := &fake{
		args: os.Args[1:], version: env("OC_FAKE_VERSION", versions[0]),
		out: os.Stdout, err: os.Stderr,
		state: env("OC_FAKE_STATE", filepath.Join(dataDir(), "fake")),
	}
	return f.main()
}

// A fake is one call of the program.
type fake struct {
	args    []string
	version string
	out     io.Writer
	err     io.Writer
	state   string // directory of what it remembers between calls

	opts    options
	dir     string // where the run takes place, absolute
	prompt  string
	session string
	stdin   []byte
	modes   []mode
	done    bool // an ending was reached: the answer is given
	code    int
	step    int
	seq     int    // of identifiers
	eol     string // of event lines
	json    bool
}

func (f *fake) main() int {
	f.eol = "\n"
	sub := ""
	if len(f.args) > 0 {
		sub = f.args[0]
	}
	if sub == "run" {
		return f.run()
	}
	f.log(nil)
	switch sub {
	case "--version", "-v":
		fmt.Fprintln(f.out, f.version)
		return 0
	case "":
		// The real one starts its terminal interface, also without a terminal, and never ends.
		silence()
	}
	return f.query()
}

// run is `opencode run`.
func (f *fake) run() int {
	opts, problem := parse(f.args[1:], f.version)
	if problem != "" || opts.help {
		f.log(nil)
		out := f.out
		if problem != "" && f.version == versions[0] {
			out = f.err
		}
		fmt.Fprint(out, usage(f.version))
		if problem != "" {
			return 1
		}
		return 0
	}
	f.opts, f.json = opts, opts.value["format"] == "json"
	modes, err := f.chosenModes()
	if err != nil {
		fmt.Fprintln(f.err, "fake opencode:", err)
		return 1
	}
	f.modes = modes
	if !f.has("stdin-never-read") {
		f.readStdin()
	}
	f.log(f.stdin)
	f.prompt = joinPrompt(opts.message, f.stdin)
	if code, ok := f.enter(); !ok {
		return code
	}
	for _, m := range f.modes {
		if f.done {
			break
		}
		m.do(f, m.arg)
	}
	if !f.done {
		f.answer(env("OC_FAKE_TEXT", "Hello from the fake worker."))
	}
	f.info(`message="exiting loop" session.id=%s`, f.session)
	return f.code
}

// enter changes to the run's directory and finds its session, as the real one does before it calls a model.
func (f *fake) enter() (code int, ok bool) {
	f.dir = env("PWD", "")
	if f.dir == "" {
		f.dir, _ = os.Getwd()
	}
	if d := f.opts.value["dir"]; d != "" {
		if !filepath.IsAbs(d) {
			d = filepath.Join(f.dir, d)
		}
		if err := os.Chdir(d); err != nil {
			return f.fail("Failed to change directory to " + d), false
		}
		f.dir = d
	} else {
		f.dir, _ = os.Getwd()
	}
	if a := f.opts.value["agent"]; a != "" && agentMode(a) != "primary" {
		fmt.Fprintf(f.err, "\x1b[93m\x1b[1m! \x1b[0m agent %q not found. Falling back to default agent\n", a)
	}
	for _, file := range f.opts.files {
		if _, err := os.Stat(file); err != nil {
			return f.fail("File not found: " + file), false
		}
	}
	if f.prompt == "" && f.opts.value["command"] == "" && !f.has("stdin-never-read") {
		return f.fail("You must provide a message or a command"), false
	}
	if !f.openSession() {
		return f.fail("Session not found"), false
	}
	f.info(`message=created id=%s version=%s directory=%s parentID=undefined title=%q`, f.session, f.version, f.dir, f.opts.value["title"])
	f.info(`message=loop session.id=%s step=0`, f.session)
	if m := f.opts.value["model"]; m != "" {
		provider, id, found := strings.Cut(m, "/")
		if !found {
			f.event("error", map[string]any{"error": map[string]any{"name": "UnknownError",
				"data": map[string]any{"message": "Unexpected server error. Check server logs for details.", "ref": "err_fa4e0001"}}})
			return 1, false
		}
		f.info(`message=stream providerID=%s modelID=%s session.id=%s small=false agent=build mode=primary`, provider, id, f.session)
	}
	return 0, true
}

func (f *fake) readStdin() {
	info, err := os.Stdin.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice != 0 && info.Mode()&os.ModeDevice != 0 {
		return // a terminal, or the null device
	}
	f.stdin, _ = io.ReadAll(os.Stdin) // a closed one has nothing
}

// joinPrompt makes the prompt as the real one does: an argument with a space is put in quotes, and stdin follows.
func joinPrompt(args []string, stdin []byte) string {
	var words []string
	for _, a := range args {
		if strings.Contains(a, " ") {
			a = `"` + strings.ReplaceAll(a, `"`, `\"`) + `"`
		}
		words = append(words, a)
	}
	parts := []string{}
	if len(words) > 0 {
		parts = append(parts, strings.Join(words, " "))
	}
	if len(stdin) > 0 {
		parts = append(parts, string(stdin))
	}
	return strings.TrimSpace(strings.Join(parts, "\n"))
}

func (f *fake) fail(message string) int {
	fmt.Fprintf(f.err, "\x1b[91m\x1b[1mError: \x1b[0m%s\n", message)
	return 1
}

// info writes one of opencode's own log lines, if they were asked for.
func (f *fake) info(format string, args ...any) { f.logLine("INFO", format, args...) }

func (f *fake) logLine(level, format string, args ...any) {
	if f.opts.set["print-logs"] && f.version == versions[0] && !f.has("replay") {
		fmt.Fprintf(f.err, "timestamp=%s level=%s run=fa4e0001 %s\n", time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), level, fmt.Sprintf(format, args...))
	}
}

func (f *fake) has(name string) bool {
	for _, m := range f.modes {
		if m.name == name {
			return true
		}
	}
	return false
}

// silence is a program that does nothing until it is killed.
func silence() {
	for {
		time.Sleep(time.Hour)
	}
}

func env(name, otherwise string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	return otherwise
}

// dataDir is opencode's data directory.
func dataDir() string {
	home := env("HOME", os.Getenv("USERPROFILE"))
	return filepath.Join(env("XDG_DATA_HOME", filepath.Join(home, ".local", "share")), "opencode")
}
