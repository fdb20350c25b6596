package plugin_test

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/policy"
)

// A kind of text decides what may stand in its frontmatter, and what becomes of it.
type kind int

const (
	command   kind = iota // a prompt, in which Claude Code runs and replaces things
	agent                 // a system prompt, in which it replaces things
	skill                 // the same
	reference             // read as any file
)

// A page is one text that a model reads.
type page struct {
	path  string // from the root, with slashes
	kind  kind
	front map[string]string
	body  string
}

// frontKeys are the members that a frontmatter may have; those of must have to be there.
var frontKeys = map[kind]struct{ must, may []string }{
	command: {[]string{"description", "disable-model-invocation"}, []string{"argument-hint", "allowed-tools"}},
	agent:   {[]string{"name", "description", "tools", "model", "color", "maxTurns"}, nil},
	skill:   {[]string{"name", "description"}, nil}, // with allowed-tools, loading the skill would ask the user
}

// plainValue matches what YAML reads as a text without quotes and as nothing else.
var plainValue = regexp.MustCompile(`^[A-Za-z0-9/][^\\]*$`)

// parse reads a text. Claude Code drops a frontmatter that it cannot read, without a word, so this knows only lines of a key and a text.
func parse(name string, k kind, text string) (page, error) {
	p := page{path: name, kind: k, front: map[string]string{}, body: text}
	rest, ok := strings.CutPrefix(text, "---\n")
	if k == reference {
		if ok {
			return p, fmt.Errorf("%s: a reference has no frontmatter", name)
		}
		return p, nil
	}
	head, body, closed := strings.Cut(rest, "\n---\n")
	if !ok || !closed {
		return p, fmt.Errorf("%s: no frontmatter between two lines of ---", name)
	}
	p.body = body
	keys := frontKeys[k]
	for line := range strings.SplitSeq(head, "\n") {
		key, value, ok := strings.Cut(line, ": ")
		switch {
		case !ok || value == "" || strings.TrimSpace(line) != line:
			return p, fmt.Errorf("%s: %q is no line of a key and a value", name, line)
		case !slices.Contains(keys.must, key) && !slices.Contains(keys.may, key):
			return p, fmt.Errorf("%s: a frontmatter of its kind has no member %q", name, key)
		case p.front[key] != "":
			return p, fmt.Errorf("%s: %s is there twice", name, key)
		}
		if value[0] == '"' {
			quoted, err := strconv.Unquote(value)
			if err != nil || strings.Contains(value, `\`) {
				return p, fmt.Errorf("%s: %s: %s cannot be read for certain", name, key, value)
			}
			value = quoted
		} else if !plainValue.MatchString(value) || strings.Contains(value, ": ") || strings.Contains(value, " #") || strings.HasSuffix(value, ":") {
			return p, fmt.Errorf("%s: %s: %q needs double quotes", name, key, value)
		}
		p.front[key] = value
	}
	for _, key := range keys.must {
		if p.front[key] == "" {
			return p, fmt.Errorf("%s: %s is not there", name, key)
		}
	}
	return p, nil
}

// pages are all texts of the plugin.
func pages(t *testing.T) []page {
	t.Helper()
	var all []page
	for _, place := range []struct {
		pattern string
		kind    kind
		number  int // at least
	}{
		{"commands/*", command, 9}, {"agents/*", agent, 1}, {"skills/*/SKILL.md", skill, 1}, {"skills/*/references/*", reference, 6},
	} {
		files, err := filepath.Glob(filepath.Join("..", filepath.FromSlash(place.pattern)))
		if err != nil || len(files) < place.number {
			t.Fatalf("%s: %d files, want %d: %v", place.pattern, len(files), place.number, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			rel, err := filepath.Rel("..", file)
			if err != nil {
				t.Fatal(err)
			}
			p, err := parse(filepath.ToSlash(rel), place.kind, string(text))
			if err != nil {
				t.Error(err)
			}
			all = append(all, p)
		}
	}
	return all
}

// name is what the page is called by.
func (p page) name() string {
	if p.kind == skill {
		return path.Base(path.Dir(p.path))
	}
	return strings.TrimSuffix(path.Base(p.path), ".md")
}

var (
	bangs     = regexp.MustCompile("!`([^`]*)`")
	replaced  = regexp.MustCompile(`\$(\d|\{|ARGUMENTS)`)
	fences    = regexp.MustCompile("(?ms)^[ \t]*```(\\w*)\n(.*?)^[ \t]*```$")
	mentions  = regexp.MustCompile(`(?:^|[^A-Za-z0-9])@\S`)
	links     = regexp.MustCompile(`\]\(([^)]*)\)`)
	slashes   = regexp.MustCompile(`/opencode:([a-z-]+)`)
	flagWords = regexp.MustCompile(`(?:^|[\s\x60("|\[])(--[a-z][a-z-]*)`)
	statuses  = regexp.MustCompile(`\b[A-Z]+_[A-Z]+\b`)
)

// problems are what is wrong with a page, as far as it can be seen on it alone.
func (p page) problems() (list []string) {
	add := func(format string, args ...any) { list = append(list, p.path+": "+fmt.Sprintf(format, args...)) }
	if n := p.front["name"]; n != "" && n != p.name() {
		add("it is called %q", n)
	}
	if p.kind == command && p.front["disable-model-invocation"] != "true" {
		add("it would be listed in every session: disable-model-invocation is not true")
	}
	if strings.Contains(p.body, "CLAUDE_") {
		add("it names a variable of Claude Code, which a command of the model does not have")
	}
	if strings.Contains(p.body, "\t") || !utf8.ValidString(p.body) {
		add("it holds tabs, or is not UTF-8")
	}
	granted := p.front["allowed-tools"]
	commands := bangs.FindAllStringSubmatch(p.body, -1)
	for _, c := range commands {
		words, err := policy.Words(c[1])
		switch {
		case p.kind != command:
			add("it runs %q", c[1])
		case err != nil:
			add("%q is not one plain call of ours: %v", c[1], err)
		case granted != "Bash("+c[1]+")":
			add("it runs %q, and may run %q", c[1], granted)
		case words[0] != policy.Jobber:
			add("%q does not exit 0 whatever happens, as oc-job does behind a !, and the prompt would be dropped", c[1])
		}
	}
	if strings.Contains(granted, "Bash") && len(commands) != 1 {
		add("it may run %q unasked, and runs %d commands", granted, len(commands))
	}
	// The shell would read the arguments, and a digit after a dollar sign is one of them.
	for _, found := range replaced.FindAllString(p.body, -1) {
		if p.kind != reference && (p.kind != command || found != "$ARGUMENTS") {
			add("Claude Code would replace %q", found)
		}
	}
	for _, found := range mentions.FindAllString(p.body, -1) {
		add("Claude Code would read the file of %q into the conversation", strings.TrimSpace(found))
	}
	for _, f := range fences.FindAllStringSubmatch(p.body, -1) {
		if strings.Contains(f[2], "$ARGUMENTS") || f[1] != "sh" && f[1] != "text" {
			add("a block of the kind %q, or with the arguments in it", f[1])
		}
	}
	for _, f := range flagWords.FindAllStringSubmatch(p.body+"\n"+p.front["argument-hint"], -1) {
		if !known(f[1]) {
			add("there is no flag %s", f[1])
		}
	}
	for _, s := range statuses.FindAllString(p.body, -1) {
		if !strings.HasPrefix(s, "OC_") && fault.Kind(s).Exit() == fault.RunFailed.Exit() && fault.Kind(s) != fault.RunFailed {
			add("there is no status %s", s)
		}
	}
	return list
}

// others are flags of programs that are not ours, and the one of /opencode:delegate.
var others = []string{"--stat", "--short", "--background", "--args-from-hook"}

// known reports whether a flag is one of our commands.
func known(flag string) bool {
	if slices.Contains(others, flag) {
		return true
	}
	for _, command := range []string{policy.Delegate, policy.Jobber} {
		for _, verb := range policy.Verbs(command) {
			if slices.ContainsFunc(policy.Flags(command, verb), func(k policy.Known) bool { return "--"+k.Flag == flag }) {
				return true
			}
		}
	}
	return false
}

func TestTexts(t *testing.T) {
	all := pages(t)
	names := map[kind][]string{}
	for _, p := range all {
		names[p.kind] = append(names[p.kind], p.name())
		for _, problem := range p.problems() {
			t.Error(problem)
		}
	}
	want := []string{"cancel", "delegate", "diagnose", "research", "result", "review", "setup", "status", "wait"}
	if !slices.Equal(names[command], want) || !slices.Equal(names[agent], []string{"opencode-delegate"}) || !slices.Equal(names[skill], []string{"opencode"}) {
		t.Errorf("the plugin has %v", names)
	}
	if policy.Subagent != "opencode:"+names[agent][0] {
		t.Errorf("the policy holds another agent: %s", policy.Subagent)
	}
	linked := map[string]bool{}
	for _, p := range all {
		for _, l := range links.FindAllStringSubmatch(p.body, -1) {
			file := path.Join(path.Dir(p.path), l[1])
			if _, err := os.Stat(filepath.Join("..", filepath.FromSlash(file))); err != nil {
				t.Errorf("%s links to %s: %v", p.path, l[1], err)
			}
			linked[file] = linked[file] || p.kind == skill
		}
		for _, s := range slashes.FindAllStringSubmatch(p.body, -1) {
			if !slices.Contains(want, s[1]) {
				t.Errorf("%s names a command %s", p.path, s[0])
			}
		}
	}
	for _, p := range all {
		if p.kind == reference && !linked[p.path] {
			t.Errorf("%s is never found: the skill does not link to it", p.path)
		}
	}
}

// What a text may cost. The descriptions of the agent and of the skill are read in every session, the rest when it is used.
func TestTextsAreShort(t *testing.T) {
	listed := 0
	for _, p := range pages(t) {
		description := utf8.RuneCountInString(p.front["description"])
		most, body := 60, 2000 // a command: its line in a menu, its prompt
		switch p.kind {
		case agent:
			most, body = 230, 3000
			listed += description
		case skill:
			most, body = 250, 5000
			listed += description
		case reference:
			body = 6000
		}
		if description > most || len(p.body) > body {
			t.Errorf("%s: %d characters of description (at most %d), %d bytes (at most %d)", p.path, description, most, len(p.body), body)
		}
	}
	t.Logf("descriptions that are read in every session: %d characters", listed)
	if listed == 0 {
		t.Error("no agent and no skill")
	}
}

// The table of the exit codes is that of the program, and whole.
func TestTextExitCodes(t *testing.T) {
	text, err := os.ReadFile("../skills/opencode/references/exit-codes.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?m)^\| (\d+) \| ([A-Z_]+) \|`).FindAllStringSubmatch(string(text), -1)
	for _, row := range rows {
		if got := strconv.Itoa(fault.Kind(row[2]).Exit()); got != row[1] {
			t.Errorf("%s has exit code %s, the table says %s", row[2], got, row[1])
		}
	}
	if len(rows) != 22 {
		t.Errorf("%d rows, want 22", len(rows))
	}
}
