package plugin_test

import (
	"bytes"
	"debug/buildinfo"
	"debug/elf"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"opencode-delegate/internal/cli"
	"opencode-delegate/internal/realopencode"
	"opencode-delegate/internal/testplace"
)

// repositoryParts are what a small repository tracks; those with an x in front do not belong into a release folder.
var repositoryParts = []string{
	".claude-plugin/marketplace.json", ".claude-plugin/plugin.json", "README.md", "agents/a.md", "bin/oc-job", "commands/c d.md", "hooks/hooks.json", "plugin.json", "skills/s/SKILL.md",
	"xdocs/plugin.md", "xplugin/plugin.go", "xgo.mod", "xMakefile",
}

// files are the files of a directory.
func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, _ := filepath.Rel(dir, path)
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestReleaseFolders: one for each platform, with what git tracks of the plugin and nothing else, whatever lies beside it or was there before.
func TestReleaseFolders(t *testing.T) {
	s := newShelf(t, "#!/bin/sh", "re pository")
	s.write("scripts/plugin", fromCheckout(t, "scripts/plugin"), 0o755)
	s.program("fake/go", `if [ "$1" = env ]; then case $2 in GOHOSTOS) echo linux ;; GOHOSTARCH) echo arm64 ;; esac; exit; fi
while [ "$1" != -o ]; do shift; done
mkdir -p "$2"
for name in oc-delegate oc-job; do
	[ "$GOOS" != windows ] || name=$name.exe
	echo "$GOOS $GOARCH $CGO_ENABLED" >"$2$name"
	chmod 700 "$2$name"
done
`)
	s.env = append(s.env, "PATH="+s.path("fake")+":"+os.Getenv("PATH"), "GIT_CONFIG_GLOBAL=/dev/null", "HOME="+s.path("home"))
	s.write(".gitignore", "*.key\ndist\n", 0o644)
	var tracked, released []string
	for _, name := range repositoryParts {
		if name, not := strings.CutPrefix(name, "x"); not {
			tracked = append(tracked, name)
			s.write(name, "", 0o600)
			continue
		}
		tracked, released = append(tracked, name), append(released, name)
		if name != "bin/oc-job" {
			s.write(name, name, 0o600)
		}
	}
	for _, args := range [][]string{{"init", "-q"}, append([]string{"add", "--"}, tracked...)} {
		if got := s.call(s.dir, "", "git", args...); got.exit != 0 {
			t.Fatalf("git %v: %+v", args, got)
		}
	}
	for _, beside := range []string{"commands/secret.key", "commands/untracked.md", "skills/s/.env.key", "bin/oc-other", "dist/plugin/linux-amd64/old"} {
		s.write(beside, "", 0o644)
	}
	if got := s.call("/", "", s.path("scripts/plugin")); got.exit != 0 || lineCount(got.stdout) != 6 || strings.Count(got.stdout, "not validated") != 6 {
		t.Fatalf("%+v", got)
	}
	check := func(dir, platform string) {
		t.Helper()
		goos, goarch, _ := strings.Cut(platform, "-")
		want := slices.Clone(released)
		for _, name := range []string{"oc-delegate", "oc-job"} {
			if goos == "windows" {
				name += ".exe"
			}
			name = "lib/" + platform + "/" + name
			want = append(want, name)
			info, err := os.Stat(filepath.Join(dir, name))
			text, _ := os.ReadFile(filepath.Join(dir, name))
			if err != nil || info.Mode().Perm() != 0o755 || string(text) != goos+" "+goarch+" 0\n" {
				t.Errorf("%s: %v, %q, %v", name, info, text, err)
			}
		}
		slices.Sort(want)
		got := files(t, dir)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s has\n%q, want\n%q", dir, got, want)
		}
		for name, mode := range map[string]fs.FileMode{"bin/oc-job": 0o755, "commands/c d.md": 0o644} {
			if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != mode {
				t.Errorf("%s: %v, %v", name, info, err)
			}
		}
	}
	dirs, err := os.ReadDir(s.path("dist/plugin"))
	if err != nil || len(dirs) != 6 {
		t.Fatalf("%v, %v", dirs, err)
	}
	for _, goos := range []string{"linux", "darwin", "windows"} {
		for _, goarch := range []string{"amd64", "arm64"} {
			check(s.path("dist/plugin/"+goos+"-"+goarch), goos+"-"+goarch)
		}
	}
	one := s.path("one folder")
	if got := s.call(s.path("bin"), "", "../scripts/plugin", one); got.exit != 0 {
		t.Fatalf("%+v", got)
	}
	check(one, "linux-arm64")
	// What is refused is said in one line.
	refused := func(want string, args ...string) {
		t.Helper()
		if got := s.call(s.dir, "", s.path("scripts/plugin"), args...); got.exit == 0 || got.stdout != "" || !strings.Contains(got.stderr, want) || lineCount(got.stderr) != 1 {
			t.Errorf("%+v, want %q", got, want)
		}
	}
	refused("is not empty", one)
	refused("cannot create", s.path("README.md/x"))
	s.env = append(s.env, "PLATFORM=plan9/386")
	refused("no platform plan9/386")
	s.env = append(s.env, "PLATFORM=host")
	if got := s.call(s.dir, "", "git", "rm", "-rq", "--cached", "hooks"); got.exit != 0 {
		t.Fatalf("%+v", got)
	}
	refused("tracks no hooks", s.path("another"))
}

