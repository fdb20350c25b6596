package job

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"opencode-delegate/internal/crashpoint"
	"opencode-delegate/internal/proc"
)

// presenceOf is the name of the file that says as which session a process calls.
func presenceOf(process proc.ID) string { return fmt.Sprintf("p-%d-%d", process.PID, process.Start) }

// processOf is the process of a presence, if it lives, as far as its name tells.
func processOf(name string) (process proc.ID, ok bool) {
	process.Boot = proc.Boot()
	n, err := fmt.Sscanf(name, "p-%d-%d", &process.PID, &process.Start)
	return process, n == 2 && err == nil && presenceOf(process) == name
}

// presences is how many of them one call looks at: hooks have to be quick.
const presences = 64

// sweepPresences removes presences of processes that have gone, but for one that is kept.
func (s *Store) sweepPresences(keep proc.ID) {
	names := s.callerNames()
	looked := 0
	for _, i := range rand.Perm(len(names)) { // so that many that live hide none that has gone
		p, ok := processOf(names[i])
		if !ok || names[i] == presenceOf(keep) {
			continue
		}
		if looked++; looked > presences {
			return
		}
		if !p.Lives() {
			path := filepath.Join(s.root, callersDir, names[i])
			os.Remove(path)
			crashpoint.Here("removed", path)
		}
	}
}
