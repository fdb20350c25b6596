package plugin_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"opencode-delegate/internal/realopencode"
)

// A shelf is a directory of the plugin with the launchers in it, started by one shell, and stand-ins for the programs.
type shelf struct {
	t     *testing.T
	first string // line of every script
	dir   string
	env   []string
}

// A said is what one call came to.
type said struct {
	stdout, stderr string
	exit, pid      int
}

// eachShell runs a test with the shells that the launchers must work with, those of Debian and of macOS, and with the one of small systems where it is there.
func eachShell(t *testing.T, name string, test func(t *testing.T, s *shelf)) {
	t.Helper()
	for _, shell := range []string{"dash", "bash", "busybox"} {
		path, err := exec.LookPath(shell)
		if err != nil {
			if shell != "busybox" {
				t.Errorf("%s is not there: install it", shell)
			}
			continue
		}
		first := "#!" + path
		if shell == "busybox" {
			first += " sh"
		}
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			test(t, newShelf(t, first, name))
		})
	}
}

func newShelf(t *testing.T, first, name string) *shelf {
	t.Helper()
	s := &shelf{t: t, first: first, dir: filepath.Join(t.TempDir(), name), env: []string{"PATH=" + os.Getenv("PATH")}}
	for _, name := range []string{"oc-job", "oc-delegate"} {
		_, rest, _ := strings.Cut(fromCheckout(t, "bin/"+name), "\n")
		s.program("bin/"+name, rest)
	}
	return s
}

