package fakeopencode

import (
	"fmt"
	"os"
	"sort"
	"strings"
)

// A mode is one thing that the fake does in a run. A mode that sets done has given the answer, or withheld it; after the last one, a
// plain answer is given if none has.
type mode struct {
	name, arg string
	do        func(f *fake, arg string)
}

// modes maps each name to what it does. The texts for a reader are in testdata/script/README.md, and a test holds the two
// lists equal.
func modes() map[string]func(*fake, string) {
	all := map[string]func(*fake, string){}
	for _, table := range []map[string]func(*fake, string){answerModes, failureModes, streamModes, workModes, processModes} {
		for name, do := range table {
			all[name] = do
		}
	}
	return all
}

// Modes lists the names of the modes.
func Modes() []string {
	var names []string
	for name := range modes() {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// chosenModes reads OC_FAKE: of several programs by semicolons, each run takes the next.
func (f *fake) chosenModes() ([]mode, error) {
	programs := strings.Split(os.Getenv("OC_FAKE"), ";")
	program := programs[0]
	if len(programs) > 1 {
		program = programs[min(f.count("runs"), len(programs)-1)]
	}
	known := modes()
	var chosen []mode
	for word := range strings.SplitSeq(program, ",") {
		name, arg, _ := strings.Cut(strings.TrimSpace(word), ":")
		if name == "" {
			continue
		}
		do, ok := known[name]
		if !ok {
			return nil, fmt.Errorf("OC_FAKE=%s: no mode is named %q", program, name)
		}
		chosen = append(chosen, mode{name, arg, do})
	}
	return chosen, nil
}
