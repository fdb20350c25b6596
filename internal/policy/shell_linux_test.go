package policy

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// recorder is every program that a command of the corpora can find: it writes down how it was called, and does nothing.
const recorder = `#!/bin/bash
body=
if [ -p /dev/stdin ] || [ -f /dev/stdin ]; then IFS= read -r -d '' body; fi
printf '%s\0' "${0##*/}" "$#" "$@" "$body" "${OC_DELEGATE_OPENCODE-}${OC_DELEGATE_STATE-}${OC_X-}" >>"$RECORD$$"
`

var bystanders = []string{"touch", "cat", "env", "nohup", "timeout", "sudo", "xargs", "bash", "oc-job.sh", "0", "oc-delegate2"}

// A shelter is a place in which a real shell runs commands that mean harm: nothing on PATH but recorders, an empty environment, limits.
type shelter struct {
	ground
	bin, record string
}

func newShelter(t testing.TB) shelter {
	t.Helper()
	s := shelter{ground: newGround(t)}
	s.bin, s.record = filepath.Join(s.root, "bin"), filepath.Join(s.root, "record")
	must(t, os.Mkdir(s.bin, 0o755))
	for _, name := range append([]string{Delegate, Jobber}, bystanders...) {
		must(t, os.WriteFile(filepath.Join(s.bin, name), []byte(recorder), 0o755))
	}
	must(t, os.WriteFile(filepath.Join(s.project, "oc-job"), []byte(strings.Replace(recorder, "${0##*/}", "repository/oc-job", 1)), 0o755))
	must(t, os.WriteFile(filepath.Join(s.project, "script"), []byte("touch sourced\n"), 0o644))
	return s
}

// A ran is one program that ran.
type ran struct {
	name  string
	args  []string
	stdin string
	env   string
}

// An outcome is what a command did.
type outcome struct {
	ran  []ran
	made []string // files of the project that were not there before
	out  string   // stdout and stderr
	exit int
}

