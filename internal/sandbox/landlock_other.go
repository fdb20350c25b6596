//go:build !linux

package sandbox

import (
	"errors"
	"runtime"
)

// Detect says what the running kernel can enforce: outside Linux, nothing.
func Detect(func(string) string) Support {
	return Support{Reason: "there is no Landlock on " + runtime.GOOS}
}

func restrictAndExec(Policy, []string, []string) error {
	return errors.New("there is no Landlock on " + runtime.GOOS)
}
