package lazyregexp

import "testing"

func TestCompiledOnceAndNotBefore(t *testing.T) {
	New(`(`) // is wrong, and nobody has asked for it
	re := New(`^a+$`)
	if first := re(); first != re() || !first.MatchString("aa") || first.MatchString("b") {
		t.Error("not one expression that matches")
	}
}
