package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"opencode-delegate/internal/lazyregexp"
)

// Dashes is how many arguments stand before --.
func Dashes(args []string) int {
	if i := slices.Index(args, "--"); i >= 0 {
		return i
	}
	return len(args)
}

var missing = lazyregexp.New(`^(--?[\w-]+): expected .* value but got "(.*)" \((<EOL>|.*flag)\)`)

// Clear turns an error of the flag library into a sentence for a caller.
func Clear(err error) error {
	text := err.Error()
	if m := missing().FindStringSubmatch(text); m != nil {
		if m[3] == "<EOL>" {
			return fmt.Errorf("%s needs a value", m[1])
		}
		return fmt.Errorf("%s needs a value, but %s follows; write %s=VALUE if that is the value", m[1], m[2], m[1])
	}
	return errors.New(strings.TrimSuffix(text, "."))
}
