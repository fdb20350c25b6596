package verify

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestTrusts(t *testing.T) {
	store := filepath.Join(t.TempDir(), "trust")
	if got := Trusts(store); len(got) != 0 {
		t.Errorf("%v", got)
	}
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	one, two := Hash([]byte("one")), Hash([]byte("two"))
	for i, g := range []Given{{"/b", one, at}, {"/a", two, at.Add(time.Hour)}, {"/a", one, at}} {
		if err := Trust(store, g.Root, g.Hash, g.At); err != nil {
			t.Fatal(i, err)
		}
	}
	// One that was moved to another repository is none.
	dir, file, err := place(store, "/b", one)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(filepath.Join(filepath.Dir(dir), Hash([]byte("/a")), Hash([]byte("three"))+".json"), data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	got := Trusts(store)
	if len(got) != 3 || got[0] != (Given{"/a", one, at}) || got[1] != (Given{"/a", two, at.Add(time.Hour)}) || got[2] != (Given{"/b", one, at}) {
		t.Errorf("%v", got)
	}
}
