// Command oc-job runs delegations in the background: it starts, watches, awaits, reads, cancels, continues and clears them.
package main

import (
	"os"
	"runtime/debug"

	"opencode-delegate/internal/cli"
)

func main() {
	if code, ok := cli.Role(os.Args); ok { // this binary again, as a guardian, a cage or a supervisor
		os.Exit(code)
	}
	debug.SetMemoryLimit(32 << 20) // a guest beside the agent: rather collect often than grow
	os.Exit(run(cli.New("oc-job", speech), os.Args[1:]))
}
