package main

import (
	"opencode-delegate/internal/cli"
	"opencode-delegate/plugin"
)

type hookVerb struct {
	Event string `arg:"" help:"Name of the event."`
}

func (v *hookVerb) run(a *cli.App) int { return plugin.Hook(a, v.Event) }
