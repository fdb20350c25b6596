//go:build race

package policy

// slowness is how much longer everything may take: the race detector looks at each access.
const slowness = 10
