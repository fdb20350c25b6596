package delegate

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/opencode"
	"opencode-delegate/internal/permission"
	"opencode-delegate/internal/repocode"
	"opencode-delegate/internal/sandbox"
	"opencode-delegate/internal/verify"
)

// A cage is what holds a worker: permission rules above, the kernel's policy below.
type cage struct {
	request Request
	host    Host
	profile permission.Profile
	dirs    sandbox.OpencodeDirs
	support sandbox.Support
	git     []string // git directories outside the project
	top     string   // root of the repository, or the project directory

	own   string   // the copy of the repository that the run may write, in our records; empty: none
	keep  []string // what must not be writable even where a default grant would open it
	layer string   // directory for private build caches; empty: the caller's are used
}

// The values of Result.Sandbox.
const (
	sandboxOn          = "landlock"
	sandboxUnavailable = "unavailable"
	sandboxOff         = "off"
)

// newCage looks at the machine and changes nothing.
func newCage(req Request, host Host) (cage, error) {
	profile, err := permission.Parse(req.Profile)
	if err != nil {
		return cage{}, err
	}
	dirs, err := sandbox.Dirs(host.Environ)
	if err != nil {
		return cage{}, err
	}
	c := cage{request: req, host: host, profile: profile, dirs: dirs, support: sandbox.Detect(host.getenv), top: req.Dir}
	if gitDir, common, top, ok := repocode.Dirs(req.Dir); ok {
		c.git = distinct(gitDir, common)
		if top != "" {
			c.top = top
		}
	}
	return c, nil
}

func distinct(paths ...string) []string {
	paths = slices.DeleteFunc(paths, func(p string) bool { return p == "" })
	slices.Sort(paths)
	return slices.Compact(paths)
}

// sandbox is the value of Result.Sandbox.
func (c cage) sandbox() string {
	switch {
	case c.request.NoSandbox:
		return sandboxOff
	case c.support.OK():
		return sandboxOn
	}
	return sandboxUnavailable
}

// opensRepository reports whether the worker can change anything of the repository: it may write, or no kernel keeps it from it.
func (c cage) opensRepository() bool { return c.profile.Writes() || c.sandbox() != sandboxOn }

// ResearchDir is the name of the directory below our records in which every research works.
const ResearchDir = "research"

// checkResearch refuses what would let a worker that has the web tell it something: a directory that may hold files, and anything handed to it.
func (c cage) checkResearch() error {
	req, own := c.request, filepath.Join(c.host.StateRoot, ResearchDir)
	real, err := filepath.EvalSymlinks(own)
	if err != nil {
		real = own // not there yet
	}
	switch {
	case c.profile != permission.Research:
		return nil
	case req.Dir != own && req.Dir != real:
		return fault.New(fault.Usage, "a research works in %s, and not in %s", own, req.Dir)
	case len(req.Files)+len(req.AllowRead)+len(req.AllowWrite)+len(req.KeepEnv) > 0 || req.Agent != "" || req.NoSandbox || req.TrustProject:
		return fault.New(fault.Usage, "a research is given nothing of yours and no more rights: no file, directory, variable or agent")
	}
	return nil
}

// check refuses what no cage can hold.
func (c cage) check() error {
	if err := c.checkResearch(); err != nil {
		return err
	}
	if c.profile.Writes() && !c.request.NoSandbox {
		if err := sandbox.CheckDir(c.request.Dir, c.host.Home, c.host.StateRoot, c.dirs); err != nil {
			return err
		}
	}
	if c.sandbox() != sandboxOn && !c.request.TrustProject {
		if plugins := c.plugins(); len(plugins) > 0 {
			return fault.New(fault.Usage, "the repository brings an opencode plugin, %s, and without the sandbox its code could do anything", plugins[0]).
				With("--trust-project runs it all the same")
		}
	}
	return nil
}

