package delegate

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/opencode"
	"opencode-delegate/internal/permission"
	"opencode-delegate/internal/proc"
	"opencode-delegate/internal/record"
	"opencode-delegate/internal/sandbox"
	"opencode-delegate/internal/verify"
)

// A Plan is a request that has passed every check which needs no record: what is left is to run it.
type Plan struct {
	Request Request
	host    Host
	cage    cage
	binary  opencode.Binary
	schema  *verify.Schema // nil: the answer may be anything
}

// Now is the plan's clock.
func (p *Plan) Now() time.Time { return p.host.Now() }

// Prepare makes every check after which a call can still be refused: USAGE, NOT_FOUND, OPENCODE_MISSING and, of a model that is known
// to be exhausted, QUOTA_EXHAUSTED come from here, and nothing has been delegated then. A warm call starts no process here; a binary
// that is seen for the first time, an agent, a session that our records do not know and a cost cap ask opencode once each.
func Prepare(ctx context.Context, req Request, host Host) (*Plan, error) {
	p, path, err := plan(req, host)
	if err != nil {
		return nil, err
	}
	if err := req.affordable(host); err != nil {
		return nil, err
	}
	if p.binary, err = opencode.Probe(ctx, path, host.CacheDir, p.query); err != nil {
		return nil, err
	}
	if err := p.checkAgent(ctx); err != nil {
		return nil, err
	}
	if err := p.checkSession(ctx); err != nil {
		return nil, err
	}
	return p, p.checkPrice(ctx)
}

// CheckRequest makes the checks of Prepare that start no process.
func CheckRequest(req Request, host Host) error {
	if req.Session != "" {
		if err := CheckSession(req.Session); err != nil {
			return err
		}
	}
	if _, _, err := plan(req, host); err != nil {
		return err
	}
	return req.affordable(host)
}

// plan is a plan whose program has been found and not been asked anything.
func plan(req Request, host Host) (p *Plan, path string, err error) {
	c, err := newCage(req, host)
	if err != nil {
		return nil, "", err
	}
	if err := c.check(); err != nil {
		return nil, "", err
	}
	path, err = opencode.Find(opencode.FindOptions{
		Explicit: req.Opencode, Source: req.OpencodeSource, Dir: host.Cwd, Getenv: host.getenv, Self: host.Self,
	})
	if err != nil {
		return nil, "", err
	}
	if err := c.dirs.Ensure(); err != nil {
		return nil, "", fault.New(fault.Usage, "%w", err)
	}
	if err := c.closable(); err != nil {
		return nil, "", err
	}
	p = &Plan{Request: req, host: host, cage: c}
	return p, path, p.checkChecks()
}

// checkChecks refuses what could not prove anything, before it has cost anything.
func (p *Plan) checkChecks() (err error) {
	c := p.Request.Checks
	if c.ExpectSchema != "" {
		data, err := record.Read(c.ExpectSchema, verify.SchemaLimit)
		if err != nil {
			return fault.New(fault.Usage, "--expect-schema: %w", err)
		}
		if p.schema, err = verify.ParseSchema(c.ExpectSchema, data); err != nil {
			return err
		}
	}
	for flag, globs := range map[string][]string{"--protect": c.Protect, "--allow-path": c.AllowPath, "--forbid-path": c.ForbidPath} {
		if _, err := verify.ParseGlobs(flag, globs); err != nil {
			return err
		}
	}
	for _, cmd := range c.Verify {
		if err := verify.CheckCommand(cmd); err != nil {
			return err
		}
	}
	return nil
}

func (p *Plan) checkAgent(ctx context.Context) error {
	if p.Request.Agent == "" {
		return nil
	}
	return opencode.CheckAgent(ctx, p.query, p.binary, p.Request.Dir, p.Request.Agent)
}

