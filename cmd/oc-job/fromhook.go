package main

// A kept is part of a verb whose words may come from a command of the plugin: the hook that sees them keeps them as data, since what
// Claude Code pastes into a shell line may be anything.
type kept struct {
	ArgsFromHook bool `hidden:"" help:"Take the words that the plugin's hook has kept."`
}
