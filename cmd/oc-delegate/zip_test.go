package main

import (
	"archive/zip"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"testing"
)

// zipModule packs a directory as a module proxy has it.
func zipModule(t *testing.T, dir, file, prefix string) {
	t.Helper()
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	z := zip.NewWriter(out)
	err = filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		w, err := z.Create(path.Join(prefix, filepath.ToSlash(rel)))
		if err != nil {
			return err
		}
		text, err := os.ReadFile(name)
		if err == nil {
			_, err = w.Write(text)
		}
		return err
	})
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}
