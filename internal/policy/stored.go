package policy

import (
	"opencode-delegate/internal/delegate"
	"opencode-delegate/internal/permission"
)

// stored are the flags that would ask for what a stored request asks for, as far as a policy can mind any. A program that is the
// user's own configured one was not chosen by the call.
func stored(req delegate.Request, configured string) (list []setting) {
	add := func(name string, values ...string) {
		f, _ := commands[Delegate][0].long(name) // which has them all
		for _, v := range values {
			list = append(list, setting{f, v})
		}
	}
	when := func(name string, set bool) {
		if set {
			add(name, "")
		}
	}
	// A research that comes again works in the program's own directory, which holds no file, whatever the record says of the place; package
	// delegate refuses every other. So neither has to be judged; what else it asks for has.
	if req.Profile != permission.Research.Name() {
		add("dir", req.Dir)
		add("profile", req.Profile)
	}
	add("file", req.Files...)
	add("allow-read", req.AllowRead...)
	add("allow-write", req.AllowWrite...)
	add("keep-env", req.KeepEnv...)
	add("link", req.Link...)
	add("copy", req.Copy...)
	add("verify", req.Verify...)
	add("protect", req.Protect...)
	add("allow-path", req.AllowPath...)
	when("allow-test-changes", req.AllowTestChanges)
	when("trust-deps", req.TrustDeps)
	if req.ExpectSchema != "" {
		add("expect-schema", req.ExpectSchema)
	}
	when("no-sandbox", req.NoSandbox)
	when("trust-project", req.TrustProject)
	when("allow-git-config", req.AllowGitConfig)
	if req.Agent != "" {
		add("agent", req.Agent)
	}
	if req.Opencode != "" && req.Opencode != configured {
		add("opencode", req.Opencode)
	}
	return list
}
