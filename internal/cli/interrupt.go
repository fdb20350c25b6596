package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"opencode-delegate/internal/fault"
)

// Interruptible returns a context that ends with a fault INTERRUPTED when the process is told to end. A signal that was
// ignored from the start stays ignored: nohup means it.
//
// SIGPIPE and SIGXFSZ are ignored for good: a caller that closes our stdout, or a limit on file sizes, must not keep
// the verdict from being said.
func Interruptible() (context.Context, context.CancelFunc) {
	return untilToldToEnd(func(s os.Signal) bool { return !signal.Ignored(s) })
}

// Ending is Interruptible for a process that nobody sees: what its starter ignored is not meant for it.
func Ending() (context.Context, context.CancelFunc) {
	return untilToldToEnd(func(os.Signal) bool { return true })
}

func untilToldToEnd(heeds func(os.Signal) bool) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(context.Background())
	ch := Signals(heeds)
	go func() {
		select {
		case s := <-ch:
			cancel(fault.New(fault.Interrupted, "interrupted by %s", SignalName(s)))
		case <-ctx.Done():
		}
	}()
	return ctx, func() { signal.Stop(ch); cancel(nil) }
}

// Signals receives what tells this process to end, of the kinds that it heeds.
func Signals(heeds func(os.Signal) bool) chan os.Signal {
	signal.Ignore(ignored...)
	ch := make(chan os.Signal, 1)
	for _, s := range ending {
		if heeds(s) {
			signal.Notify(ch, s)
		}
	}
	return ch
}

// SignalName is the name of a signal as a person writes it.
func SignalName(s os.Signal) string {
	if n, ok := signalNames[s]; ok {
		return n
	}
	return s.String()
}

var (
	ending      = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
	signalNames = map[os.Signal]string{os.Interrupt: "SIGINT", syscall.SIGTERM: "SIGTERM", syscall.SIGHUP: "SIGHUP"}
)