func fromCheckout(t *testing.T, name string) string {
	t.Helper()
	root, err := realopencode.Root(".")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func (s *shelf) path(name string) string { return filepath.Join(s.dir, name) }

func (s *shelf) write(name, text string, mode os.FileMode) {
	s.t.Helper()
	err := os.MkdirAll(filepath.Dir(s.path(name)), 0o755)
	if err == nil {
		err = os.WriteFile(s.path(name), []byte(text), mode)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// program writes a script that the shell of this shelf runs.
func (s *shelf) program(name, text string) {
	s.t.Helper()
	s.write(name, s.first+"\n"+text, 0o755)
}

// echo says how it was called, with nothing but what a shell has built in.
const echo = `echo "$STUB $$"
for word; do printf '[%s]\n' "$word"; done
while IFS= read -r line; do printf '<%s>\n' "$line"; done
exit ${STUB_EXIT:-7}
`

// released puts stand-ins into lib/ that say which of them was called.
func (s *shelf) released(platform string) {
	s.t.Helper()
	for _, name := range []string{"oc-job", "oc-delegate"} {
		file := "lib/" + platform + "/" + name
		if strings.HasPrefix(platform, "windows") {
			file += ".exe"
		}
		s.program(file, "STUB='"+platform+" "+name+"'\n"+echo)
	}
}

// call runs a command in a directory.
func (s *shelf) call(dir, stdin, command string, args ...string) said {
	s.t.Helper()
	cmd := exec.Command(command, args...)
	cmd.Dir, cmd.Env, cmd.Stdin = dir, s.env, strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) && cmd.ProcessState == nil {
		s.t.Fatal(err)
	}
	return said{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode(), cmd.Process.Pid}
}

func (s *shelf) run(name string, args ...string) said {
	s.t.Helper()
	return s.call(s.dir, "", s.path("bin/"+name), args...)
}

func lineCount(text string) int { return strings.Count(text, "\n") }

// TestLauncherFinds: whatever way leads to a launcher, it becomes the program beside it, with its words and stdin untouched. There is nothing on PATH: no program
// is started on the way but where a link has to be followed.
func TestLauncherFinds(t *testing.T) {
	for _, name := range []string{"plain", "two words", "-dash", "a'b\"c$(touch x)`y`*[z]\\", "line\nend\n"} {
		t.Run(strings.ReplaceAll(strconv.Quote(name), "/", "_"), func(t *testing.T) {
			eachShell(t, name, func(t *testing.T, s *shelf) {
				s.released("linux-amd64")
				up := filepath.Dir(s.dir)
				for _, link := range [][2]string{{s.path("bin/oc-job"), "far"}, {"far", "farther"}, {name + "/bin/oc-job", "near"}, {s.path("bin"), "tools"}} {
					if err := os.Symlink(link[0], filepath.Join(up, link[1])); err != nil {
						t.Fatal(err)
					}
				}
				nothing := []string{"PATH=" + filepath.Join(up, "nowhere")}
				links := []string{"PATH=" + os.Getenv("PATH")}
				for _, c := range []struct {
					way, dir, command string
					env               []string
				}{
					{"absolute", up, s.path("bin/oc-job"), nothing},
					{"with two slashes", up, s.dir + "//bin/oc-job", nothing},
					{"relative", up, "./" + name + "/bin/oc-job", nothing},
					{"relative, from below", s.path("lib"), "../bin/oc-job", nothing},
					{"in place", s.path("bin"), "./oc-job", nothing},
					{"directory behind a link", up, filepath.Join(up, "tools/oc-job"), nothing},
					{"link", up, filepath.Join(up, "far"), links},
					{"link to a link", s.path("lib"), "../../farther", links},
					{"relative link", "/", filepath.Join(up, "near"), links},
				} {
					s.env = c.env
					got := s.call(c.dir, "one\ntwo\n", c.command, "a b", "", "c\nd", `'"$(x)*\`, "--", "-n")
					want := "linux-amd64 oc-job " + strconv.Itoa(got.pid) + "\n[a b]\n[]\n[c\nd]\n['\"$(x)*\\]\n[--]\n[-n]\n<one>\n<two>\n"
					if got.exit != 7 || got.stdout != want || got.stderr != "" {
						t.Errorf("%s: exit %d, %q, want %q; stderr %q", c.way, got.exit, got.stdout, want, got.stderr)
					}
				}
				// By PATH, which is how Claude Code's shell finds them, and as a word for a shell that stands beside it.
				s.env = []string{"PATH=" + s.path("bin") + ":" + os.Getenv("PATH")}
				shell := strings.Fields(strings.TrimPrefix(s.first, "#!"))
				for _, words := range [][]string{{"-c", "oc-delegate x; exit $?"}, {"oc-delegate", "x"}} {
					got := s.call(s.path("bin"), "", shell[0], append(shell[1:len(shell):len(shell)], words...)...)
					if got.exit != 7 || !strings.HasPrefix(got.stdout, "linux-amd64 oc-delegate ") || !strings.HasSuffix(got.stdout, "\n[x]\n") {
						t.Errorf("%q: %+v", words, got)
					}
				}
			})
		})
	}
}

// TestLauncherChoosesPlatform: of release folders laid over one another the system's own, and the only one whatever its name.
func TestLauncherChoosesPlatform(t *testing.T) {
	eachShell(t, "plugin", func(t *testing.T, s *shelf) {
		s.released("windows-amd64")
		if got := s.run("oc-job"); !strings.HasPrefix(got.stdout, "windows-amd64 oc-job ") {
			t.Errorf("the only one: %+v", got)
		}
		for _, p := range []string{"linux-amd64", "linux-arm64", "darwin-amd64", "darwin-arm64"} {
			s.released(p)
		}
		s.program("fake/uname", `case $1 in -s) echo "$UNAME_S" ;; -m) echo "$UNAME_M" ;; esac`+"\n")
		for _, c := range [][3]string{
			{"Linux", "x86_64", "linux-amd64"}, {"Linux", "aarch64", "linux-arm64"}, {"Darwin", "arm64", "darwin-arm64"}, {"Darwin", "x86_64", "darwin-amd64"},
			{"MINGW64_NT-10.0-22631", "x86_64", "windows-amd64"}, {"MINGW64_NT-10.0-22631", "aarch64", ""},
		} {
			s.env = []string{"PATH=" + s.path("fake") + ":" + os.Getenv("PATH"), "UNAME_S=" + c[0], "UNAME_M=" + c[1]}
			if strings.HasSuffix(s.first, " sh") { // busybox has a uname of its own, and PATH does not matter
				c[2] = runtime.GOOS + "-" + runtime.GOARCH
			}
			got := s.run("oc-delegate")
			if c[2] == "" && (got.exit != 1 || got.stdout != "") || c[2] != "" && !strings.HasPrefix(got.stdout, c[2]+" oc-delegate ") {
				t.Errorf("%v: %+v", c, got)
			}
		}
	})
}

// checkSignal checks the signal line of a launcher.
func checkSignal(t *testing.T, line, status string, exit int) {
	t.Helper()
	text, ok := strings.CutPrefix(line, "OC_SIGNAL ")
	var got struct {
		Status, Reason string
		Exit           int
		Retryable      *bool
		Retry          *string
	}
	if err := json.Unmarshal([]byte(text), &got); !ok || err != nil || lineCount(line) != 1 {
		t.Fatalf("%q is no signal line: %v", line, err)
	}
	if got.Status != status || got.Exit != exit || got.Reason == "" || got.Retryable == nil || *got.Retryable || got.Retry == nil || *got.Retry != "" {
		t.Errorf("the signal is %s", text)
	}
}

// TestLaunchersAreTheSame: a mistake in one would be looked for in the other.
func TestLaunchersAreTheSame(t *testing.T) {
	for _, suffix := range []string{"", ".cmd"} {
		if fromCheckout(t, "bin/oc-job"+suffix) != fromCheckout(t, "bin/oc-delegate"+suffix) {
			t.Errorf("bin/oc-job%s and bin/oc-delegate%[1]s differ", suffix)
		}
	}
	text := fromCheckout(t, "bin/oc-job.cmd")
	if n := strings.Count(text, "\r\n"); n < 10 || n != lineCount(text) || strings.Count(text, "\r") != n {
		t.Error("bin/oc-job.cmd does not have the line ends of Windows throughout")
	}
	if found := regexp.MustCompile(`(?i)\b[a-z]:\\|[^\x00-\x7f]`).FindString(text); found != "" {
		t.Errorf("bin/oc-job.cmd has %q, an absolute path or a letter that cmd.exe reads in the user's code page", found)
	}
	// cmd.exe expands % in remarks too, and within parentheses a word with one would end the block.
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "rem ") && strings.ContainsAny(line, "%<>&|^") || strings.HasPrefix(line, "if ") && strings.Contains(line, "(") {
			t.Errorf("bin/oc-job.cmd: %q", line)
		}
	}
	for _, goTo := range regexp.MustCompile(`goto (\w+)`).FindAllStringSubmatch(text, -1) {
		if !strings.Contains(text, "\n:"+goTo[1]+"\r\n") {
			t.Errorf("bin/oc-job.cmd: there is no label %s", goTo[1])
		}
	}
	if !strings.HasSuffix(text, "\r\n:run\r\nendlocal & \"%program%\" %*\r\n") {
		t.Error("bin/oc-job.cmd: its last command is not the program, whose exit code it then has, with all words and the caller's environment")
	}
	_, signal, _ := strings.Cut(text, "echo OC_SIGNAL")
	signal, _, _ = strings.Cut("OC_SIGNAL"+signal, ">&2")
	checkSignal(t, signal+"\n", "USAGE", 1)
}
