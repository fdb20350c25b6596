package house

import (
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// layers are the packages of the product, from the ones that know nothing of ours upward. A package imports only from layers
// below its own.
var layers = [][]string{
	{"internal/crashpoint", "internal/fault", "internal/lazyregexp", "internal/plain"},
	{"internal/breakeven", "internal/excerpt", "internal/gocache", "internal/redact"},
	{"internal/atomicfile", "internal/digest", "internal/event", "internal/gitconfig", "internal/lock", "internal/permission", "internal/proc", "internal/review", "internal/sandbox", "internal/tiers"},
	{"internal/ledger", "internal/record", "internal/repocode"},
	{"internal/gitdiff", "internal/opencode", "internal/planted", "internal/tree"},
	{"internal/verify", "internal/worktree"},
	{"internal/delegate"},
	{"internal/call", "internal/journal", "internal/policy", "internal/recipe"},
	{"internal/job"},
	{"internal/cli", "internal/doctor"},
	{"cmd/oc-job/watch", "plugin"},
	{"cmd/oc-delegate", "cmd/oc-job"},
}

// development are the packages that nothing which is shipped may import.
var development = []string{
	"cmd/testmodel", "internal/bench", "internal/fakeopencode", "internal/house", "internal/house/tally", "internal/realclaude", "internal/realopencode", "internal/script", "internal/soak", "internal/testanthropic", "internal/testmodel", "internal/testplace",
}

func layerOf(pkg string) int {
	return slices.IndexFunc(layers, func(l []string) bool { return slices.Contains(l, pkg) })
}

func TestImportsRunDownward(t *testing.T) {
	known := map[string]bool{}
	for _, f := range goFiles(t) {
		known[f.pkg] = true
		if f.test || slices.Contains(development, f.pkg) {
			continue
		}
		own := layerOf(f.pkg)
		if own < 0 {
			t.Errorf("%s: package %s has no layer: give it one in internal/house", f.path, f.pkg)
			continue
		}
		for _, path := range f.imports() {
			pkg, ours := strings.CutPrefix(path, module)
			if ours && layerOf(pkg) < 0 {
				t.Errorf("%s imports %s, which is for development or has no layer", f.path, pkg)
			} else if ours && layerOf(pkg) >= own {
				t.Errorf("%s imports %s, which is not below it", f.path, pkg)
			}
		}
	}
	for _, pkg := range slices.Concat(append(layers, development)...) {
		if !known[pkg] {
			t.Errorf("%s has a layer and does not exist", pkg)
		}
	}
}

// TestOnlyCommandsKnowTheTerminal keeps the grammar and the terminal's log out of the packages below.
func TestOnlyCommandsKnowTheTerminal(t *testing.T) {
	for _, f := range goFiles(t) {
		for _, i := range f.imports() {
			terminal := strings.HasPrefix(i, "github.com/alecthomas/kong") || strings.HasPrefix(i, "github.com/charmbracelet/") || strings.HasPrefix(i, "charm.land/")
			if terminal && !strings.HasPrefix(f.pkg, "cmd/") {
				t.Errorf("%s imports %s", f.path, i)
			}
		}
	}
}

func TestFilesAreShort(t *testing.T) {
	const most = 400
	for _, f := range goFiles(t) {
		if n := strings.Count(f.text, "\n"); n > most {
			t.Errorf("%s has %d lines, more than %d: it holds two ideas", f.path, n, most)
		}
	}
}

func TestMainsAreShort(t *testing.T) {
	for _, f := range goFiles(t) {
		if !strings.HasPrefix(f.pkg, "cmd/") || f.test {
			continue
		}
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Name.Name != "main" || fn.Recv != nil {
				continue
			}
			if n := f.fset.Position(fn.End()).Line - f.fset.Position(fn.Pos()).Line + 1; n > 15 {
				t.Errorf("%s: main has %d lines, more than 15", f.path, n)
			}
		}
	}
}

func TestPackagesAreNouns(t *testing.T) {
	vague := []string{"util", "utils", "common", "helper", "helpers", "manager", "service", "misc", "shared", "base", "lib", "core"}
	for _, f := range goFiles(t) {
		if slices.Contains(vague, path.Base(f.pkg)) || slices.Contains(vague, f.ast.Name.Name) {
			t.Errorf("%s: %q says nothing about what is in it", f.path, f.ast.Name.Name)
		}
	}
}

// TestPackagesAreDocumented: somewhere in each package stands what its user must know.
func TestPackagesAreDocumented(t *testing.T) {
	documented := map[string]bool{}
	for _, f := range goFiles(t) {
		if !f.test {
			documented[f.pkg] = documented[f.pkg] || f.ast.Doc.Text() != ""
		}
	}
	for pkg, has := range documented {
		if !has {
			t.Errorf("%s has no package comment", pkg)
		}
	}
}

func TestNothingRunsBeforeMain(t *testing.T) {
	for _, f := range goFiles(t) {
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.Name == "init" && fn.Recv == nil {
				t.Errorf("%s has an init function", f.path)
			}
		}
	}
}

// TestLinesMayBeLong: bufio.Scanner ends with an error at a line of 64 KiB, and one line of opencode can have 50 MB.
func TestLinesMayBeLong(t *testing.T) {
	for _, f := range goFiles(t) {
		if f.test || slices.Contains(development, f.pkg) {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "NewScanner" {
				if x, ok := s.X.(*ast.Ident); ok && x.Name == "bufio" {
					t.Errorf("%s uses bufio.Scanner", f.path)
				}
			}
			return true
		})
	}
}

// The patterns are put together from pieces, so that this file does not hold what it looks for.
var (
	machinePath = regexp.MustCompile(`(^|[\s"'` + "`" + `=(:,;])/(` + "root" + `|` + "work" + `)/\w`)
	// What is appended to another text is no path of its own.
	appended     = regexp.MustCompile(`\+\s*"`)
	registryHost = regexp.MustCompile(`\b(registry\.[a-z]|` + "npm" + `js\.(org|com)|(proxy|sum)\.` + "golang" + `\.org)`)
)

// TestNothingOfOneMachine: no path of the machine on which something was written, and no host of a registry, which a user may
// have replaced by another.
func TestNothingOfOneMachine(t *testing.T) {
	for _, s := range sources(t) {
		for i, line := range strings.Split(s.text, "\n") {
			line = appended.ReplaceAllString(line, "+")
			if m := machinePath.FindString(line); m != "" {
				t.Errorf("%s:%d: a path of one machine: %q", s.path, i+1, m)
			}
			if m := registryHost.FindString(line); m != "" {
				t.Errorf("%s:%d: a host of a registry: %q", s.path, i+1, m)
			}
		}
	}
}

func TestPatternsFind(t *testing.T) {
	for text, want := range map[string]bool{
		" /" + "root/x": true, `"/` + "work/main": true, `"/` + "work": false, "$HOME/" + "work/a": false, "home/" + "root/x": false, "/" + "workspace": false, `root + "/` + "work/r" + `"`: false,
	} {
		if got := machinePath.MatchString(appended.ReplaceAllString(text, "+")); got != want {
			t.Errorf("path %q: %v, want %v", text, got, want)
		}
	}
	for text, want := range map[string]bool{
		"https://registry." + "npm" + "js.org/x": true, "proxy." + "golang.org": true, "the registries": false, "pkg.go.dev": false,
	} {
		if got := registryHost.MatchString(text); got != want {
			t.Errorf("host %q: %v, want %v", text, got, want)
		}
	}
}