// closable refuses what no policy can grant, before there is a record. opencode's directories have to be there.
func (c cage) closable() error {
	if c.sandbox() != sandboxOn {
		return nil
	}
	// The run's own directory is not there yet; any that a run may write does in its place.
	_, err := c.policy(c.request.Dir, c.dirs.State, c.profile.Writes())
	return err
}

// plugins are the files of the repository that opencode would load as code of its own, whatever its settings say.
func (c cage) plugins() []string {
	var found []string
	for _, dir := range c.upward() {
		for _, name := range []string{"plugin", "plugins"} {
			files, _ := filepath.Glob(filepath.Join(escapeGlob(dir), ".opencode", name, "*"))
			found = append(found, files...)
		}
	}
	return found
}

// escapeGlob keeps the characters of a path from being a pattern.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `[`, `\[`, `*`, `\*`, `?`, `\?`).Replace(path)
}

// upward lists the directories from the project up to the root of its repository.
func (c cage) upward() []string {
	dirs := []string{c.request.Dir}
	for dir := c.request.Dir; dir != c.top && strings.HasPrefix(dir, c.top); {
		dir = filepath.Dir(dir)
		dirs = append(dirs, dir)
	}
	return dirs
}

// instructions are the repository's AGENTS.md files, which opencode reads no more when its project configuration is off.
func (c cage) instructions() []string {
	var files []string
	for _, dir := range c.upward() {
		path := filepath.Join(dir, "AGENTS.md")
		if fi, err := os.Stat(path); err == nil && fi.Mode().IsRegular() {
			files = append(files, path)
		}
	}
	return files
}

// A grip is the cage closed around one attempt.
type grip struct {
	agent string
	auto  bool
	env   []string // the worker's whole environment
	add   []string // what of it is not the caller's
	wrap  func(argv []string) (wrapped, env []string, err error)
}

// close builds the environment and the policy of an attempt. Without writes the attempt is read-only, whatever the
// request grants. agent is a name that nobody else can know; tmp exists and is private to the run.
func (c cage) close(agent, tmp string, writes bool) (grip, error) {
	if c.sandbox() != sandboxOn {
		return c.grip(agent, tmp, writes, nil)
	}
	policy, err := c.policy(c.request.Dir, tmp, writes)
	if err != nil {
		return grip{}, err
	}
	outside := slices.Clone(c.request.AllowRead)
	if writes {
		outside = append(outside, policy.Write...)
	}
	g, err := c.grip(agent, tmp, writes, outside)
	if err != nil {
		return grip{}, err
	}
	more := sandbox.AddEnv(g.env, writes)
	if writes && c.layer != "" {
		layer, err := c.place(c.request.Dir, tmp).LayerEnv(c.host.Self)
		if err != nil {
			return grip{}, err
		}
		more = append(more, layer...)
	}
	g.env, g.add = sandbox.Replace(g.env, more), append(g.add, more...)
	g.wrap = func(argv []string) ([]string, []string, error) { return policy.Command(c.host.Own(), argv) }
	return g, err
}

// grip is close without the kernel's part. outside are the directories beyond the project that the rules let through.
func (c cage) grip(agent, tmp string, writes bool, outside []string) (grip, error) {
	profile := c.profile
	if !writes && profile.Writes() {
		profile = permission.ReadOnly
	}
	g := grip{agent: agent, auto: writes}
	if c.request.Agent != "" {
		g.agent = c.request.Agent
	}
	opts := c.options(tmp)
	opts.Config, opts.Permission = permission.Config(profile, []string{g.agent}, outside...), permission.Env(profile, outside...)
	if files := c.instructions(); opts.NoProjectConfig && len(files) > 0 {
		list, err := json.Marshal(map[string][]string{"instructions": files})
		if err != nil {
			return grip{}, err
		}
		if opts.Config, err = permission.Merge(list, opts.Config); err != nil {
			return grip{}, err
		}
	}
	var err error
	if g.add, err = opencode.Additions(c.host.Environ, opts); err != nil {
		return grip{}, err
	}
	g.env, err = opencode.Environ(c.host.Environ, opts)
	return g, err
}

