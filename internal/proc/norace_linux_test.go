//go:build !race

package proc

const leakRuns = 200
