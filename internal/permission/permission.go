// Package permission holds the named sets of opencode tools that a run may use, as total rulesets.
//
// opencode takes the last rule that matches a tool, and its own default is to allow. So every ruleset here opens with one
// rule for everything and then names each tool that opencode is known to have, allowed or denied: a tool that is not
// named falls to the first rule, and a weaker rule for a named tool that comes from elsewhere is overridden by name.
// No rule says "ask": in a headless run an unanswered question ends the run, while a denial is an error that the
// model can work around.
//
// These rules steer the worker; they are no boundary. Code that a repository brings (plugins, MCP servers) never asks
// them. The boundary is package sandbox.
package permission

import (
	"encoding/json"
	"slices"
	"strings"

	"opencode-delegate/internal/fault"
)

// A Profile is a named set of permissions.
type Profile string

// The profiles that a caller chooses from, each a superset of the one before.
const (
	ReadOnly    Profile = "read-only"    // read, glob, grep, list
	Standard    Profile = "standard"     // and edit, bash, todowrite
	TrustedTest Profile = "trusted-test" // and task: subagents
	FullTrusted Profile = "full-trusted" // every tool, MCP servers' and future ones included
)

// Research is ReadOnly and the web. It is for a directory in which there is nothing to tell the web of.
const Research Profile = "research"

// aliases are the second names of profiles.
var aliases = map[string]Profile{
	"minimal": ReadOnly, "workspace-write": Standard, "allow_all": FullTrusted,
}

// Parse returns the profile of a name, which may be the second one of its pair. Another name is a USAGE fault.
func Parse(name string) (Profile, error) {
	switch p := Profile(name); p {
	case ReadOnly, Standard, TrustedTest, FullTrusted, Research:
		return p, nil
	}
	if p, ok := aliases[name]; ok {
		return p, nil
	}
	return "", fault.New(fault.Usage, "unknown profile %q", name).With(
		"profiles: read-only (minimal), standard (workspace-write), trusted-test, full-trusted (allow_all)")
}

// Name is the first name of the profile's pair.
func (p Profile) Name() string { return string(p) }

// Writes reports whether the profile lets the worker change files.
func (p Profile) Writes() bool { return p != ReadOnly && p != Research }

// tools are the permission names of opencode 1.18.33 (its embedded source, and the configuration schema of its API), with names
// of earlier and announced versions, which cost nothing. Each stands with the least profile that allows it; none = no profile does.
// "edit" governs the tools edit, write, patch and apply_patch; the others name themselves.
var tools = []struct {
	name  string
	least Profile
}{
	{"edit", Standard}, {"write", Standard}, {"patch", Standard}, {"apply_patch", Standard}, {"multiedit", Standard},
	{"bash", Standard}, {"todowrite", Standard}, {"todoread", Standard},
	{"task", TrustedTest},
	{"webfetch", FullTrusted}, {"websearch", FullTrusted}, {"codesearch", FullTrusted},
	{"lsp", FullTrusted}, {"skill", FullTrusted}, {"repo_clone", FullTrusted}, {"repo_overview", FullTrusted},
	{"workflow_tool_approval", FullTrusted},
	{"question", none},   // nobody is there to answer
	{"plan_enter", none}, // a change of the agent would change the rules
	{"plan_exit", none},  // likewise
	{"doom_loop", none},  // asked when a call repeats itself: the repetition is to end
	{"glob", ReadOnly}, {"grep", ReadOnly}, {"list", ReadOnly},
	{"invalid", ReadOnly}, // answers a call of a tool that is not offered; without it the model is told nothing it can use
}

const none Profile = ""

// web are the tools that Research has beside those of ReadOnly.
var web = []string{"webfetch", "websearch"}

// rank orders the profiles; an unknown one has no rights.
var rank = map[Profile]int{ReadOnly: 1, Research: 1, Standard: 2, TrustedTest: 3, FullTrusted: 4}

func (p Profile) allows(least Profile) bool { return least != none && rank[p] >= rank[least] }

// Rules is the profile as the value of opencode's "permission": a JSON object whose order carries meaning. The
// directories of outside (absolute) may be used although they are outside the project: what the sandbox grants beyond it.
// A path in them that holds a character with a meaning to opencode (the wildcards * and ?, and {, which begins a substitution) is left out,
// since nothing quotes it.
func (p Profile) Rules(outside ...string) json.RawMessage {
	var o object
	if p == FullTrusted {
		o.set("*", "allow")
	} else {
		o.set("*", "deny")
	}
	for _, t := range tools {
		o.set(t.name, action(p.allows(t.least) || p == Research && slices.Contains(web, t.name)))
	}
	o.raw("external_directory", p.external(outside))
	o.raw("read", p.read())
	return o.bytes()
}

// system are directories of installed software. A worker that builds looks into them, and may: nobody's data is there.
var system = []string{"/usr", "/opt", "/etc", "/bin", "/sbin", "/lib", "/lib64", "/nix/store", "/dev"}

// external are the rules for paths outside the project. opencode itself adds its directory of cut-off tool output to
// them, so that a long output can be read. They stop opencode's own tools and the plain commands of its shell, such as cat; under
// a writing profile an interpreter passes them by, and only the kernel stops it.
func (p Profile) external(outside []string) []byte {
	var o object
	o.set("*", action(p == FullTrusted))
	if p.Writes() {
		outside = append(system[:len(system):len(system)], outside...)
	}
	for _, dir := range outside {
		if strings.ContainsAny(dir, "*?{") || !strings.HasPrefix(dir, "/") {
			continue
		}
		dir = strings.TrimRight(dir, "/")
		o.set(dir, "allow")
		o.set(dir+"/*", "allow")
	}
	return o.bytes()
}

// read allows files but those that usually hold secrets, where opencode would ask. Its rule also governs the resources
// of MCP servers, under names that begin with "mcp:".
func (p Profile) read() []byte {
	var o object
	o.set("*", "allow")
	if p != FullTrusted {
		o.set("*.env", "deny")
		o.set("*.env.*", "deny")
		o.set("*.env.example", "allow")
		o.set("mcp:*", "deny")
	}
	return o.bytes()
}

func action(allow bool) string {
	if allow {
		return "allow"
	}
	return "deny"
}

// Secret reports whether the read tool may not read a file of this name, since such files usually hold secrets: *.env and *.env.*,
// but for *.env.example.
func Secret(name string) bool {
	name = strings.ToLower(name)
	return (strings.HasSuffix(name, ".env") || strings.Contains(name, ".env.")) && !strings.HasSuffix(name, ".env.example")
}
