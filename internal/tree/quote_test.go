//go:build unix

package tree

import (
	"encoding/json"
	"testing"
)

func TestJSON(t *testing.T) {
	c := Changes{Known: true, Files: []Change{}}
	if b, _ := json.Marshal(c); string(b) != `{"known":true,"files":[],"insertions":null,"deletions":null}` {
		t.Errorf("%s", b)
	}
	for _, name := range []string{"a", "a b", "\"", "\"x\"", "\xff", "a\\\xffb\"", "é", "\n", "\x00\\377", ""} {
		in := Change{Path: name, Kind: Renamed, From: name + "2"}
		b, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		var out Change
		if err := json.Unmarshal(b, &out); err != nil || out != in {
			t.Errorf("%q became %s, then %q (%v)", name, b, out.Path, err)
		}
	}
	for _, bad := range []string{`"`, `"a`, `"a"`, `"\x"`, `"\37"`, `"\400"`, `"a"b\377"`} {
		if s, err := Unquote(bad); err == nil {
			t.Errorf("Unquote(%s) = %q", bad, s)
		}
	}
}

func FuzzQuote(f *testing.F) {
	f.Add("a\xff\"\\")
	f.Fuzz(func(t *testing.T, name string) {
		if got, err := Unquote(Quote(name)); err != nil || got != name {
			t.Fatalf("%q: %q %v", name, got, err)
		}
		_, _ = Unquote(name)
	})
}
