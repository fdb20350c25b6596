package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"opencode-delegate/internal/cli"
	"opencode-delegate/internal/doctor"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/plain"

	"github.com/charmbracelet/x/term"
)

type doctorVerb struct {
	Fix  bool `help:"Decide about jobs whose supervisor died, end the processes that they left, and clear leftovers away."`
	JSON bool `name:"json" help:"The same as a JSON object."`
}

func (v *doctorVerb) run(a *cli.App) int {
	ctx, stop := cli.Interruptible()
	defer stop()
	if f, ok := a.Stderr.(*os.File); ok && term.IsTerminal(f.Fd()) {
		a.Say("asking opencode for its version and models, which takes some seconds")
	}
	r := doctor.Examine(ctx, doctor.Machine{Host: a.Host(nil), Version: cli.Version(), Fix: v.Fix})
	if ctx.Err() != nil {
		return refuse(a, context.Cause(ctx))
	}
	presentable(a, r.Findings)
	var err error
	if v.JSON {
		err = a.PrintJSON(r)
	} else {
		err = printReport(a.Stdout, screenOf(a), r)
	}
	switch {
	case err != nil:
		return refuse(a, fault.New(fault.RunFailed, "stdout: %w", err))
	case !r.OK:
		return fault.Usage.Exit()
	}
	return 0
}

// findingLimit is the number of code points of each text of a finding.
const findingLimit = 600

// presentable makes findings fit to be shown.
func presentable(a *cli.App, list []doctor.Finding) {
	for i := range list {
		f := &list[i]
		for _, text := range []*string{&f.What, &f.Remedy, &f.Fixed} {
			*text = plain.Line(a.Secrets.String(*text), findingLimit)
		}
	}
}

// A mark stands before a finding.
type mark struct{ sign, style string }

func marks(l doctor.Level) mark {
	switch l {
	case doctor.OK:
		return mark{"✓", green}
	case doctor.Warn:
		return mark{"!", yellow}
	}
	return mark{"✗", red}
}

// printReport prints a line for each finding, and below those that are not well what to do.
func printReport(out io.Writer, s screen, r doctor.Report) error {
	for _, f := range r.Findings {
		m := marks(f.Level)
		text := fmt.Sprintf("%s %-13s %s\n", s.style(m.style, m.sign), f.Name, f.What)
		if f.Fixed != "" {
			text += "    fixed: " + f.Fixed + "\n"
		}
		if f.Remedy != "" {
			text += "    " + f.Remedy + "\n"
		}
		if _, err := io.WriteString(out, text); err != nil {
			return err
		}
	}
	return nil
}
