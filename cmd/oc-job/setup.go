package main

import "opencode-delegate/internal/cli"

type setupVerb struct{}

func (v *setupVerb) run(a *cli.App) int { return 0 }
