package delegate

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"opencode-delegate/internal/plain"
	"opencode-delegate/internal/record"
	"opencode-delegate/internal/verify"
	"opencode-delegate/internal/worktree"
)

// A site is where a check runs.
type site struct {
	try       *try
	dir, root string
	copy      *worktree.Copy // nil: the caller's own tree
	name      string         // of the executions
	warms     bool           // it is the base: later checks may use the build caches that are filled here
}

// cachesName is what the directory of build caches is called beside that of the TMPDIR.
const cachesName = "-caches"

// run runs commands one after the other, each in a sandbox and with build caches that no worker's code has written to.
func (s site) run(ctx context.Context, commands []string) ([]Check, error) {
	t := s.try
	r := t.run
	logs, err := r.job.Record.MakeDir(record.Checks)
	if err != nil {
		return nil, err
	}
	var list []Check
	for i, cmd := range commands {
		name := s.name
		if len(commands) > 1 {
			name = fmt.Sprintf("%s-%d", s.name, i+1)
		}
		r.tell(t, "", func(p *Progress) { p.checks(cmd) })
		c, err := s.execute(ctx, cmd, name, filepath.Join(logs, name+".log"))
		list = append(list, c)
		if err != nil {
			return list, err
		}
	}
	return list, nil
}

func (s site) execute(ctx context.Context, cmd, name, log string) (Check, error) {
	r := s.try.run
	req := r.plan.Request
	tmp := filepath.Join(r.tmp, name)
	for _, dir := range []string{tmp, tmp + cachesName} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return Check{}, err
		}
		if dir == tmp || !s.warms {
			defer worktree.RemovePlace(dir)
		}
	}
	if s.warms {
		defer func() { r.warm = append(r.warm, tmp+cachesName) }()
	}
	env, wrap, err := s.cage(tmp)
	if err != nil {
		return Check{}, err
	}
	out, err := verify.Run(ctx, verify.Command{
		Shell: cmd, Dir: s.dir, Env: env, Wrap: wrap, Marker: s.try.marker(), Grace: time.Duration(req.Grace), Timeout: time.Duration(req.VerifyTimeout),
		Log: log, Redact: r.plan.host.Secrets, Excerpt: excerptLimit,
	})
	c := Check{Cmd: cmd, Verdict: string(out.Verdict), Exit: out.Exit, Duration: Seconds(out.Duration), Log: log, Reason: out.Reason}
	if out.Verdict != verify.Pass {
		c.Excerpt = out.Excerpt
	}
	if n := len(out.Survivors); n > 0 {
		s.try.note("%d process(es) outlived the check and were ended: %s", n, plain.Line(out.Survivors[0], 120))
	}
	return c, err
}

// excerptLimit is how many characters of a check's output the worker and the conductor are shown.
const excerptLimit = 4000

// site makes the place of a check: of an isolated run a fresh tree, which drop removes.
func (t *try) site(ctx context.Context, name string) (at site, drop func(), err error) {
	at = site{try: t, dir: t.place.dir, root: t.place.root, name: name}
	if t.place.copy == nil {
		return at, func() {}, nil
	}
	c, err := t.place.copy.With(ctx, t.place.after, filepath.Join(t.place.home, name))
	if err != nil {
		return at, nil, err
	}
	at.dir, at.root, at.copy = c.Dir(t.run.plan.Request.Dir), c.Tree(), c
	return at, func() { _ = worktree.RemovePlace(filepath.Join(t.place.home, name)) }, nil
}
