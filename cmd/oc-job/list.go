package main

import "opencode-delegate/internal/cli"

type listVerb struct{}

func (v *listVerb) run(a *cli.App) int { return 2 }
