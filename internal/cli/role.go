package cli

import (
	"io"
	"os"
	"runtime/debug"

	"opencode-delegate/internal/delegate"
	"opencode-delegate/internal/job"
	"opencode-delegate/internal/proc"
	"opencode-delegate/internal/sandbox"
)

// Role runs the parts of a delegation that are this binary in another process: guardian, cage and supervisor. Every command
// calls it first of all, with os.Args, and goes on when ok is false.
func Role(args []string) (exit int, ok bool) {
	if exit, ok = proc.Main(args); ok {
		return exit, true
	}
	if exit, ok = sandbox.Main(args); ok {
		return exit, true
	}
	return supervisor(args)
}

// supervisor is a background job from beginning to end. What it has to say stands in the job's record.
func supervisor(args []string) (exit int, ok bool) {
	sup, ok, err := job.Supervise(args, os.Stdin, os.Stdout)
	if !ok {
		return 0, false
	}
	debug.SetMemoryLimit(16 << 20)
	// Descriptor 2 is the record's: a line there is for whoever finds that a supervisor died of itself.
	a := New("oc-job", func(io.Writer, string) func(string) { return func(line string) { println(line) } })
	if err == nil {
		err = a.supervise(sup)
	}
	if err != nil {
		a.Say("%v", err)
		return 1, true
	}
	return 0, true
}

func (a *App) supervise(sup job.Supervision) error {
	store, err := job.OpenStore(sup.Root, a.Secrets)
	if err != nil {
		return err
	}
	ctx, cancel := Ending()
	defer cancel()
	host := a.Host(store)
	host.StateRoot, host.Cwd, host.SessionKnown = sup.Root, sup.Launch.Cwd, sup.Launch.SessionKnown
	res, done, err := store.Supervise(ctx, sup, host, func(res delegate.Result) []string { return a.deliver(sup.Launch, res) })
	if done && sup.Launch.OnFinish != "" {
		a.onFinish(store, sup, res)
	}
	return err
}

// deliver gives the answer where the caller asked for it at the start, and the signal line to the log of signal lines.
func (a *App) deliver(l job.Launch, res delegate.Result) (notes []string) {
	if l.Reply.Out != "" {
		if err := Answer(l.Reply, res, nil, a.Secrets); err != nil {
			notes = append(notes, "the answer could not be delivered: "+err.Error())
		}
	}
	if l.Reply.UsageLog != "" {
		if err := AppendSignal(l.Reply.UsageLog, Of(res), a.Secrets); err != nil {
			notes = append(notes, "usage log: "+err.Error())
		}
	}
	return notes
}
