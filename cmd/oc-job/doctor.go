package main

import "opencode-delegate/internal/cli"

type doctorVerb struct{}

func (v *doctorVerb) run(a *cli.App) int { return 2 }
