package realclaude

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// module writes the root of a module with these files below it.
func module(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

const pins = `{"dependencies": {"claude-oldest": "npm:@anthropic-ai/claude-code@1.0.1", "claude-newest": "npm:@anthropic-ai/claude-code@1.0.2"}}`

// TestFindKnowsTheVersions: npm may put either of the two versions beside the packages that need them.
func TestFindKnowsTheVersions(t *testing.T) {
	platform := platformPackages(runtime.GOOS, runtime.GOARCH)[0]
	binary := "claude"
	if runtime.GOOS == "windows" {
		binary += ".exe"
	}
	const modules = ".tools/claude/node_modules/"
	beside, below := modules+"@anthropic-ai/"+platform+"/", modules+"claude-%s/node_modules/@anthropic-ai/"+platform+"/"
	for _, c := range []struct{ beside, below, belowVersion string }{{"1.0.2", Oldest, "1.0.1"}, {"1.0.1", Newest, "1.0.2"}} {
		inner := fmt.Sprintf(below, c.below)
		root := module(t, map[string]string{
			Pins: pins, beside + "package.json": `{"version": "` + c.beside + `"}`, beside + binary: "x", inner + "package.json": `{"version": "` + c.belowVersion + `"}`, inner + binary: "x",
		})
		for name, version := range map[string]string{Oldest: "1.0.1", Newest: "1.0.2"} {
			want := beside
			if name == c.below {
				want = inner
			}
			got, err := Find(root, name)
			if err != nil || got.Version != version || got.Path != filepath.Join(root, filepath.FromSlash(want+binary)) {
				t.Errorf("Find(%s) = %+v, %v", name, got, err)
			}
		}
	}
}

func TestFindNamesWhatToDo(t *testing.T) {
	platform := platformPackages(runtime.GOOS, runtime.GOARCH)[0]
	other := ".tools/claude/node_modules/@anthropic-ai/" + platform + "/"
	for name, root := range map[string]string{
		"nothing installed": module(t, map[string]string{Pins: pins}),
		"another version":   module(t, map[string]string{Pins: pins, other + "package.json": `{"version": "1.0.3"}`, other + "claude": "x", other + "claude.exe": "x"}),
	} {
		if _, err := Find(root, Newest); !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), "make tools-claude") || !strings.Contains(err.Error(), "1.0.2") {
			t.Errorf("%s: %v, want ErrMissing, the version and what to do", name, err)
		}
	}
	root := module(t, map[string]string{Pins: `{"dependencies": {"claude-newest": "2.0.0"}}`})
	if _, err := Find(root, Newest); err == nil || errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), "claude-newest") {
		t.Errorf("pins that name another package: %v", err)
	}
}

func TestPlatformPackages(t *testing.T) {
	for _, c := range []struct {
		os, arch string
		want     []string
	}{
		{"linux", "amd64", []string{"claude-code-linux-x64", "claude-code-linux-x64-musl"}},
		{"darwin", "arm64", []string{"claude-code-darwin-arm64"}},
		{"windows", "amd64", []string{"claude-code-win32-x64"}},
	} {
		if got := platformPackages(c.os, c.arch); !slices.Equal(got, c.want) {
			t.Errorf("platformPackages(%s, %s) = %v, want %v", c.os, c.arch, got, c.want)
		}
	}
}

// TestEnvIsPrivate: what the tests' own caller has set reaches no run.
func TestEnvIsPrivate(t *testing.T) {
	for _, name := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_ENTRYPOINT", "HTTPS_PROXY", "XDG_DATA_HOME", "OC_DELEGATE_MODEL"} {
		t.Setenv(name, "/nonexistent/user")
	}
	p := New(t, Claude{}, "")
	p.Extra = []string{"OC_MODEL=mine"}
	env := p.Env()
	for _, e := range env {
		if strings.Contains(e, "/nonexistent/user") {
			t.Errorf("Env leaks %q", e)
		}
	}
	for _, want := range []string{"ANTHROPIC_BASE_URL=" + p.API.URL, "CLAUDE_CONFIG_DIR=" + p.Config, "ANTHROPIC_API_KEY=" + Key, "OC_MODEL=mine"} {
		if !slices.Contains(env, want) {
			t.Errorf("Env lacks %q", want)
		}
	}
}

// A recorder is a test that fails on paper.
type recorder struct {
	testing.TB
	said []string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.said = append(r.said, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

func (r *recorder) Fatal(args ...any) { r.Fatalf("%s", fmt.Sprint(args...)) }

// failing runs a function of a place whose test fails on paper, and returns what it said.
func failing(p *Place, do func()) []string {
	r := &recorder{TB: p.T}
	actual := p.T
	defer func() { p.T = actual }()
	p.T = r
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	<-done
	return r.said
}

func TestWithoutTmux(t *testing.T) {
	p := New(t, Claude{}, "")
	t.Setenv("PATH", p.Root)
	said := failing(p, func() { p.Terminal() })
	if len(said) != 1 || !strings.Contains(said[0], "tmux is missing") || !strings.Contains(said[0], "apt-get install tmux") {
		t.Errorf("without tmux the test says %q", said)
	}
}

func TestInputIsBetweenTheLastRules(t *testing.T) {
	for screen, want := range map[string]string{
		"a\n──────\n❯ one\n  two\n──────\n  ? for shortcuts": "❯ one\n  two",
		"──────\nold\n──────\n❯ \n──────\n":                  "❯ ",
		"──────\n Do you want to proceed?\n ❯ 1. Yes":        "",
	} {
		if got := input(screen); got != want {
			t.Errorf("%q: %q, want %q", screen, got, want)
		}
	}
}
