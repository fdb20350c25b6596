package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"opencode-delegate/internal/realopencode"
	"opencode-delegate/internal/testmodel"
)

// A place is a scratch directory with a HOME, a repository and an opencode that answers at once.
type place struct {
	tool, root, home, repository, fake string
}

func newPlace(tool string) (*place, error) {
	root, err := os.MkdirTemp("", "bench")
	if err != nil {
		return nil, err
	}
	p := &place{tool: tool, root: root, home: filepath.Join(root, "home"), repository: filepath.Join(root, "repository"), fake: filepath.Join(root, "opencode")}
	if err := p.furnish(); err != nil {
		return nil, errors.Join(err, p.remove())
	}
	return p, nil
}

func (p *place) furnish() error {
	for _, d := range []string{p.home, p.repository} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(p.repository, "README.md"), []byte("# A project\n"), 0o644); err != nil {
		return err
	}
	if out, err := exec.Command("git", "init", "-q", p.repository).CombinedOutput(); err != nil {
		return fmt.Errorf("git init: %w: %s", err, out)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	text, err := os.ReadFile(self)
	if err != nil {
		return err
	}
	return os.WriteFile(p.fake, text, 0o755)
}

func (p *place) remove() error { return os.RemoveAll(p.root) }

func (p *place) env(opencode string, add ...string) []string {
	return realopencode.Environ(p.home, append([]string{
		"PWD=" + p.repository, "OC_DELEGATE_OPENCODE=" + opencode, "OC_DELEGATE_STATE=" + filepath.Join(p.root, "state"),
	}, add...)...)
}

const task = "What is this project? [[mock:text]]"

// pair is the same task, directly and delegated.
func (p *place) pair(ctx context.Context, opencode string, env []string) (direct, delegated func() (sample, error)) {
	return func() (sample, error) {
			return measure(ctx, "", task, env, p.repository, opencode, "run", "--format", "json", "--title", "T", "-m", "mock/worker", "--dir", p.repository)
		}, func() (sample, error) {
			return measure(ctx, p.tool, task, env, p.repository, p.tool, "-m", "mock/worker", "--dir", p.repository, "-")
		}
}

func (p *place) fakePairs(ctx context.Context, out io.Writer, n int) error {
	direct, delegated := p.pair(ctx, p.fake, p.env(p.fake))
	as, bs, err := alternate(n, direct, delegated)
	if err != nil {
		return err
	}
	comparison{"An opencode that answers at once", "`opencode run`", "`oc-delegate`", as, bs}.print(out)
	return nil
}

func (p *place) realPairs(ctx context.Context, out io.Writer, binary string, n int) error {
	model, err := testmodel.Start(testmodel.Options{})
	if err != nil {
		return err
	}
	defer model.Close()
	config := filepath.Join(p.root, "opencode.json")
	if err := os.WriteFile(config, model.Config(), 0o600); err != nil {
		return err
	}
	direct, delegated := p.pair(ctx, binary, p.env(binary, "OPENCODE_CONFIG="+config))
	as, bs, err := alternate(n, direct, delegated)
	if err != nil {
		return err
	}
	comparison{"The real opencode and the scripted model", "`opencode run`", "`oc-delegate`", as, bs}.print(out)
	return nil
}

// memory shows whether the tool grows with what the worker prints.
func (p *place) memory(ctx context.Context, out io.Writer) error {
	fmt.Fprintf(out, "\n### Memory beside the size of the answer\n\n| answer, one line | tool and guardian | wall |\n|---|---|---|\n")
	for _, mb := range []string{"1", "10", "50"} {
		var samples []sample
		for range 3 {
			s, err := measure(ctx, p.tool, task, p.env(p.fake, "OC_FAKE=bigline:"+mb), p.repository,
				p.tool, "-m", "mock/worker", "--dir", p.repository, "--digest", "-")
			if err != nil {
				return err
			}
			samples = append(samples, s)
		}
		fmt.Fprintf(out, "| %s MiB | %s | %s |\n", mb, megabytes(median(each(samples, memory))), millis(median(each(samples, wall))))
	}
	return nil
}

// startUp compares the tool with the smallest program there is.
func startUp(ctx context.Context, out io.Writer, tool string, n int) error {
	smallest, err := exec.LookPath("true")
	if err != nil {
		return fmt.Errorf("nothing to compare start-up with: %w", err)
	}
	as, bs, err := alternate(n,
		func() (sample, error) { return measure(ctx, "", "", os.Environ(), "", smallest) },
		func() (sample, error) { return measure(ctx, "", "", os.Environ(), "", tool, "--version") })
	if err != nil {
		return err
	}
	comparison{"Start-up", "`true`", "`" + filepath.Base(tool) + " --version`", as, bs}.print(out)
	return nil
}

// decoder runs the benchmarks of the event stream.
func decoder(ctx context.Context, out io.Writer, root string) error {
	cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", ".", "-benchmem", "-benchtime", "3x", "./internal/event")
	cmd.Dir = root
	text, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("go test -bench ./internal/event: %w: %s", err, text)
	}
	fmt.Fprintf(out, "\n### Decoder\n\n```\n%s```\n", text)
	return nil
}

func machine() string {
	kernel := runtime.GOOS
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		kernel += " " + string(text[:len(text)-1])
	}
	return fmt.Sprintf("%s/%s, %d CPUs, %s, %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), kernel, runtime.Version())
}
