package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// kinds are what a run that writes can cost more than one that reads, each beside the one above it.
var kinds = []struct {
	name string
	args []string
}{
	{"reads", nil},
	{"`--write`: what is there is kept first", []string{"--write"}},
	{"… `--verify true`, no preflight", []string{"--write", "--verify", "true", "--no-preflight"}},
	{"`--write --isolate`: in a copy", []string{"--write", "--isolate"}},
	{"… `--verify true`, no preflight", []string{"--write", "--isolate", "--verify", "true", "--no-preflight"}},
}

// work shows what isolation and checks add, in repositories of several sizes.
func (p *place) work(ctx context.Context, out io.Writer, n int) error {
	fmt.Fprintf(out, "\n### Runs that write, with an opencode that answers at once (%d of each, in turn)\n\n| run | files of 2 KB | wall, median | CPU, median |\n|---|---|---|---|\n", n)
	for _, files := range []int{100, 10000} {
		repository, err := p.filled(ctx, files)
		if err != nil {
			return err
		}
		samples := make([][]sample, len(kinds))
		for range n {
			for i, k := range kinds {
				args := append([]string{p.tool, "-m", "mock/worker", "--dir", repository}, k.args...)
				env := p.env(p.fake)
				if len(k.args) > 0 {
					args, env = append(args, "--allow-no-changes"), append(env, "OC_FAKE=write:out.txt")
				}
				s, err := measure(ctx, "", task, env, repository, append(args, "-")...)
				if err != nil {
					return err
				}
				samples[i] = append(samples[i], s)
			}
		}
		for i, k := range kinds {
			fmt.Fprintf(out, "| %s | %d | %s | %s |\n", k.name, files, millis(median(each(samples[i], wall))), millis(median(each(samples[i], cpu))))
		}
	}
	return nil
}

// filled is a repository with a commit of so many files.
func (p *place) filled(ctx context.Context, files int) (string, error) {
	dir := filepath.Join(p.root, fmt.Sprint("files-", files))
	var errs error
	for i := range files {
		name := filepath.Join(dir, fmt.Sprint("d", i/100), fmt.Sprint("f", i, ".txt"))
		if i%100 == 0 {
			errs = errors.Join(errs, os.MkdirAll(filepath.Dir(name), 0o755))
		}
		errs = errors.Join(errs, os.WriteFile(name, []byte(strings.Repeat(fmt.Sprintln("line", i), 200)), 0o644))
	}
	if errs != nil {
		return "", errs
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-q", "-m", "one"}} {
		cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...)
		if text, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("git %s: %w: %s", args[0], err, text)
		}
	}
	return dir, nil
}
