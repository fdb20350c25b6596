package policy

import (
	"os"
	"path/filepath"
	"testing"

	"opencode-delegate/internal/delegate"
	"opencode-delegate/internal/fault"
)

// A ground is a project with its surroundings: links out of it, a secret, a git directory.
type ground struct{ root, project, outside string }

func newGround(t testing.TB) ground {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	g := ground{root, filepath.Join(root, "project"), filepath.Join(root, "outside")}
	for _, dir := range []string{"project/src/deep", "project/.git/hooks", "project/.GIT", "project/.claude/worktrees/w1", "project/my docs", "project-2", "outside"} {
		must(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
	for _, file := range []string{"project/README.md", "project/src/a.go", "project/my docs/brief one.md", "project/.env", "project/.env.example", "project/brief.md", "outside/secret.txt", "outside/a.go", "project-2/x"} {
		must(t, os.WriteFile(filepath.Join(root, file), []byte("text\n"), 0o644))
	}
	for link, to := range map[string]string{"out": "../outside", "src/up": "../../outside", "dangling": "../outside/new.txt", "self": ".", "secretlink": "../outside/secret.txt", "envlink": ".env", "gitlink": ".git"} {
		must(t, os.Symlink(to, filepath.Join(g.project, link)))
	}
	must(t, os.Symlink("../project/src/deep", filepath.Join(g.outside, "in")))
	return g
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

const me, other = "caller-1", "caller-2"

// call is one of the subagent in the project.
func (g ground) call(command string) Call {
	return Call{Tool: "Bash", Command: command, Cwd: g.project, Project: g.project, AgentType: Subagent, PermissionMode: "default", Caller: me}
}

// conductor is one of the conductor itself.
func (g ground) conductor(command string) Call {
	c := g.call(command)
	c.AgentType = ""
	return c
}

func (g ground) request(change func(*delegate.Request)) delegate.Request {
	r := delegate.Request{Schema: 1, Dir: g.project, Profile: "read-only", Caller: me}
	if change != nil {
		change(&r)
	}
	return r
}

// jobs are those that the commands of the corpora name.
func (g ground) jobs(word string) (Job, error) {
	found := map[string]Job{
		"":         {me, g.request(nil)},
		"mine":     {me, g.request(nil)},
		"mine2":    {me, g.request(nil)},
		"writer":   {me, g.request(func(r *delegate.Request) { r.Profile = "standard" })},
		"theirs":   {other, g.request(nil)},
		"nobodys":  {"", g.request(nil)},
		"loose":    {me, g.request(func(r *delegate.Request) { r.NoSandbox = true })},
		"trusting": {me, g.request(func(r *delegate.Request) { r.TrustProject = true })},
		"peeking":  {me, g.request(func(r *delegate.Request) { r.AllowRead = []string{g.outside} })},
		"wide":     {me, g.request(func(r *delegate.Request) { r.Profile = "full-trusted" })},
		"else":     {me, g.request(func(r *delegate.Request) { r.Dir = g.outside })},
		"program":  {me, g.request(func(r *delegate.Request) { r.Opencode = g.outside + "/opencode" })},
		"hooks":    {me, g.request(func(r *delegate.Request) { r.AllowGitConfig = true })},
		"agent":    {me, g.request(func(r *delegate.Request) { r.Agent = "build" })},
		"env":      {me, g.request(func(r *delegate.Request) { r.KeepEnv = []string{"AWS_PROFILE"} })},
		"spread":   {me, g.request(func(r *delegate.Request) { r.Profile, r.AllowWrite = "standard", []string{g.outside} })},
		"asker":    {me, g.request(func(r *delegate.Request) { r.Dir, r.Profile = g.outside, "research" })},
		"nosy":     {me, g.request(func(r *delegate.Request) { r.Dir, r.Profile, r.AllowRead = g.outside, "research", []string{g.outside} })},
		"checked":  {me, g.request(func(r *delegate.Request) { r.Verify = []string{"make test"} })},
		"leak":     {me, g.request(func(r *delegate.Request) { r.Files = []string{g.outside + "/secret.txt"} })},
	}
	j, ok := found[word]
	if !ok {
		return Job{}, fault.New(fault.NotFound, "no job is called %q", word)
	}
	return j, nil
}
