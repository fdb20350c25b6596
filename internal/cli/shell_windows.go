package cli

// shell is how the caller's own command line is run.
func shell(line string) []string { return []string{"cmd", "/C", line} }
