package main

import "opencode-delegate/internal/cli"

type statusVerb struct{}

func (v *statusVerb) run(a *cli.App) int { return 2 }
