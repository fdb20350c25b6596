// Package watch shows jobs in a table on a terminal, live, and the log of one of them. It knows nothing of how jobs are kept: a
// [Source] tells it and acts for it.
package watch

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/term"

	"opencode-delegate/internal/fault"
)

// A Row is one job in words. It may hold any text: what a terminal would act on is taken out before it is shown.
type Row struct {
	ID   string // what the other functions of the source are asked with
	Name string
	// State is one of the states of a job, such as running; it chooses the colour.
	State string
	Tier  string
	Age   string
	Cost  string
	Task  string
}

// A Source is where the view gets what it shows. Its functions are called beside the view, which goes on meanwhile; an error is
// shown and ends nothing.
type Source struct {
	// Jobs returns the jobs in the order in which they are to be shown. There is one call at a time, about one a second, and
	// fewer when a call takes longer than a tenth of a second.
	Jobs func() ([]Row, error)
	// Log writes what there is of a job's log to w, then what comes, until the job ends or ctx is done. Writes do not block, and
	// fail once nobody looks any more.
	Log func(ctx context.Context, id string, w io.Writer) error
	// Cancel ends a job and returns when it has ended. The view is left only after that, unless by a signal or ctrl-c.
	Cancel func(ctx context.Context, id string) error
}

// patience is how long a terminal that takes no output may hold up the end of a view that is told to end.
const patience = 2 * time.Second

// Run shows the jobs of src until the person who looks leaves; then it returns nil. When ctx or SIGINT, SIGTERM or SIGHUP ends it,
// the error wraps [context.Canceled] or what ctx says. In each case the terminal is as it was before. In and out must be
// terminals; else the error is a [fault.Usage] and nothing was written. NO_COLOR is respected.
func Run(ctx context.Context, in, out *os.File, src Source) error {
	return run(ctx, in, out, os.Environ(), src)
}

func run(ctx context.Context, in, out *os.File, environ []string, src Source) error {
	if err := suitable(in, out, environ); err != nil {
		return err
	}
	before, err := term.GetState(in.Fd())
	if err != nil {
		return fmt.Errorf("read the state of the terminal: %w", err)
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	program := tea.NewProgram(newModel(newCommands(ctx, src)), tea.WithInput(in), tea.WithOutput(out), tea.WithEnvironment(environ),
		tea.WithColorProfile(profile(environ)), tea.WithFPS(30), tea.WithoutSignalHandler())
	ended := make(chan error, 1)
	go func() {
		_, err := program.Run()
		ended <- err
	}()
	select {
	case err = <-ended:
	case <-ctx.Done():
		// Not by the library's own context: it would close its reader of keys while that still reads.
		go program.Quit()
		select {
		case err = <-ended:
		case <-time.After(patience): // the library waits for its last write
			err = term.Restore(in.Fd(), before)
		}
	}
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("the view was ended: %w", ctx.Err())
	case err != nil:
		return fmt.Errorf("show jobs: %w", err)
	}
	return nil
}

// suitable says why there can be no view.
func suitable(in, out *os.File, environ []string) error {
	const hint = "oc-job list prints the jobs once, oc-job logs ID -f follows one log; both also into a pipe or a file"
	if !term.IsTerminal(in.Fd()) {
		return fault.New(fault.Usage, "watch reads keys from a terminal, and stdin is none").With(hint)
	}
	if !term.IsTerminal(out.Fd()) {
		return fault.New(fault.Usage, "watch draws on a terminal, and stdout is none").With(hint)
	}
	if lookup(environ, "TERM") == "dumb" {
		return fault.New(fault.Usage, "watch draws anywhere on a terminal, and this one cannot: TERM is dumb").With(hint)
	}
	return nil
}

// profile is said outright: to find it out, the library would start tmux and read the terminal's description. The view needs no
// more than the colours that each terminal has.
func profile(environ []string) colorprofile.Profile {
	if lookup(environ, "NO_COLOR") != "" {
		return colorprofile.ASCII // no colours; bold, faint and reverse stay
	}
	return colorprofile.ANSI
}

// lookup returns the value of a variable. The last one counts, as for os/exec.
func lookup(environ []string, name string) string {
	value := ""
	for _, e := range environ {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			value = v
		}
	}
	return value
}
