package main

import "opencode-delegate/internal/cli"

type gcVerb struct{}

func (v *gcVerb) run(a *cli.App) int { return 2 }