// TestRelease: the programs of the real folder are static, hold no path of this machine, say the plugin's version, and are what the launchers run.
func TestRelease(t *testing.T) {
	dir, err := release()
	if err != nil {
		t.Fatal(err)
	}
	root, err := realopencode.Root(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"oc-delegate", "oc-job"} {
		path := filepath.Join(dir, "lib", runtime.GOOS+"-"+runtime.GOARCH, name)
		f, err := elf.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range f.Progs {
			if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
				t.Errorf("%s is not static: it has a %v", name, p.Type)
			}
		}
		if f.Section(".symtab") != nil {
			t.Errorf("%s has symbols that nobody needs", name)
		}
		f.Close()
		info, err := buildinfo.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"CGO_ENABLED=0", "-trimpath=true", "GOOS=" + runtime.GOOS} {
			key, value, _ := strings.Cut(want, "=")
			if !slices.ContainsFunc(info.Settings, func(s debug.BuildSetting) bool { return s.Key == key && s.Value == value }) {
				t.Errorf("%s is not built with %s", name, want)
			}
		}
		if text, err := os.ReadFile(path); err != nil || bytes.Contains(text, []byte(root)) {
			t.Errorf("%s names %s, %v", name, root, err)
		}
		out, err := exec.Command(filepath.Join(dir, "bin", name), "--version").Output()
		if err != nil || !strings.HasPrefix(string(out), fmt.Sprintf("%s %s ", name, cli.Release)) {
			t.Errorf("%s says %q, %v", name, out, err)
		}
	}
}

// TestLimitLauncher: what a launcher costs over the program itself, at best of many, in turn.
func TestLimitLauncher(t *testing.T) {
	dir, err := release()
	if err != nil {
		t.Fatal(err)
	}
	most := testplace.Slower(3*time.Millisecond, testplace.Pace(t))
	best := func(command string, args []string, stdin string, so time.Duration) time.Duration {
		cmd := exec.Command(command, args...)
		cmd.Stdin = strings.NewReader(stdin)
		began := time.Now()
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		return min(so, time.Since(began))
	}
	launcher, program := filepath.Join(dir, "bin", "oc-job"), filepath.Join(dir, "lib", runtime.GOOS+"-"+runtime.GOARCH, "oc-job")
	with, without, passed := time.Hour, time.Hour, time.Hour
	for range 150 {
		with = best(launcher, []string{"--version"}, "", with)
		without = best(program, []string{"--version"}, "", without)
		passed = best(launcher, []string{"hook", "PreToolUse"}, `{"tool_name":"Bash","tool_input":{"command":"ls"}}`, passed)
	}
	t.Logf("%v by the launcher, %v without it: %v more; %v before a tool call that is not about delegation", with, without, with-without, passed)
	if with-without > most {
		t.Errorf("the launcher costs %v, more than %v", with-without, most)
	}
	if passed > 2*most {
		t.Errorf("a tool call that is not about delegation is held up for %v, more than %v", passed, 2*most)
	}
}
