//go:build !race

package policy

const slowness = 1
