package opencode

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/cpu"

	"opencode-delegate/internal/fault"
)

// A disk is a machine's files for a search.
type disk struct {
	root string
	env  map[string]string
}

func newDisk(t *testing.T) disk {
	if runtime.GOOS == "windows" {
		t.Skip("the layouts here are those of Unix")
	}
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return disk{root: root, env: map[string]string{"HOME": filepath.Join(root, "home"), "PATH": ""}}
}

func (d disk) file(t *testing.T, name, content string, mode os.FileMode) string {
	t.Helper()
	p := filepath.Join(d.root, name)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(p, mode); err != nil {
		t.Fatal(err)
	}
	return p
}

func (d disk) program(t *testing.T, name string) string {
	return d.file(t, name, "\x7fELF and so on", 0o755)
}

func (d disk) find(o FindOptions) (string, error) {
	o.Getenv = func(name string) string { return d.env[name] }
	if o.Dir == "" {
		o.Dir = d.root
	}
	return Find(o)
}

// systemHasOpencode tells of a machine on which a search cannot find nothing.
func systemHasOpencode() bool {
	for _, dir := range []string{"/usr/local/bin", "/opt/homebrew/bin", "/home/linuxbrew/.linuxbrew/bin", "/usr/bin", "/snap/bin"} {
		if _, err := os.Stat(filepath.Join(dir, "opencode")); err == nil {
			return true
		}
	}
	return false
}

func TestFindInEachPlace(t *testing.T) {
	for _, place := range []struct{ file, env, value string }{
		{"bin/opencode", "PATH", "$ROOT/nothing:$ROOT/bin"},
		{"home/.opencode/bin/opencode", "", ""},
		{"custom/opencode", "OPENCODE_INSTALL_DIR", "$ROOT/custom"},
		{"prefix/bin/opencode", "npm_config_prefix", "$ROOT/prefix"},
		{"home/.npm-global/bin/opencode", "", ""},
		{"home/.nvm/versions/node/v20.1.0/bin/opencode", "", ""},
		{"nvm/versions/node/v18.0.0/bin/opencode", "NVM_DIR", "$ROOT/nvm"},
		{"home/.volta/bin/opencode", "", ""},
		{"home/.bun/bin/opencode", "", ""},
		{"pnpm/opencode", "PNPM_HOME", "$ROOT/pnpm"},
	} {
		d := newDisk(t)
		want := d.program(t, place.file)
		if place.env != "" {
			d.env[place.env] = strings.ReplaceAll(place.value, "$ROOT", d.root)
		}
		if got, err := d.find(FindOptions{}); got != want {
			t.Errorf("%s: found %q, %v", place.file, got, err)
		}
	}
}

func TestFindOrder(t *testing.T) {
	d := newDisk(t)
	old := d.program(t, "home/.nvm/versions/node/v9.11.0/bin/opencode")
	newest := d.program(t, "home/.nvm/versions/node/v22.3.0/bin/opencode")
	expect := func(want string) {
		t.Helper()
		if got, err := d.find(FindOptions{}); got != want {
			t.Errorf("found %q, %v; want %s", got, err, want)
		}
	}
	expect(newest)
	os.Remove(newest)
	expect(old)
	d.file(t, "home/.npmrc", "registry=x\nprefix = ~/packages\n", 0o600)
	expect(d.program(t, "home/packages/bin/opencode"))
	expect(d.program(t, "home/.opencode/bin/opencode"))
	d.env["PATH"] = filepath.Join(d.root, "bin")
	expect(d.program(t, "bin/opencode"))
	// What cannot be started is passed over.
	os.Chmod(filepath.Join(d.root, "bin/opencode"), 0o644)
	expect(filepath.Join(d.root, "home/.opencode/bin/opencode"))
}

func TestFindNeverTakesTheCurrentDirectory(t *testing.T) {
	d := newDisk(t)
	d.program(t, "opencode")
	d.program(t, "sub/opencode")
	t.Chdir(d.root)
	d.env["PATH"] = ":.:sub::./sub"
	if systemHasOpencode() {
		got, _ := d.find(FindOptions{})
		if strings.HasPrefix(got, d.root) {
			t.Errorf("found %s", got)
		}
		return
	}
	got, err := d.find(FindOptions{})
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind != fault.OpencodeMissing || len(f.Hints) < 2 {
		t.Errorf("found %q, %v", got, err)
	}
	if _, err := d.find(FindOptions{Explicit: "opencode"}); err == nil {
		t.Error("a bare name was taken from the current directory")
	}
}

func TestFindExplicit(t *testing.T) {
	d := newDisk(t)
	path := d.program(t, "some/opencode")
	for _, explicit := range []string{path, "some/opencode", "./some/../some/opencode"} {
		if got, err := d.find(FindOptions{Explicit: explicit}); got != path {
			t.Errorf("%s: %q, %v", explicit, got, err)
		}
	}
	d.env["PATH"] = filepath.Join(d.root, "some")
	if got, err := d.find(FindOptions{Explicit: "opencode"}); got != path {
		t.Errorf("bare name: %q, %v", got, err)
	}
	d.file(t, "plain", "\x7fELF", 0o644)
	d.file(t, "text", "just words\n", 0o755)
	for explicit, part := range map[string]string{
		"some": "is a directory", "./some": "is a directory", "./gone": "no such file", "./plain": "not executable", "./text": "not a program", "gone": "not found on PATH",
	} {
		d.env["PATH"] = d.root
		_, err := d.find(FindOptions{Explicit: explicit, Source: "OC_DELEGATE_OPENCODE"})
		if explicit == "some" {
			part = "not found on PATH" // a directory on PATH is no program of that name
		}
		f := fault.Of(err)
		if f == nil || f.Kind != fault.OpencodeMissing || !strings.Contains(f.Reason, part) || !strings.Contains(f.Reason, "OC_DELEGATE_OPENCODE "+explicit) {
			t.Errorf("%s: %v, want %q", explicit, err, part)
		}
	}
}

