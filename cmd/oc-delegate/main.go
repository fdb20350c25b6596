// Command oc-delegate hands one bounded task to an OpenCode worker and prints its checked answer.
package main

import (
	"os"
	"runtime/debug"
)

func main() {
	if code, ok := role(os.Args); ok { // this binary again, as a guardian or a cage of a worker
		os.Exit(code)
	}
	debug.SetMemoryLimit(16 << 20) // a guest beside the agent: rather collect often than grow
	os.Exit(newApp().run(os.Args[1:]))
}
