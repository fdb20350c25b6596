package realclaude

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"opencode-delegate/internal/testanthropic"
)

// TestRealIsThePinnedVersion proves that what the other tests call the real Claude Code is the pinned one.
func TestRealIsThePinnedVersion(t *testing.T) {
	Each(t, func(t *testing.T, c Claude) {
		r := New(t, c, "").Run(context.Background(), "", "--version")
		if got, _, _ := strings.Cut(r.Stdout, " "); got != c.Version || r.Exit != 0 {
			t.Errorf("--version = %q, exit %d, pinned is %q", r.Stdout, r.Exit, c.Version)
		}
	})
}

// TestRealHeadless: an allowed call of a tool, a refused one, an answer; and nothing of it outside the place or the machine.
func TestRealHeadless(t *testing.T) {
	Each(t, func(t *testing.T, c Claude) {
		p := New(t, c, "")
		p.Extra = behind(p)
		before := temporary(t)
		a := p.Headless(context.Background(), `[[claude:[{"bash":"mkdir -v made","description":"Make"},{"bash":"touch made.txt"},{"text":"Then: {{result}}"}]]]`, "--allowedTools", "Bash(mkdir:*)")
		t.Logf("%s: %v, %d characters", c.Version, a.Wall, a.Requests[0].Characters())
		if a.Exit != 0 || a.Failed || a.Stderr != "" || !strings.HasPrefix(a.Text, "Then: ") {
			t.Fatalf("exit %d, answer %q, stderr %q", a.Exit, a.Text, a.Stderr)
		}
		if len(a.Requests) != 3 {
			t.Fatalf("%d requests, want 3", len(a.Requests))
		}
		for i, r := range a.Requests {
			if r.Kind != testanthropic.Main || r.Turn != i || r.Error != "" || !r.Stream || !r.Offers("Bash") || !r.Offers("Agent") {
				t.Errorf("request %d: kind %q, turn %d, stream %v, error %q", i, r.Kind, r.Turn, r.Stream, r.Error)
			}
		}
		results := a.Requests[2].Results()
		if got := results[0]; got.Error || !strings.Contains(got.Text, "made") {
			t.Errorf("the allowed call came to %+v", got)
		}
		if info, err := os.Stat(filepath.Join(p.Project, "made")); err != nil || !info.IsDir() {
			t.Errorf("the allowed call did nothing: %v", err)
		}
		if !results[1].Error {
			t.Errorf("the call that nothing allowed came to %+v", results[1])
		}
		if _, err := os.Stat(filepath.Join(p.Project, "made.txt")); err == nil {
			t.Error("the call that nothing allowed ran")
		}
		alone(t, p)
		if after := temporary(t); !slices.Equal(before, after) {
			t.Errorf("left in the directory for temporary files: %v, before %v", after, before)
		}
		if left := p.Settle(5 * time.Second); len(left) != 0 {
			t.Errorf("left running: %v", left)
		}
	})
}

// behind makes the scripted API the proxy as well, so that it sees each host that Claude Code wants to reach.
func behind(p *Place) []string {
	return []string{"HTTPS_PROXY=" + p.API.URL, "HTTP_PROXY=" + p.API.URL, "NO_PROXY=127.0.0.1,localhost"}
}

// alone fails the test when Claude Code wanted something else than messages. The oldest asks at its start whether the API is there.
func alone(t *testing.T, p *Place) {
	t.Helper()
	for _, o := range p.API.Others() {
		if o != "HEAD /" {
			t.Errorf("Claude Code asked for %q", o)
		}
	}
}

// temporary are Claude Code's own names in the system's directory for temporary files.
func temporary(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, pattern := range []string{"claude-*", "cc-socks*"} {
		found, err := filepath.Glob(filepath.Join(os.TempDir(), pattern))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	return all
}

// TestRealRefusals: Claude Code repeats what was refused for a while, and gives up on what is refused for good.
func TestRealRefusals(t *testing.T) {
	Each(t, func(t *testing.T, c Claude) {
		p := New(t, c, "")
		a := p.Headless(context.Background(), `[[claude:[{"status":429,"retry_after":1,"times":1},{"status":529,"times":1},{"text":"At last"}]]]`)
		t.Logf("%s: %v", c.Version, a.Wall)
		if a.Text != "At last" || a.Failed || len(a.Requests) != 3 {
			t.Errorf("answer %q after %d requests, stderr %q", a.Text, len(a.Requests), a.Stderr)
		}
		a = p.Headless(context.Background(), `[[claude:{"status":400,"body":"The script refuses."}]]`)
		if !a.Failed || a.Exit == 0 || !strings.Contains(a.Text, "The script refuses.") {
			t.Errorf("exit %d, failed %v, answer %q", a.Exit, a.Failed, a.Text)
		}
	})
}

// TestRealTerminal: what a user sees and does, from the first prompt to the end.
func TestRealTerminal(t *testing.T) {
	Each(t, func(t *testing.T, c Claude) {
		p := New(t, c, "")
		p.Extra = behind(p)
		dir, _ := sample(p)
		started := time.Now()
		term := p.Terminal("--permission-mode", "default", "--plugin-dir", dir)
		up := time.Since(started)
		term.Send(`Good morning [[claude:{"text":"And to you"}]]`)
		term.WaitFor("● And to you")
		term.Send("/sample:weather now")
		term.WaitFor("● That is all")
		rain := func(r testanthropic.Request) bool {
			return r.Kind == testanthropic.Main && strings.Contains(r.Said("user"), "rain with 1 argument")
		}
		if !slices.ContainsFunc(p.API.Requests(), rain) {
			t.Error("the command's output did not reach the model")
		}
		term.Send(`[[claude:{"bash":"touch asked.txt"}]]`)
		term.WaitFor("Do you want to")
		term.Press("Escape")
		term.WaitGone("Do you want to")
		if code := term.Exit(); code != 0 {
			t.Errorf("exit %d", code)
		}
		t.Logf("%s: up in %v, all in %v", c.Version, up, time.Since(started))
		if _, err := os.Stat(filepath.Join(p.Project, "asked.txt")); err == nil {
			t.Error("the call ran though the user said no")
		}
		alone(t, p)
		term.Kill()
		if left := p.Settle(5 * time.Second); len(left) != 0 {
			t.Errorf("left running: %v", left)
		}
	})
}
