// Command bench measures what a delegation costs beside a direct call of opencode, how fast the tool starts, and how fast events are
// decoded. It prints tables in Markdown; docs/benchmarks.md says how to read them.
//
//	go run ./internal/bench [-pairs 15] [-real 4] [-tool dist/oc-delegate]
//
// Both sides of a comparison do the same task in the same directory, alternately in one run, so that what else the machine does meets
// both. The first pair warms caches and is not counted.
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

	"opencode-delegate/internal/fakeopencode"
	"opencode-delegate/internal/realopencode"
)

func main() {
	// A copy of this binary is the opencode that answers at once.
	if strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe") == "opencode" {
		os.Exit(fakeopencode.Main())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	pairs := flags.Int("pairs", 15, "`pairs` of runs with an opencode that answers at once")
	real := flags.Int("real", 4, "`pairs` of runs with the real opencode; 0 leaves them out")
	tool := flags.String("tool", "", "the `program` to measure; default dist/oc-delegate of this checkout")
	if err := flags.Parse(args); err != nil {
		return err
	}
	root, err := realopencode.Root(".")
	if err != nil {
		return err
	}
	if *tool == "" {
		*tool = filepath.Join(root, "dist", "oc-delegate")
	}
	if *tool, err = filepath.Abs(*tool); err != nil {
		return err
	}
	if _, err := os.Stat(*tool); err != nil {
		return fmt.Errorf("%w: run `make build` first", err)
	}
	place, err := newPlace(*tool)
	if err != nil {
		return err
	}
	defer place.remove()
	fmt.Fprintln(out, machine())
	if err := place.fakePairs(ctx, out, *pairs); err != nil {
		return err
	}
	if err := place.memory(ctx, out); err != nil {
		return err
	}
	if err := place.work(ctx, out, max(1, *pairs/2)); err != nil {
		return err
	}
	if *real > 0 {
		binary, err := realopencode.Find(root)
		if err != nil {
			return err
		}
		if err := place.realPairs(ctx, out, binary, *real); err != nil {
			return err
		}
	}
	jobs := filepath.Join(filepath.Dir(*tool), "oc-job")
	if err := place.jobs(ctx, out, jobs, *pairs); err != nil {
		return err
	}
	for _, t := range []string{*tool, jobs} {
		if err := startUp(ctx, out, t, *pairs*2); err != nil {
			return err
		}
	}
	return decoder(ctx, out, root)
}
