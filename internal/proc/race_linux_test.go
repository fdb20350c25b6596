//go:build race

package proc

// leakRuns is smaller here: a guardian with the race detector in it takes ten times as long to start.
const leakRuns = 40
