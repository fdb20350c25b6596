//go:build race

package event

// factor makes the sizes smaller that only memory is measured by: the race detector has a memory of its own.
const factor = 16
