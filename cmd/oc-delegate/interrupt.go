package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"opencode-delegate/internal/fault"
)

// interruptible returns a context that ends with a fault INTERRUPTED when the process is told to end. A signal that was
// ignored from the start stays ignored: nohup means it.
//
// SIGPIPE and SIGXFSZ are ignored for good: a caller that closes our stdout, or a limit on file sizes, must not keep
// the verdict from being said.
func interruptible() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signal.Ignore(ignored...)
	ch := make(chan os.Signal, 1)
	for _, s := range ending {
		if !signal.Ignored(s) {
			signal.Notify(ch, s)
		}
	}
	go func() {
		select {
		case s := <-ch:
			name := s.String()
			if n, ok := signalNames[s]; ok {
				name = n
			}
			cancel(fault.New(fault.Interrupted, "interrupted by %s", name))
		case <-ctx.Done():
		}
	}()
	return ctx, func() { signal.Stop(ch); cancel(nil) }
}

var (
	ending      = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
	signalNames = map[os.Signal]string{os.Interrupt: "SIGINT", syscall.SIGTERM: "SIGTERM", syscall.SIGHUP: "SIGHUP"}
)
