package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"opencode-delegate/internal/realopencode"
)

const module = "opencode-delegate/"

// repository is the root of the checkout.
func repository(t *testing.T) string {
	t.Helper()
	root, err := realopencode.Root(".")
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// A source is one file of the repository.
type source struct {
	path string // from the root, with slashes
	text string
}

// sources are all text files, but for what is installed, built or recorded: recordings are another program's words.
func sources(t *testing.T) []source {
	t.Helper()
	root := repository(t)
	var out []source
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if slices.Contains([]string{".git", ".tools", "dist", "bin-build", "testdata/recordings"}, rel) || d.Name() == "node_modules" {
				return filepath.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() || strings.HasSuffix(rel, ".test") || strings.HasSuffix(rel, ".prof") {
			return nil
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		if !strings.Contains(string(text[:min(len(text), 8000)]), "\x00") {
			out = append(out, source{rel, string(text)})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 50 {
		t.Fatalf("only %d files found below %s", len(out), root)
	}
	return out
}

// A goFile is one parsed file, for whatever platform.
type goFile struct {
	source
	pkg  string // directory, from the root
	test bool
	ast  *ast.File
	fset *token.FileSet
}

func goFiles(t *testing.T) []goFile {
	t.Helper()
	var out []goFile
	for _, s := range sources(t) {
		// Data of a test, such as a program in a scratch repository, is no code of ours; nor is the module of tools.
		if !strings.HasSuffix(s.path, ".go") || strings.Contains(s.path, "testdata/") || strings.HasPrefix(s.path, "tools/") {
			continue
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, s.path, s.text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, goFile{s, path.Dir(s.path), strings.HasSuffix(s.path, "_test.go"), f, fset})
	}
	return out
}

// imports are the paths that a file imports.
func (f goFile) imports() []string {
	var out []string
	for _, i := range f.ast.Imports {
		out = append(out, strings.Trim(i.Path.Value, `"`))
	}
	return out
}
