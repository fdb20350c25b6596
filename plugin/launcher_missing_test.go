package plugin_test

import (
	"os"
	"strings"
	"testing"
)

// TestLauncherWithoutProgram: where none can be started, one line says what to do, beside what the shell itself says of it; a signal line follows for a caller of
// oc-delegate; and the answer has exit 0 where anything else would cost the whole prompt.
func TestLauncherWithoutProgram(t *testing.T) {
	for what, place := range map[string]func(s *shelf){
		"not executable": func(s *shelf) {
			s.write("lib/linux-amd64/oc-job", "text", 0o644)
			if err := os.MkdirAll(s.path("lib/directory/oc-job"), 0o755); err != nil {
				s.t.Fatal(err)
			}
		},
		"empty": func(s *shelf) {
			s.write("lib/linux-amd64/oc-job", "", 0o755)
			s.write("lib/linux-amd64/oc-delegate", "", 0o755)
		},
		"another system's": func(s *shelf) {
			s.write("lib/linux-amd64/oc-job", notOurs, 0o755)
			s.write("lib/linux-amd64/oc-delegate", notOurs, 0o755)
		},
	} {
		t.Run(what, func(t *testing.T) {
			eachShell(t, "plugin", func(t *testing.T, s *shelf) {
				place(s)
				for _, c := range []struct {
					words string
					exit  int
					shown bool
				}{
					{"oc-job list", 1, false}, {"oc-delegate setup", 1, false}, {"oc-delegate x --args-from-hook", 1, false}, {"oc-job", 1, false},
					{"oc-job setup", 0, true}, {"oc-job status --args-from-hook", 0, true}, {"oc-job cancel --args-from-hook", 0, true},
				} {
					words := strings.Fields(c.words)
					got := s.run(words[0], words[1:]...)
					said, other := got.stderr, got.stdout
					if c.shown {
						said, other = other, said
					}
					// What a shell says when it cannot start a program begins with the path of the launcher, or the program's.
					mine := ""
					for line := range strings.Lines(said) {
						if strings.HasPrefix(line, words[0]+": ") || strings.HasPrefix(line, "OC_SIGNAL ") {
							mine += line
						}
					}
					line, signal, _ := strings.Cut(mine, "\n")
					if got.exit != c.exit || !strings.Contains(line, "use the release folder") || what != "another system's" && (mine != said || other != "") || c.shown && mine != said {
						t.Errorf("%s: %+v", c.words, got)
					}
					if words[0] == "oc-delegate" {
						checkSignal(t, signal, "USAGE", 1)
					} else if signal != "" {
						t.Errorf("%s: more than one line: %+v", c.words, got)
					}
				}
			})
		})
	}
}
