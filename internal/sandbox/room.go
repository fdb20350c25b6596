package sandbox

// Room is the policy of a program that reads what a worker may have written, such as a git that looks at objects, and has a directory of its own, which
// exists. It can write there and nowhere else, and has nothing to do with opencode.
func Room(dir, home, stateRoot string, environ []string) (Policy, error) {
	return Run{
		Home: home, Tmp: dir, StateRoot: stateRoot, Environ: environ,
		Opencode: OpencodeDirs{Data: dir, Cache: dir, State: dir, Config: home}, // there is none in this cage
	}.ReadOnly()
}
