package main

import "opencode-delegate/internal/cli"

type watchVerb struct{}

func (v *watchVerb) run(a *cli.App) int { return 2 }