func (p *Plan) checkSession(ctx context.Context) error {
	if p.Request.Session == "" || p.host.SessionKnown || p.Request.Onward != "" {
		return nil
	}
	if err := CheckSession(p.Request.Session); err != nil {
		return err
	}
	dir, err := opencode.SessionDir(ctx, p.query, p.binary, p.Request.Session)
	if err != nil {
		return err
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	if dir != p.Request.Dir {
		return fault.New(fault.NotFound, "session %s belongs to %s, not to %s", p.Request.Session, dir, p.Request.Dir).
			With("--dir " + dir + " goes on in it")
	}
	return nil
}

// checkPrice refuses a cost cap that could never act: opencode reports a cost of 0 for a model without a price.
func (p *Plan) checkPrice(ctx context.Context) error {
	if p.Request.MaxCost == 0 || p.Request.MaxTokens > 0 {
		return nil
	}
	for _, rung := range p.Request.rungs() {
		price, _, err := opencode.ModelPrice(ctx, p.query, p.binary, p.Request.Dir, rung.Model, p.host.CacheDir, p.Now())
		if err != nil {
			return err
		}
		if !price.Known() {
			return fault.New(fault.Usage, "--max-cost cannot hold: opencode knows no price for %s", rung.Model).
				With("cap the tokens instead: --max-tokens N")
		}
	}
	return nil
}

// Asker finds the program of a request and returns how it is asked something: in the cage of a run that may only read, in an empty
// directory unless the question is about a project, bounded in time and output. The request is checked as by [CheckRequest].
func Asker(req Request, host Host) (path string, ask opencode.Runner, err error) {
	p, path, err := plan(req, host)
	if err != nil {
		return "", nil, err
	}
	return path, p.query, nil
}

// queryTime bounds one question to opencode. A cold start on a busy machine takes most of it.
const queryTime = 60 * time.Second

// query asks opencode something: read-only, in an empty directory unless the question is about the project.
func (p *Plan) query(ctx context.Context, q opencode.Query) (opencode.Reply, error) {
	return p.cage.query(ctx, q)
}

func (c cage) query(ctx context.Context, q opencode.Query) (opencode.Reply, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, queryTime, fmt.Errorf("no answer within %s", queryTime))
	defer cancel()
	tmp, err := os.MkdirTemp("", "oc-delegate-query-*")
	if err != nil {
		return opencode.Reply{}, fault.New(fault.Usage, "no temporary directory: %w", err).With("set TMPDIR to a directory that you can write")
	}
	defer os.RemoveAll(tmp)
	own, empty := filepath.Join(tmp, "tmp"), filepath.Join(tmp, "empty")
	for _, d := range []string{own, empty} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return opencode.Reply{}, err
		}
	}
	opts := c.options(own)
	project := q.Dir
	if q.Dir == "" {
		q.Dir = empty
	}
	opts.Dir = q.Dir
	env, err := opencode.Environ(c.host.Environ, opts)
	if err != nil {
		return opencode.Reply{}, err
	}
	argv := slices.Clone(q.Argv)
	if i := slices.Index(argv, opencode.FileArg); i >= 0 {
		argv[i] = filepath.Join(own, "file")
		if err := os.WriteFile(argv[i], q.File, 0o600); err != nil {
			return opencode.Reply{}, err
		}
	}
	if c.sandbox() == sandboxOn {
		policy, err := c.policy(project, own, false)
		if err != nil {
			return opencode.Reply{}, err
		}
		wrapped, add, err := policy.Command(c.host.Own(), argv)
		if err != nil {
			return opencode.Reply{}, err
		}
		argv, env = wrapped, append(append(env, add...), sandbox.AddEnv(env, false)...)
	}
	child, err := proc.Start(ctx, proc.Command{
		Argv: argv, Dir: q.Dir, Env: env, Marker: "query-" + filepath.Base(tmp), Grace: time.Second,
	})
	if err != nil {
		return opencode.Reply{}, err
	}
	return collect(ctx, child, cmp.Or(q.Limit, answerLimit))
}

// collect reads both outputs of a question to their bounded ends.
func collect(ctx context.Context, child *proc.Process, limit int64) (opencode.Reply, error) {
	var r opencode.Reply
	errs := make(chan []byte, 1)
	go func() { errs <- bounded(child.Stderr, limit) }()
	r.Stdout = bounded(child.Stdout, limit)
	r.Stderr = <-errs
	exit := child.Wait()
	r.Code = exit.Code
	if cause := context.Cause(ctx); cause != nil {
		return r, cause
	}
	return r, nil
}

// A Command is what would be run, for --print-command.
type Command struct {
	Argv    []string
	Set     []string // entries that are added to the environment
	Unset   []string // names that are taken out of it
	Sandbox string
}

// Dry builds the command of a request and starts nothing; opencode need not be there.
func Dry(req Request, host Host) (Command, error) {
	c, err := newCage(req, host)
	if err != nil {
		return Command{}, err
	}
	if err := c.check(); err != nil {
		return Command{}, err
	}
	path, err := opencode.Find(opencode.FindOptions{
		Explicit: req.Opencode, Source: req.OpencodeSource, Dir: host.Cwd, Getenv: host.getenv, Self: host.Self,
	})
	if err != nil {
		path = "opencode"
	}
	p := &Plan{Request: req, host: host, cage: c, binary: opencode.Binary{Path: path, Version: "", Abilities: opencode.AllAbilities()}}
	// The kernel's policy needs directories that only a run makes.
	g, err := c.grip(permission.AgentName("<id>"), "", c.profile.Writes(), nil)
	if err != nil {
		return Command{}, err
	}
	argv, _, err := p.attempt(g, "<id>", "<id>", req.Dir, req.rungs()[0]).Argv()
	if err != nil {
		return Command{}, err
	}
	kept := map[string]bool{}
	for _, kv := range g.env {
		name, _, _ := strings.Cut(kv, "=")
		kept[name] = true
	}
	cmd := Command{Argv: argv, Set: g.add, Sandbox: c.sandbox()}
	for _, kv := range host.Environ {
		if name, _, _ := strings.Cut(kv, "="); name != "" && !kept[name] {
			cmd.Unset = append(cmd.Unset, name)
		}
	}
	return cmd, nil
}
