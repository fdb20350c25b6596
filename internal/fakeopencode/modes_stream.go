package fakeopencode

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// streamModes misuse the output itself.
var streamModes = map[string]func(*fake, string){
	"replay": replay,
	"bigline": func(f *fake, arg string) {
		f.stepStart()
		whole := f.line("text", f.part("text", map[string]any{"text": "@", "time": span()}))
		before, after, _ := bytes.Cut(whole, []byte("@"))
		f.out.Write(before)
		fill(f.out, "big line of text; ", int64(number(arg, 1))<<20)
		f.out.Write(append(after, '\n'))
		f.stepFinish("stop")
		f.done = true
	},
	"bigstderr": func(f *fake, arg string) { fill(f.err, "a line of noise on stderr\n", int64(number(arg, 1))<<20) },
	"bigprompt": func(f *fake, _ string) {
		f.answer(fmt.Sprintf("The prompt has %d bytes.", len(f.prompt)))
	},
	"many-events": func(f *fake, arg string) {
		f.stepStart()
		for range number(arg, 1000) {
			f.toolUse(toolCall{tool: "read", input: map[string]any{"filePath": "a.txt"}, output: "1: hello"})
		}
		f.stepFinish("tool-calls")
	},
	"invalid-utf8": func(f *fake, _ string) {
		f.stepStart()
		line := f.line("text", f.part("text", map[string]any{"text": "caf@ and more", "time": span()}))
		f.out.Write(append(bytes.Replace(line, []byte("@"), []byte("\xe9\xff\xc3"), 1), '\n'))
		f.stepFinish("stop")
		f.done = true
	},
	"no-newline": func(f *fake, _ string) {
		f.stepStart()
		f.text("Complete, but for the last newline.")
		f.eol = ""
		f.stepFinish("stop")
		f.done = true
	},
	"crlf": func(f *fake, _ string) { f.eol = "\r\n" },
	"junk": func(f *fake, _ string) {
		fmt.Fprint(f.out, "\nnot json at all\n{\"no\":\"type\"}\n[1,2,3]\nnull\n\"text\"\n42\n{\"type\":7}\n{\"type\":\"text\",\"part\":[]}\n{\"type\":\"text\"\n\x00\x01\n")
	},
	// Names as a later major version might have them: nothing of it is known to us.
	"v2": func(f *fake, _ string) {
		for _, kind := range []string{"session.created", "message.updated", "message.part.updated", "session.idle"} {
			f.event(kind, map[string]any{"properties": map[string]any{"sessionID": f.session, "part": map[string]any{"type": "text", "text": "Hello from version 2."}}})
		}
		f.done = true
	},
	"ansi": func(f *fake, _ string) {
		f.answer("red:\x1b[31mRED\x1b[0m title:\x1b]0;pwned\a bell:\a cr:\rover del:\x7f c1:\u009b31m bidi:\u202egnp.exe end")
	},
	"partial-line": func(f *fake, _ string) {
		f.stepStart()
		line := f.line("text", f.part("text", map[string]any{"text": "This line is never finished", "time": span()}))
		f.out.Write(line[:len(line)/2])
		dieBy(syscall.SIGKILL)
	},
	"sigkill": func(f *fake, _ string) { f.stepStart(); f.text("Half of it"); dieBy(syscall.SIGKILL) },
	"segv":    func(f *fake, _ string) { f.stepStart(); dieBy(syscall.SIGSEGV) },
}

// recordedSession is the session that a recording tells of, so that a later run may name it.
func recordedSession(name string) string {
	text, _ := os.ReadFile(filepath.Join(os.Getenv("OC_FAKE_RECORDINGS"), filepath.Base(name), "stdout")) // replay reports it
	_, rest, _ := bytes.Cut(text, []byte(`"sessionID":"`))
	id, _, _ := bytes.Cut(rest, []byte(`"`))
	return string(id)
}

// fill writes n bytes of a repeated text. It must not hold them: tests measure the reader's memory beside it.
func fill(w io.Writer, text string, n int64) {
	block := []byte(strings.Repeat(text, 64<<10/len(text)))
	for n > 0 {
		piece := block[:min(n, int64(len(block)))]
		if _, err := w.Write(piece); err != nil {
			return // nobody reads any more
		}
		n -= int64(len(piece))
	}
}

// replay prints a recording of the real program and ends as it ended. What its recorder had to cut stays silent in place of
// its end: that is what the program did.
func replay(f *fake, name string) {
	f.done = true
	dir := filepath.Join(os.Getenv("OC_FAKE_RECORDINGS"), filepath.Base(name))
	for _, stream := range []struct {
		to   io.Writer
		file string
	}{{f.err, "stderr"}, {f.out, "stdout"}} {
		text, err := os.ReadFile(filepath.Join(dir, stream.file))
		if err != nil {
			f.code = f.fail("fake opencode: " + err.Error())
			return
		}
		stream.to.Write(text)
	}
	text, err := os.ReadFile(filepath.Join(dir, "exit"))
	if err != nil {
		f.code = f.fail("fake opencode: " + err.Error())
		return
	}
	exit := strings.TrimSpace(string(text))
	if strings.HasPrefix(exit, "timeout") {
		silence()
	}
	code, err := strconv.Atoi(exit)
	if err != nil {
		f.code = f.fail("fake opencode: " + dir + ": exit " + exit)
		return
	}
	if code < 0 {
		dieBy(syscall.Signal(-code))
	}
	f.code = code
}
