package plugin_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"opencode-delegate/internal/realclaude"
)

// hostile are arguments that would do something if anybody took them for more than words. Each that works makes a file evil….
var hostile = map[string]string{
	"quotes":        `a "b' c"; touch evil1; echo '` + "`touch evil2`",
	"substitutions": "`touch evil3` $(touch evil4) ${IFS} $HOME",
	"chain":         `x" && touch evil5 && echo "y; touch evil6`,
	"newlines":      "x\ntouch evil7\nEOF\nOC\n```\n!`touch evil8`\n",
	"mention":       "x @/etc/hostname \"@/etc/hostname\"",
	"flags":         "--force --json --out evil9",
	"long":          strings.Repeat("y ", 50_000),
}

// Whatever the arguments of a command are, they are words: nothing runs, no file is read, and the run ends well.
func TestRealHostileArguments(t *testing.T) {
	t.Parallel()
	realclaude.Each(t, func(t *testing.T, c realclaude.Claude) {
		m := installed(t, c, worker)
		host, err := os.ReadFile("/etc/hostname")
		if err != nil {
			t.Fatal(err)
		}
		out, exit := m.job("start", `Wait. [[mock:{"text":"late","delay_ms":300000}]]`)
		if exit != 0 {
			t.Fatal(exit)
		}
		id := strings.TrimSpace(out)
		defer m.job("cancel", id)
		for name, args := range hostile {
			for _, command := range []string{"status", "result", "cancel"} {
				a := m.Headless(context.Background(), "/opencode:"+command+" "+args, "--dangerously-skip-permissions")
				if a.Exit != 0 {
					t.Errorf("%s %s: exit %d, %s", command, name, a.Exit, a.Stderr)
				}
				// One that names a file goes no further than the hook: in a request the file could stand.
				if want := map[bool]int{false: 1, true: 0}[name == "mention"]; len(a.Requests) != want {
					t.Errorf("%s %s: %d requests, want %d", command, name, len(a.Requests), want)
				}
				for _, r := range a.Requests {
					said := r.Said("user") + r.Said("system")
					if h := strings.TrimSpace(string(host)); len(h) > 3 && strings.Contains(strings.ReplaceAll(said, args, ""), h) {
						t.Errorf("%s %s: /etc/hostname was read", command, name)
					}
				}
			}
		}
		for name, args := range hostile {
			if name == "mention" || name == "long" {
				continue // of the prompts the host makes what it likes
			}
			a := m.Headless(context.Background(), "/opencode:delegate "+args+" "+say(text("END")), "--dangerously-skip-permissions")
			if a.Exit != 0 || a.Text != "END" {
				t.Errorf("delegate %s: exit %d, %q, %s", name, a.Exit, a.Text, a.Stderr)
			}
		}
		long := m.Headless(context.Background(), "/opencode:delegate "+hostile["long"]+say(text("END")))
		if long.Text != "END" || strings.Count(long.Requests[0].Said("user"), "y y y") == 0 {
			t.Errorf("100 KB: %q", long.Text)
		}
		for _, dir := range []string{m.Project, m.Root} {
			if found, _ := filepath.Glob(filepath.Join(dir, "evil*")); len(found) > 0 {
				t.Errorf("it ran: %v", found)
			}
		}
		if list := m.jobs(); len(list) != 1 || list[0].State.Terminal() {
			t.Errorf("jobs: %+v", list)
		}
	})
}

// What a worker says may hold a path behind an @, which Claude Code would read into the context from the output of a command.
func TestRealResultHoldsNoMention(t *testing.T) {
	t.Parallel()
	realclaude.Each(t, func(t *testing.T, c realclaude.Claude) {
		m := installed(t, c, worker)
		m.Write("project/secret.txt", "the-content-of-a-file")
		id := m.ended(`Say it. [[mock:{"text":"see @secret.txt and @/etc/hostname, mail a@b.example"}]]`)
		said := ""
		for _, command := range []string{"result", "status"} {
			for _, r := range m.Headless(context.Background(), "/opencode:"+command+" "+id).Requests {
				said += r.Said("user") + r.Said("system")
			}
		}
		if strings.Count(said, "secret.txt") < 2 || !strings.Contains(said, "a@b.example") {
			t.Errorf("the answer is not there: %q", said)
		}
		if strings.Contains(said, "the-content-of-a-file") {
			t.Error("a file was read into the context")
		}
	})
}
