//go:build !linux

package main

// A watcher measures nothing here: the memory of a living process is read from /proc.
type watcher struct{}

func watchMemory(int, string) watcher { return watcher{} }

func (watcher) stop() int64 { return 0 }
