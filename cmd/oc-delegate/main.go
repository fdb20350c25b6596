// Command oc-delegate hands one bounded task to an OpenCode worker and prints its checked answer.
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
	debug.SetMemoryLimit(16 << 20) // a guest beside the agent: rather collect often than grow
	os.Exit(run(cli.New("oc-delegate", speech), os.Args[1:]))
}