func TestFindResolvesTheNpmLauncher(t *testing.T) {
	pkg := platformPackages(runtime.GOOS, runtime.GOARCH, cpu.X86.HasAVX2, musl())[0]
	const script = "#!/usr/bin/env node\nrequire('child_process')\n"
	const unfinished = "echo \"Error: opencode-ai's postinstall script was not run.\" >&2\nexit 1\n"
	for _, c := range []struct {
		name, launcher, binary string
		content                string
		want                   string // "launcher", "binary" or a part of the reason
	}{
		{"script, package beside", "lib/node_modules/opencode-ai/bin/opencode", "lib/node_modules/" + pkg + "/bin/opencode", script, "binary"},
		{"script, package inside", "lib/node_modules/opencode-ai/bin/opencode", "lib/node_modules/opencode-ai/node_modules/" + pkg + "/bin/opencode", script, "binary"},
		{"script, cached", "lib/node_modules/opencode-ai/bin/opencode", "lib/node_modules/opencode-ai/bin/.opencode", script, "binary"},
		{"install script did not run", "lib/node_modules/opencode-ai/bin/opencode.exe", "lib/node_modules/" + pkg + "/bin/opencode", unfinished, "binary"},
		{"install script ran", "lib/node_modules/opencode-ai/bin/opencode.exe", "", "\x7fELF", "launcher"},
		{"script alone", "lib/node_modules/opencode-ai/bin/opencode", "", script, "link"},
		{"nothing to start", "lib/node_modules/opencode-ai/bin/opencode.exe", "", unfinished, "postinstall.mjs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDisk(t)
			launcher := d.file(t, c.launcher, c.content, 0o755)
			d.file(t, "lib/node_modules/opencode-ai/package.json", `{"name":"opencode-ai"}`, 0o644)
			binary := ""
			if c.binary != "" {
				binary = d.program(t, c.binary)
			}
			link := filepath.Join(d.root, "bin", "opencode")
			os.MkdirAll(filepath.Dir(link), 0o755)
			if err := os.Symlink(launcher, link); err != nil {
				t.Fatal(err)
			}
			got, err := d.find(FindOptions{Explicit: link})
			switch want := map[string]string{"launcher": launcher, "binary": binary, "link": link}[c.want]; {
			case want == "":
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("found %q, %v", got, err)
				}
			case got != want:
				t.Errorf("found %q, %v; want %s", got, err, want)
			}
		})
	}
}

func TestFindKeepsTheNameOfAShim(t *testing.T) {
	d := newDisk(t)
	shim := d.program(t, "volta/volta-shim")
	link := filepath.Join(d.root, "home", ".volta", "bin", "opencode")
	os.MkdirAll(filepath.Dir(link), 0o755)
	os.Symlink(shim, link)
	if got, err := d.find(FindOptions{}); got != link {
		t.Errorf("found %q, %v: a shim acts on its name", got, err)
	}
}

func TestFindInTheCheckout(t *testing.T) {
	d := newDisk(t)
	pkg := platformPackages(runtime.GOOS, runtime.GOARCH, cpu.X86.HasAVX2, musl())[0]
	want := d.program(t, "checkout/.tools/node_modules/"+pkg+"/bin/opencode")
	self := d.program(t, "checkout/bin/oc-delegate")
	if got := checkoutBinary(self); got != "" {
		t.Errorf("without a go.mod: %s", got)
	}
	d.file(t, "checkout/go.mod", "module something-else\n", 0o644)
	if got := checkoutBinary(self); got != "" {
		t.Errorf("in another module: %s", got)
	}
	d.file(t, "checkout/go.mod", "module opencode-delegate\n\ngo 1.26.0\n", 0o644)
	if got := checkoutBinary(self); got != want {
		t.Errorf("found %q, want %s", got, want)
	}
	if !systemHasOpencode() {
		if got, err := d.find(FindOptions{Self: self}); got != want {
			t.Errorf("Find: %q, %v", got, err)
		}
	}
}

func TestPlatformPackages(t *testing.T) {
	for _, c := range []struct {
		goos, goarch string
		avx2, musl   bool
		want         []string
	}{
		{"linux", "amd64", true, false, []string{"opencode-linux-x64", "opencode-linux-x64-baseline", "opencode-linux-x64-musl", "opencode-linux-x64-baseline-musl"}},
		{"linux", "amd64", false, false, []string{"opencode-linux-x64-baseline", "opencode-linux-x64-baseline-musl"}},
		{"linux", "arm64", false, true, []string{"opencode-linux-arm64-musl", "opencode-linux-arm64"}},
		{"darwin", "arm64", false, false, []string{"opencode-darwin-arm64"}},
		{"windows", "amd64", true, false, []string{"opencode-windows-x64", "opencode-windows-x64-baseline"}},
	} {
		if got := platformPackages(c.goos, c.goarch, c.avx2, c.musl); !slices.Equal(got, c.want) {
			t.Errorf("%s/%s: %q", c.goos, c.goarch, got)
		}
	}
}
