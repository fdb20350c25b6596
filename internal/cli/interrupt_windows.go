package cli

import (
	"os"
	"syscall"
)

var ignored = []os.Signal{syscall.SIGPIPE}

func newFileMode() os.FileMode { return 0o666 }
