//go:build !race

package event

const factor = 1