func (c cage) options(tmp string) opencode.EnvOptions {
	return opencode.EnvOptions{
		Dir: c.request.Dir, TmpDir: tmp, Keep: c.request.KeepEnv,
		NoProjectConfig: c.sandbox() != sandboxOn,
		Search:          c.profile == permission.Research,
	}
}

func (c cage) policy(dir, tmp string, writes bool) (sandbox.Policy, error) {
	run := c.place(dir, tmp)
	if !writes {
		return run.ReadOnly()
	}
	return run.Writing()
}

// place is what a policy is made from.
func (c cage) place(dir, tmp string) sandbox.Run {
	return sandbox.Run{
		Home: c.host.Home, Dir: dir, Opencode: c.dirs, Tmp: tmp, StateRoot: c.host.StateRoot, Environ: c.host.Environ, Git: c.git,
		AllowRead: c.request.AllowRead, AllowWrite: c.request.AllowWrite, Own: c.own, Keep: c.keep, Layer: c.layer,
	}
}

func (h Host) getenv(name string) string {
	for i := len(h.Environ) - 1; i >= 0; i-- {
		if k, v, ok := strings.Cut(h.Environ[i], "="); ok && k == name {
			return v
		}
	}
	return ""
}

// cage is what holds a check: the kernel's policy of a run that may write, without opencode's directories, and an environment through
// which nothing of the worker's is loaded.
func (s site) cage(tmp string) (env []string, wrap func(argv []string) ([]string, []string, error), err error) {
	c := s.try.cage
	env, err = opencode.Environ(c.host.Environ, opencode.EnvOptions{Dir: s.dir, TmpDir: tmp, Keep: c.request.KeepEnv})
	if err != nil {
		return nil, nil, err
	}
	reach := []string{s.root, s.try.place.root} // of the worker
	if c.sandbox() != sandboxOn {
		return verify.CheckEnv(env, reach), nil, nil
	}
	run := c.place(s.dir, tmp)
	run.Layer, run.Warm = tmp+cachesName, s.try.run.warm
	if s.copy != nil {
		run.Own, run.Git = s.root, []string{filepath.Join(s.root, ".git")}
	}
	policy, err := run.Checking()
	if err != nil {
		return nil, nil, err
	}
	layer, err := run.LayerEnv(c.host.Self)
	if err != nil {
		return nil, nil, err
	}
	whole := env
	env = s.installed(whole, verify.CheckEnv(env, append(reach, policy.Write...)))
	env = sandbox.Replace(env, append(append(sandbox.AddEnv(env, true), "TMPDIR="+tmp), layer...))
	return env, func(argv []string) ([]string, []string, error) { return policy.Command(c.host.Own(), argv) }, nil
}

// installed puts back into PATH what lies among the installed dependencies of the caller's own tree: without its virtual environment a project has no
// test runner. Where the worker has changed anything there, no check runs at all.
func (s site) installed(whole, kept []string) []string {
	if s.copy != nil || s.try.run.checks.TrustDeps {
		return kept
	}
	path := func(env []string) []string {
		for _, kv := range env {
			if list, ok := strings.CutPrefix(kv, "PATH="); ok {
				return filepath.SplitList(list)
			}
		}
		return nil
	}
	stays := path(kept)
	list := slices.DeleteFunc(path(whole), func(dir string) bool {
		if slices.Contains(stays, dir) {
			return false
		}
		rel, err := filepath.Rel(s.root, dir)
		return err != nil || !filepath.IsAbs(dir) || !filepath.IsLocal(rel) ||
			!slices.ContainsFunc(strings.Split(rel, string(filepath.Separator)), func(name string) bool { return slices.Contains([]string{".venv", "venv", "node_modules"}, name) })
	})
	return sandbox.Replace(kept, []string{"PATH=" + strings.Join(list, string(filepath.ListSeparator))})
}
