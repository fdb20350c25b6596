package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"opencode-delegate/internal/call"
	"opencode-delegate/internal/cli"
	"opencode-delegate/internal/doctor"
	"opencode-delegate/internal/plain"
	"opencode-delegate/internal/policy"
	"opencode-delegate/plugin"
)

type setupVerb struct{}

// run is doctor for a person in Claude Code, which shows what a command printed only when it ends with 0: the verdict is the first line, and
// what has to be mended comes before what is well.
func (v *setupVerb) run(a *cli.App) int {
	ctx, stop := cli.Interruptible()
	defer stop()
	var found []doctor.Finding
	for _, name := range []string{policy.Delegate, policy.Jobber} {
		found = append(found, onPath(ctx, a, name))
	}
	found = append(found, doctor.Examine(ctx, doctor.Machine{Host: a.Host(nil), Version: cli.Version()}).Findings...)
	presentable(a, found)
	var b strings.Builder
	b.WriteString(verdict(ctx, found))
	for _, level := range []doctor.Level{doctor.Fail, doctor.Warn, doctor.OK} {
		for _, f := range found {
			if f.Level == level {
				fmt.Fprintf(&b, "%s %-13s %s\n", marks(level).sign, f.Name, f.What)
				if f.Remedy != "" {
					fmt.Fprintf(&b, "    %s\n", f.Remedy)
				}
			}
		}
	}
	for _, o := range optionLines(a) {
		fmt.Fprintf(&b, "  option        %s\n", plain.Line(a.Secrets.String(o), 200))
	}
	if hint := agentsHint(a.Cwd); hint != "" {
		b.WriteString("  hint          " + hint + "\n")
	}
	io.WriteString(a.Stdout, plain.NoMentions(clipped(b.String(), shownLimit-1))+"\n")
	return 0
}

func verdict(ctx context.Context, found []doctor.Finding) string {
	if ctx.Err() != nil {
		return "not ready: interrupted before everything was looked at\n"
	}
	n := 0
	for _, f := range found {
		if f.Level == doctor.Fail {
			n++
		}
	}
	if n > 0 {
		return fmt.Sprintf("not ready: %d to mend\n", n)
	}
	return "ready\n"
}

// versionTime bounds the question for a version.
const versionTime = 5 * time.Second

// onPath is what a shell runs under a name of ours. Claude Code puts the plugin's own directory last, so that an older copy of the user's wins.
func onPath(ctx context.Context, a *cli.App, name string) doctor.Finding {
	f := doctor.Finding{Name: name, Level: doctor.Fail}
	path, err := lookPath(a, name)
	if err != nil {
		f.What, f.Remedy = err.Error(), "within Claude Code the plugin brings it: enable the plugin, or add its bin directory to PATH"
		return f
	}
	said := askVersion(ctx, a, path)
	want := name + " " + cli.Version()
	switch {
	case said == want:
		f.Level, f.What = doctor.OK, path
	case said == "":
		f.What, f.Remedy = path+" does not say its version", "start it yourself and see: "+path+" --version"
	default:
		f.Level = doctor.Warn
		f.What = fmt.Sprintf("%s is another one: %s; this is %s", path, said, want)
		f.Remedy = "remove it or bring it up to date: what stands earlier on PATH is what runs"
	}
	return f
}

// lookPath is the first file of a name on PATH. A directory that is not absolute is the repository's, and is not run from.
func lookPath(a *cli.App, name string) (string, error) {
	for _, dir := range filepath.SplitList(a.Getenv("PATH")) {
		path, err := exec.LookPath(filepath.Join(dir, name))
		if err != nil {
			continue
		}
		if !filepath.IsAbs(dir) {
			return "", fmt.Errorf("PATH leads to one in the current directory, by %.80q; take that out of PATH", dir)
		}
		return path, nil
	}
	return "", fmt.Errorf("not on PATH")
}

// askVersion asks a program of ours. It gets nothing of the conversation in which it is asked.
func askVersion(ctx context.Context, a *cli.App, path string) string {
	ctx, cancel := context.WithTimeout(ctx, versionTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Env = slices.DeleteFunc(slices.Clone(a.Environ), func(kv string) bool {
		return strings.HasPrefix(kv, "CLAUDE") || strings.HasPrefix(kv, "ANTHROPIC")
	})
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	return plain.Line(string(out), 120)
}

// rows are what the options of the plugin that a delegation heeds are called by [call.Resolve].
var rows = map[string]string{
	"default_tier": "tier", "tier_flash": "tier flash", "tier_code": "tier code", "tier_pro": "tier pro", "default_model": "model", "timeout": "timeout",
	"digest_limit": "digest-limit", "max_jobs": "max-jobs",
}

// optionLines tell of each option that is set, and of what it comes to.
func optionLines(a *cli.App) (lines []string) {
	c, _ := call.Resolve(call.Flags{}, call.Environment{Getenv: a.Getenv, Home: a.Home, Cwd: a.Cwd})
	_, most, _ := call.MaxJobs(call.Once{}, a.Getenv)
	c.Rows = append(c.Rows, most)
	for _, o := range plugin.Options {
		value := a.Getenv(plugin.Variable(o))
		if value == "" {
			continue
		}
		line := o + " = " + plain.Line(value, 80)
		i := slices.IndexFunc(c.Rows, func(r call.Row) bool { return r.Name == rows[o] })
		switch {
		case rows[o] == "":
		case i < 0:
			line += "; not in force"
		case c.Rows[i].Source != "environment "+plugin.Variable(o):
			line += fmt.Sprintf("; %s wins: %s", c.Rows[i].Source, plain.Line(c.Rows[i].Value, 80))
		case o == "default_tier":
			line += ": " + c.Request.Model
		}
		lines = append(lines, line)
	}
	return lines
}

// agentsHint is about the file that tells every agent how to work in a repository.
func agentsHint(dir string) string {
	for at := dir; filepath.IsAbs(at); at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "AGENTS.md")); err == nil {
			return ""
		}
		if _, err := os.Stat(filepath.Join(at, ".git")); err == nil || filepath.Dir(at) == at {
			break
		}
	}
	return "no AGENTS.md here; what stands in one, the worker and Claude both heed: how to build, to test, and what to leave alone"
}
