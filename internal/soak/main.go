// Command soak starts some hundred jobs with the built programs and an opencode that misbehaves, kills processes of all kinds among them at
// random, reads, waits, cancels and repeats at random meanwhile, and then checks what must hold whatever died: no process is left, every
// record is decided, no result is lost, nothing that was seen once is told otherwise later, every notice came once.
//
//	go run ./internal/soak [-jobs 200] [-seed N] [-parallel 8] [-tool-dir dist]
//
// A seed gives the same tasks and the same choices again, but not the same moments. What was done is in a log beside the state directory, which
// stays when a promise was broken.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"opencode-delegate/internal/fakeopencode"
	"opencode-delegate/internal/realopencode"
)

func main() {
	// A copy of this binary is the opencode that misbehaves.
	if strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe") == "opencode" {
		os.Exit(fakeopencode.Main())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

// options are what a soak is made of.
type options struct {
	jobs, parallel, readers int
	seed                    int64
	every                   time.Duration // between two signals; 0 = none is sent
	toolDir                 string
	keep                    bool
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("soak", flag.ContinueOnError)
	flags.IntVar(&o.jobs, "jobs", 200, "`jobs` to start")
	flags.Int64Var(&o.seed, "seed", 0, "`seed` of all that is random; 0 = take one from the clock")
	flags.IntVar(&o.parallel, "parallel", 8, "`callers` that start jobs at the same time")
	flags.IntVar(&o.readers, "readers", 3, "`callers` that read, wait, cancel and repeat at the same time")
	flags.DurationVar(&o.every, "kill-every", 100*time.Millisecond, "mean `time` between two signals of each of two killers; 0 sends none")
	flags.StringVar(&o.toolDir, "tool-dir", "", "`directory` with oc-job and oc-delegate; default dist of this checkout")
	flags.BoolVar(&o.keep, "keep", false, "keep the state directory and the log also when every promise held")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.jobs < 1 || o.parallel < 1 || o.readers < 0 {
		return o, fmt.Errorf("-jobs and -parallel are at least 1")
	}
	if o.seed == 0 {
		o.seed = time.Now().UnixNano() % 1_000_000
	}
	return o, nil
}

func run(ctx context.Context, args []string, out io.Writer) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	if o.toolDir == "" {
		root, err := realopencode.Root(".")
		if err != nil {
			return err
		}
		o.toolDir = filepath.Join(root, "dist")
	}
	p, err := newPlace(o.toolDir)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "seed %d, %d jobs, in %s\n", o.seed, o.jobs, p.root)
	s := newSoak(o, p)
	broken := s.run(ctx, out)
	p.endAll()
	if len(broken) > 0 {
		return fmt.Errorf("%d promises were broken; seed %d, log and records in %s", len(broken), o.seed, p.root)
	}
	if o.keep {
		return nil
	}
	return p.remove()
}
