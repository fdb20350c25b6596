package permission

import "strings"

// agentPrefix begins the names of our own agents.
const agentPrefix = "oc-delegate-"

// AgentName is the name of an agent of our own for the run with this id.
//
// It has to be one that a repository cannot guess. opencode merges an agent's rules by key, in the order in which the
// keys first appeared: a repository that defines the same agent as {"*": …, "bash": …, "b*": "allow"} puts "b*" behind our
// "bash": "deny", and wins (measured). For a name that nobody else has defined our rules stand alone, and last.
func AgentName(id string) string { return agentPrefix + id }

// Config is the fragment of opencode's configuration, for OPENCODE_CONFIG_CONTENT, that gives each of the agents the rules
// of the profile. The first agent becomes the default one, so that opencode falls back to nothing wider. For an agent made
// by [AgentName] the rules are certain; for one that the repository also defines they hold by name only.
// outside is as for [Profile.Rules].
//
// The rules stand under "mode" as well as under "agent": opencode merges the older "mode" over "agent" after everything
// else, a repository's included (measured).
func Config(p Profile, agents []string, outside ...string) []byte {
	rules := p.Rules(outside...)
	var agent, mode object
	for _, name := range agents {
		var a object
		a.raw("disable", []byte("false"))
		a.raw("permission", rules)
		mode.raw(name, a.bytes())
		if strings.HasPrefix(name, agentPrefix) {
			a.set("mode", "primary")
			a.set("description", "Carries out one delegated task.")
		}
		agent.raw(name, a.bytes())
	}
	if p.allows(TrustedTest) {
		for _, name := range []string{"general", "explore"} {
			var a object
			a.raw("permission", rules)
			agent.raw(name, a.bytes())
		}
	}
	var o object
	if len(agents) > 0 {
		o.set("default_agent", agents[0])
	}
	o.raw("agent", agent.bytes())
	o.raw("mode", mode.bytes())
	return o.bytes()
}

// Env is the value of OPENCODE_PERMISSION: the rules under every agent's own, also of agents that we do not name.
func Env(p Profile, outside ...string) string { return string(p.Rules(outside...)) }
