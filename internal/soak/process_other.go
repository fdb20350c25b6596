//go:build !linux

package main

import "errors"

// processes are not known here: a soak without kills is all that can be done.
func (p *place) processes() []process { return nil }

func (q process) signal(string) error { return errors.New("signals are sent on Linux only") }
