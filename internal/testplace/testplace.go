// Package testplace is a user's machine for one test: a home with nothing in it, a project, and opencode, either the
// real one with a scripted model on loopback or the fake one.
package testplace

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"opencode-delegate/internal/realopencode"
	"opencode-delegate/internal/testmodel"
)

// A Place is such a machine. Everything of it is removed with the test.
type Place struct {
	T       *testing.T
	Root    string // holds everything
	Project string
	Env     []string          // for a program that runs here
	Model   *testmodel.Server // nil with the fake opencode
}

// Real is a place with the pinned real opencode. It is not below /tmp, where a writing run may write.
func Real(t *testing.T) *Place {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		t.Fatal(err)
	}
	root, err := os.MkdirTemp(cache, "oc-delegate-real-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	model, err := testmodel.Start(testmodel.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { model.Close() })
	p := &Place{T: t, Root: root, Project: filepath.Join(root, "project"), Model: model}
	config := filepath.Join(root, "opencode.json")
	p.Write("opencode.json", string(model.Config()))
	p.Write("project/a.txt", "hello\n")
	p.Write("home/.config/opencode/keep", "") // opencode needs the directory, and we make it
	p.Git("init", "-q")
	p.Git("config", "user.name", "t")
	p.Git("config", "user.email", "t@example.org")
	p.Git("add", ".")
	p.Git("commit", "-q", "-m", "one")
	p.Env = realopencode.Environ(filepath.Join(root, "home"), "OPENCODE_CONFIG="+config,
		"OC_DELEGATE_STATE="+filepath.Join(root, "state"), "OC_DELEGATE_OPENCODE="+realopencode.Path(t), "OC_DELEGATE_MODEL=mock/worker")
	return p
}

// Write writes a file below the root.
func (p *Place) Write(name, content string) {
	p.T.Helper()
	path := filepath.Join(p.Root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.T.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		p.T.Fatal(err)
	}
}

// Git runs git in the project and returns what it says.
func (p *Place) Git(args ...string) string {
	p.T.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = p.Project
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.T.Fatalf("git %v: %v: %s", args, err, out)
	}
	return string(out)
}

// Fake is a place with the fake opencode, which the running test binary has to be when it is called opencode. env is added to the environment.
func Fake(t *testing.T, env ...string) *Place {
	t.Helper()
	root := t.TempDir()
	p := &Place{T: t, Root: root, Project: filepath.Join(root, "project")}
	p.Write("project/a.txt", "hello\n")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	opencode := filepath.Join(root, "bin", "opencode")
	if err := os.MkdirAll(filepath.Dir(opencode), 0o755); err != nil {
		t.Fatal(err)
	}
	// A copy, not a link: a link would be resolved, and the name is what makes it the fake.
	data, err := os.ReadFile(self)
	if err == nil {
		err = os.WriteFile(opencode, data, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(root, "home")
	p.Env = append([]string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "OC_DELEGATE_STATE=" + filepath.Join(root, "state"), "OC_DELEGATE_OPENCODE=" + opencode}, env...)
	return p
}

// Snapshot is every file below the root, with its content and mode, but for opencode's own data, our records and the
// directories that are named.
func (p *Place) Snapshot(but ...string) map[string]string {
	p.T.Helper()
	files := map[string]string{}
	but = append(but, "project/.git/opencode") // opencode's own name for the project
	err := filepath.WalkDir(p.Root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(p.Root, path)
		if rel == "state" || rel == "home/.local" || rel == "home/.cache" || slices.Contains(but, rel) {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		content := fi.Mode().String()
		if fi.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			content += " " + string(data)
		}
		files[rel] = content
		return nil
	})
	if err != nil {
		p.T.Fatal(err)
	}
	return files
}

// Same fails the test where two snapshots differ.
func Same(t *testing.T, before, after map[string]string) {
	t.Helper()
	for name, content := range after {
		if old, ok := before[name]; !ok {
			t.Errorf("new: %s", name)
		} else if old != content {
			t.Errorf("changed: %s: %.200q, was %.200q", name, content, old)
		}
	}
	for name := range before {
		if _, ok := after[name]; !ok {
			t.Errorf("gone: %s", name)
		}
	}
}
