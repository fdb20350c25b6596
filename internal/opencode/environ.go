package opencode

import (
	"runtime"
	"slices"
	"strings"

	"opencode-delegate/internal/gitconfig"
	"opencode-delegate/internal/permission"
	"opencode-delegate/internal/sandbox"
)

// EnvOptions say what the worker's environment gets beyond the caller's.
type EnvOptions struct {
	Dir    string   // PWD: opencode takes a relative --dir from it, and tools that are told nothing else
	TmpDir string   // TMPDIR, private to the run; empty: the caller's
	Keep   []string // names that pass although a table drops them (--keep-env)
	// Config is our part of OPENCODE_CONFIG_CONTENT, a JSON object; it is merged over the caller's. Empty: the
	// caller's stands.
	Config []byte
	// Permission is the value of OPENCODE_PERMISSION; empty: none.
	Permission string
	// NoProjectConfig makes opencode ignore the project's own configuration, AGENTS.md included.
	NoProjectConfig bool
	// Search makes opencode offer its tool for searching the web, which it does for its own provider only otherwise.
	Search bool
}

// dropped are the variables that a worker must not get; a name that ends in "*" is a prefix. Kept by omission are those
// by which a user sets up opencode: OPENCODE_CONFIG, OPENCODE_CONFIG_DIR, OPENCODE_API_KEY, OPENCODE_AUTH_CONTENT,
// OPENCODE_MODELS_*, OPENCODE_DB, OPENCODE_DISABLE_*.
var dropped = []string{
	// The conductor's own: its quota, and its notion of being inside Claude Code.
	"CLAUDE*", "ANTHROPIC_*",
	// What an outer opencode tells its children: with these the worker would take itself for a part of it.
	"OPENCODE", "AGENT", "OPENCODE_PID", "OPENCODE_CLIENT", "OPENCODE_SERVER_*",
	// What would widen permissions.
	"OPENCODE_PERMISSION", "OPENCODE_AUTO*",
	// Ours says where the worker is.
	"PWD", "OLDPWD",
}

// Environ is the environment of a worker: base, which is the caller's, without what the table here,
// [sandbox.DropEnv] and [gitconfig.Places] drop, and with our own entries last. base is not changed. An error is a USAGE fault: the caller's OPENCODE_CONFIG_CONTENT cannot be read.
func Environ(base []string, o EnvOptions) ([]string, error) {
	env := make([]string, 0, len(base)+8)
	for _, kv := range base {
		name, _, ok := strings.Cut(kv, "=")
		if !ok || name == "" {
			continue
		}
		if !listed(o.Keep, name) && (listed(dropped, name) || listed(sandbox.DropEnv, name) || listed(gitconfig.Places, name)) {
			continue
		}
		env = append(env, kv)
	}
	add, err := Additions(base, o)
	if err != nil {
		return nil, err
	}
	return overlay(env, add), nil
}

// Additions are the entries that Environ adds or changes, in the order in which it adds them.
func Additions(base []string, o EnvOptions) ([]string, error) {
	var add []string
	set := func(name, value string) { add = append(add, name+"="+value) }
	if o.Dir != "" {
		set("PWD", o.Dir)
	}
	if o.TmpDir != "" {
		set("TMPDIR", o.TmpDir)
		if runtime.GOOS == "windows" {
			set("TEMP", o.TmpDir)
			set("TMP", o.TmpDir)
		}
	}
	// A program that replaces itself while it runs is not the one that was probed.
	set("OPENCODE_DISABLE_AUTOUPDATE", "1")
	if o.NoProjectConfig {
		set("OPENCODE_DISABLE_PROJECT_CONFIG", "1")
	}
	if o.Search {
		set("OPENCODE_ENABLE_EXA", "1")
	}
	if len(o.Config) > 0 {
		merged, err := permission.Merge([]byte(lookup(base, "OPENCODE_CONFIG_CONTENT")), o.Config)
		if err != nil {
			return nil, err
		}
		set("OPENCODE_CONFIG_CONTENT", string(merged))
	}
	if o.Permission != "" {
		set("OPENCODE_PERMISSION", o.Permission)
	}
	return append(add, loopbackPastProxy(base)...), nil
}

// loopbackPastProxy adds the loopback addresses to NO_PROXY where a proxy is set: opencode talks to a server of its own
// on loopback, and a proxy that takes those calls breaks every run.
func loopbackPastProxy(base []string) []string {
	proxy := false
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		proxy = proxy || lookup(base, name) != ""
	}
	if !proxy {
		return nil
	}
	// Programs disagree on the case; where both are set each keeps its own list.
	upper, lower := lookup(base, "NO_PROXY"), lookup(base, "no_proxy")
	if upper == "" {
		upper = lower
	}
	if lower == "" {
		lower = upper
	}
	return []string{"NO_PROXY=" + withLoopback(upper), "no_proxy=" + withLoopback(lower)}
}

func withLoopback(list string) string {
	var hosts []string
	for h := range strings.SplitSeq(list, ",") {
		if h = strings.TrimSpace(h); h != "" {
			hosts = append(hosts, h)
		}
	}
	if slices.Contains(hosts, "*") {
		return list
	}
	for _, h := range []string{"localhost", "127.0.0.1", "::1"} {
		if !slices.Contains(hosts, h) {
			hosts = append(hosts, h)
		}
	}
	return strings.Join(hosts, ",")
}

// listed reports whether a name is in a table. Windows does not tell case apart in names.
func listed(table []string, name string) bool {
	fold := func(s string) string { return s }
	if runtime.GOOS == "windows" {
		fold = strings.ToUpper
	}
	name = fold(name)
	return slices.ContainsFunc(table, func(t string) bool {
		if prefix, ok := strings.CutSuffix(t, "*"); ok {
			return prefix != "" && strings.HasPrefix(name, fold(prefix))
		}
		return name == fold(t)
	})
}

func lookup(env []string, name string) string {
	value := ""
	for _, kv := range env {
		if k, v, ok := strings.Cut(kv, "="); ok && k == name {
			value = v // the last one counts, as for exec
		}
	}
	return value
}

// overlay appends entries to env and removes what they replace.
func overlay(env, add []string) []string {
	kept := slices.DeleteFunc(env, func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.ContainsFunc(add, func(a string) bool { return strings.HasPrefix(a, name+"=") })
	})
	return append(kept, add...)
}