// run runs a command in a shell. wrapped runs it as the host does, through eval with an empty stdin.
func (s shelter) run(t testing.TB, shell, command string, wrapped bool) outcome {
	t.Helper()
	for _, f := range s.records(t) {
		os.Remove(f)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	args := []string{"-c", command}
	if wrapped {
		args = []string{"-c", `eval "$1" && true`, shell, command}
	}
	limit := []string{"-c", `ulimit -t 5 -f 4096 -u 20000; exec "$0" "$@"`, shell}
	cmd := exec.CommandContext(ctx, "/bin/bash", append(limit, args...)...)
	cmd.Dir, cmd.WaitDelay = s.project, time.Second
	cmd.Env = []string{"PATH=" + s.bin, "HOME=" + s.outside, "RECORD=" + s.record, "SECRET=hunter2", "LC_ALL=C.UTF-8"}
	before := s.files(t)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	var o outcome
	if err := cmd.Run(); err != nil {
		o.exit = cmd.ProcessState.ExitCode()
	}
	o.out = out.String()
	time.Sleep(s.settle(command))
	for _, f := range s.files(t) {
		if !slices.Contains(before, f) {
			o.made = append(o.made, f)
			os.Remove(filepath.Join(s.project, f))
		}
	}
	var data []byte
	for _, f := range s.records(t) {
		one, err := os.ReadFile(f)
		must(t, err)
		data = append(data, one...)
	}
	fields := strings.Split(string(data), "\x00")
	for len(fields) > 1 {
		n, err := strconv.Atoi(fields[1])
		if err != nil || len(fields) < n+4 {
			t.Fatalf("record of %q: %q", command, data)
		}
		o.ran = append(o.ran, ran{fields[0], fields[2 : 2+n], fields[2+n], fields[3+n]})
		fields = fields[4+n:]
	}
	return o
}

// records are those of each process that ran: bash writes line by line, and two of them into one file would be mixed.
func (s shelter) records(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob(s.record + "[0-9]*")
	must(t, err)
	return files
}

// settle is how long what a command leaves in the background may take.
func (s shelter) settle(command string) time.Duration {
	if strings.Contains(command, "&") || strings.Contains(command, "coproc") {
		return 100 * time.Millisecond
	}
	return 0
}

func (s shelter) files(t testing.TB) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(s.project)
	must(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// did checks what a command did against one word of the corpus: "ran NAME", "made FILE", "passes WORD" (an argument that holds
// it), "stdin TEXT", "env TEXT", "calls N", "out TEXT", "nothing" (no program ran), "plain" (one call of ours with just these words, whose
// meaning is the harm).
func (o outcome) did(what string) bool {
	kind, arg, _ := strings.Cut(what, " ")
	some := func(f func(ran) bool) bool { return slices.ContainsFunc(o.ran, f) }
	switch kind {
	case "ran":
		return some(func(r ran) bool { return r.name == arg })
	case "made":
		return slices.Contains(o.made, arg)
	case "passes":
		return some(func(r ran) bool {
			return slices.ContainsFunc(r.args, func(a string) bool { return strings.Contains(a, arg) })
		})
	case "stdin":
		return some(func(r ran) bool { return strings.Contains(r.stdin, arg) })
	case "env":
		return some(func(r ran) bool { return strings.Contains(r.env, arg) })
	case "calls":
		return strconv.Itoa(len(o.ran)) == arg
	case "out":
		return strings.Contains(o.out, arg)
	case "nothing":
		return len(o.ran) == 0 && len(o.made) == 0
	case "plain":
		return len(o.ran) == 1 && (o.ran[0].name == Delegate || o.ran[0].name == Jobber) && len(o.made) == 0
	}
	panic("unknown: " + what)
}

// TestBypassesAreReal: a corpus of what no shell would do proves nothing. Each entry is run, and does what it says.
func TestBypassesAreReal(t *testing.T) {
	s := newShelter(t)
	for _, b := range bypasses() {
		o := s.run(t, "/bin/bash", s.fill(b.command), false)
		if !o.did(s.fill(b.does)) {
			t.Errorf("%q (%s)\n\tdoes not: %s\n\tbut: %+v", b.command, b.why, b.does, o)
		}
	}
}

// shells are those of a user's that are here; the host runs commands in bash or zsh. The first two are always there.
func shells() []string {
	found := []string{"/bin/bash", "/bin/sh"}
	for _, more := range []string{"/bin/zsh", "/bin/ksh", "/bin/mksh"} {
		if _, err := os.Stat(more); err == nil {
			found = append(found, more)
		}
	}
	return found
}

// TestAllowedCallsAreOneCall: what is allowed, each shell runs as the one call that was read, and nothing else.
func TestAllowedCallsAreOneCall(t *testing.T) {
	s := newShelter(t)
	for _, command := range legitimate() {
		command = s.fill(command)
		argv, err := Words(command)
		if err != nil {
			t.Errorf("%q: %v", command, err)
			continue
		}
		for _, shell := range shells() {
			s.same(t, shell, command, argv, false)
			s.same(t, shell, command, argv, true)
		}
	}
}

// same holds what a shell does with an allowed command to what was read.
func (s shelter) same(t testing.TB, shell, command string, argv []string, wrapped bool) {
	t.Helper()
	o := s.run(t, shell, command, wrapped)
	if len(o.ran) != 1 || o.ran[0].name != argv[0] || !slices.Equal(o.ran[0].args, argv[1:]) || len(o.made) > 0 || o.exit != 0 || o.out != "" || o.ran[0].env != "" {
		t.Errorf("%s with %q\n\tdid %+v\n\tread was %q", shell, command, o, argv)
	}
	sc, err := scanCommand(command)
	if err != nil {
		t.Errorf("%q: %v", command, err)
	} else if sc.heredoc && len(o.ran) == 1 && o.ran[0].stdin != sc.src[sc.body:sc.done] {
		t.Errorf("%s with %q: stdin was %q", shell, command, o.ran[0].stdin)
	}
}

// TestEveryByte: each byte, in each place of a word, is refused or means itself to every shell.
func TestEveryByte(t *testing.T) {
	s := newShelter(t)
	var taken []string
	refused := 0
	for c := range 256 {
		b := string([]byte{byte(c)})
		for _, w := range []string{b, b + "a", "a" + b, "a" + b + "a", "--a" + b + "b", "--dir=" + b, "a=" + b + "/x", "'" + b + "'", `"` + b + `"`, `"a` + b + `a"`, `"\` + b + `"`, `"a\\` + b + `"`, `\` + b, "a\\" + b, "''" + b, `'a'` + b + `"c"`} {
			if argv, err := Words("oc-delegate " + w + " x"); err != nil {
				refused++
			} else if len(argv) == 3 {
				taken = append(taken, w)
			}
		}
	}
	if len(taken) < 500 || refused < 2000 {
		t.Errorf("%d words were taken, %d refused", len(taken), refused)
	}
	for chunk := range slices.Chunk(taken, wordLimit-1) {
		command := "oc-delegate " + strings.Join(chunk, " ")
		argv, err := Words(command)
		must(t, err)
		for _, shell := range shells() {
			s.same(t, shell, command, argv, true)
		}
	}
}
