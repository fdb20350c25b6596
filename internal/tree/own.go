package tree

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode"
)

// What opencode 1.18.33 writes into a project by itself, seen in a run that only said hello (docs/measured/git.md).
const (
	ownDir    = ".opencode/" // of the directory that it was started in, and of its parents
	ownPlugin = "@opencode-ai/plugin"
	ownSchema = "{\n  \"$schema\": \"https://opencode.ai/config.json\","
)

// ownConfigs are the project's configuration files into which it writes a $schema line. Their content is always held.
var ownConfigs = map[string]bool{
	"opencode.json": true, "opencode.jsonc": true, ".opencode/opencode.json": true, ".opencode/opencode.jsonc": true,
}

// maxOwn is the largest of those files that is held in any case, in bytes.
const maxOwn = 256 << 10

// isOwn reports whether the file is one of them.
func (e *entry) isOwn() bool {
	return e.size <= maxOwn && (ownConfigs[e.path] || e.path == ownDir+"package.json")
}

// ownChange reports whether a difference is what opencode writes by itself, and nothing else: lock files and a new .gitignore in .opencode,
// its plugin package among the dependencies of .opencode/package.json, a $schema line in the configuration.
func ownChange(before, after *Snapshot, b, a *entry) bool {
	if a == nil {
		return false
	}
	if b != nil && b.mode != a.mode || !a.mode.IsRegular() {
		return false
	}
	switch {
	case a.path == ownDir+"package-lock.json", a.path == ownDir+"bun.lock":
		return true
	case a.path == ownDir+".gitignore":
		return b == nil
	case a.path == ownDir+"package.json":
		old := []byte("{}")
		if b != nil {
			old = b.text()
		}
		x, okOld := dependencies(old)
		y, okNew := dependencies(a.text())
		return okOld && okNew && bytes.Equal(x, y)
	case ownConfigs[a.path] && b != nil && b.text() != nil:
		return string(a.text()) == withSchema(string(b.text()))
	}
	return false
}

func (e *entry) text() []byte {
	if e.content == nil {
		return nil
	}
	return e.content.text
}

// withSchema does to a configuration what opencode does: it replaces white space and brace at the start.
func withSchema(text string) string {
	rest := strings.TrimLeftFunc(text, func(r rune) bool { return unicode.IsSpace(r) || r == '\uFEFF' })
	if rest, ok := strings.CutPrefix(rest, "{"); ok {
		return ownSchema + rest
	}
	return text
}

// dependencies is a package.json without opencode's own dependency, in a form that can be compared.
func dependencies(text []byte) ([]byte, bool) {
	var p map[string]json.RawMessage
	if json.Unmarshal(text, &p) != nil || p == nil {
		return nil, false
	}
	var deps map[string]json.RawMessage
	if raw, ok := p["dependencies"]; ok && json.Unmarshal(raw, &deps) != nil {
		return nil, false
	}
	delete(deps, ownPlugin)
	delete(p, "dependencies")
	if len(deps) > 0 {
		raw, err := json.Marshal(deps)
		if err != nil {
			return nil, false
		}
		p["dependencies"] = raw
	}
	out, err := json.Marshal(p)
	return out, err == nil
}
