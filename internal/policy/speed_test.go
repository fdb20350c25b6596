package policy

import (
	"strings"
	"testing"
	"time"
)

// long are commands of about n bytes, allowed ones and such that try to keep the reader busy.
func long(n int) map[string]string {
	body := strings.Repeat("a line of a brief, with $HOME and `x` and \"quotes\"\n", n/51)
	return map[string]string{
		"heredoc":        "oc-delegate - <<'EOF'\n" + body + "EOF\n",
		"single quotes":  "oc-delegate '" + strings.ReplaceAll(body, "'", "") + "'",
		"double quotes":  `oc-delegate "` + strings.Repeat(`a \" \$ \\ b `, n/13) + `"`,
		"many quotes":    "oc-delegate " + strings.Repeat(`'a'\''b'"c"`, n/11),
		"many words":     "oc-delegate " + strings.Repeat("a ", n/2),
		"many flags":     "oc-delegate " + strings.Repeat("-f README.md ", n/13),
		"deep":           "oc-delegate " + strings.Repeat("$(", n/2),
		"braces":         "oc-delegate " + strings.Repeat("{a,", n/3),
		"parentheses":    "oc-job " + strings.Repeat("(", n),
		"blanks":         "oc-delegate x" + strings.Repeat(" ", n),
		"empty lines":    "oc-delegate x" + strings.Repeat("\n", n),
		"lines go on":    "oc-delegate x" + strings.Repeat(" \\\n", n/3),
		"long flag":      "oc-delegate --" + strings.Repeat("a", n),
		"long path":      "oc-delegate --dir " + strings.Repeat("a/", n/2),
		"links":          "oc-delegate --dir " + strings.Repeat("self/", n/5),
		"no end":         "oc-delegate - <<'EOF'\n" + strings.Repeat("EO\n", n/3),
		"almost the end": "oc-delegate - <<'EOF'\n" + strings.Repeat("EOF \n", n/5),
		"foreign":        "touch " + body,
	}
}

// TestLongCommandsAreFast: the host waits for the hook. What is measured is the best of some tries; a longer command may cost more in
// proportion to its length and not to its square.
func TestLongCommandsAreFast(t *testing.T) {
	g := newGround(t)
	best := func(command string) time.Duration {
		least := time.Hour
		for range 5 {
			begin := time.Now()
			Decide(g.call(command), Policy{}, g.jobs)
			least = min(least, time.Since(begin))
		}
		return least
	}
	short, tall := long(25_000), long(200_000)
	for name := range tall {
		small, big := best(short[name]), best(tall[name])
		t.Logf("%-15s 25 kB %-12v 200 kB %v", name, small, big)
		if big > 100*time.Millisecond*slowness {
			t.Errorf("%s: 200 kB took %v", name, big)
		}
		if big > 30*small+5*time.Millisecond*slowness {
			t.Errorf("%s: 25 kB took %v, 200 kB %v", name, small, big)
		}
	}
	if d := best(`oc-delegate --write --dir src -f README.md 'x'`); d > time.Millisecond*slowness {
		t.Errorf("a usual call took %v", d)
	}
	for name, want := range map[string]Verdict{"heredoc": Allow, "single quotes": Allow, "double quotes": Allow, "many quotes": Allow, "blanks": Allow, "many words": Deny, "many flags": Deny} {
		if d := Decide(g.call(tall[name]), Policy{}, g.jobs); d.Verdict != want {
			t.Errorf("%s: %v: %s", name, d.Verdict, d.Reason)
		}
	}
}

func BenchmarkDecide(b *testing.B) {
	g := newGround(b)
	for name, command := range map[string]string{
		"usual":   `oc-delegate --write --dir src -f README.md --digest 'Add a flag, with a test'`,
		"foreign": `go test ./... 2>&1 | tail -20`,
		"heredoc": long(100_000)["heredoc"],
	} {
		b.Run(name, func(b *testing.B) {
			c := g.call(command)
			if name == "foreign" {
				c.AgentType = ""
			}
			b.ReportAllocs()
			for b.Loop() {
				Decide(c, Policy{}, g.jobs)
			}
		})
	}
}
