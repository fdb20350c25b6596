package verify

import (
	"os"
	"testing"

	"opencode-delegate/internal/proc"
	"opencode-delegate/internal/sandbox"
)

// TestMain lets the test binary be guardian and cage, as every main of the product does.
func TestMain(m *testing.M) {
	if exit, ok := proc.Main(os.Args); ok {
		os.Exit(exit)
	}
	if exit, ok := sandbox.Main(os.Args); ok {
		os.Exit(exit)
	}
	os.Exit(m.Run())
}
