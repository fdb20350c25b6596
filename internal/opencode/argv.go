package opencode

import (
	"path/filepath"
	"strings"

	"opencode-delegate/internal/fault"
)

// Argv is the command of an attempt, before any sandbox. The prompt is not in it: opencode alters arguments, `ps` shows
// them, and the kernel ends one at 128 KiB. The notes say which flags this version does not have and what that means.
//
// It is a USAGE fault to ask for what the version cannot do when leaving it out would change the meaning: a variant, or
// a fork, without which the original session would be written to.
func (a Attempt) Argv() (argv, notes []string, err error) {
	can := a.Binary.Abilities
	argv = []string{a.Binary.Path, "run", "--format", "json"}
	lacks := func(flag, consequence string) {
		notes = append(notes, "opencode "+a.Binary.Version+" has no "+flag+": "+consequence)
	}
	if err := a.check(); err != nil {
		return nil, nil, err
	}
	if can.PrintLogs && can.LogLevel {
		argv = append(argv, "--print-logs", "--log-level", "INFO")
	} else {
		lacks("--print-logs", "a usage limit is seen only when opencode gives up")
	}
	if can.Title {
		argv = append(argv, "--title", a.Title)
	} else {
		lacks("--title", "it makes one more model call for a title")
	}
	if a.Model != "" {
		argv = append(argv, "-m", a.Model)
	}
	if a.Variant != "" {
		if !can.Variant {
			return nil, nil, fault.New(fault.Usage, "opencode %s has no --variant: %q cannot be chosen", a.Binary.Version, a.Variant)
		}
		argv = append(argv, "--variant", a.Variant)
	}
	if a.Agent != "" {
		argv = append(argv, "--agent", a.Agent)
	}
	if a.Session != "" {
		argv = append(argv, "-s", a.Session)
	}
	if a.Fork {
		if !can.Fork {
			return nil, nil, fault.New(fault.Usage, "opencode %s has no --fork: session %s would be changed itself", a.Binary.Version, a.Session)
		}
		argv = append(argv, "--fork")
	}
	if can.Dir {
		// Older versions take their working directory, which is the same one.
		argv = append(argv, "--dir", a.Dir)
	}
	if a.Limits.Idle > 0 && can.Thinking {
		// Reasoning is progress, and without this flag it is not reported.
		argv = append(argv, "--thinking")
	}
	if a.Auto {
		if can.Auto {
			argv = append(argv, "--auto")
		} else {
			lacks("--auto", "what its rules would ask is rejected")
		}
	}
	for _, f := range a.Files {
		// One flag for each: the list of a single -f would swallow what follows it.
		argv = append(argv, "-f", f)
	}
	return argv, notes, nil
}

// check refuses values that would be read as flags, or that a run cannot be without.
func (a Attempt) check() error {
	for _, v := range []struct{ name, value string }{
		{"model", a.Model}, {"variant", a.Variant}, {"agent", a.Agent}, {"session", a.Session}, {"title", a.Title},
	} {
		if strings.HasPrefix(v.value, "-") {
			return fault.New(fault.Usage, "%s %q begins with a dash", v.name, v.value)
		}
		if strings.ContainsAny(v.value, "\x00\n\r") {
			return fault.New(fault.Usage, "%s %q holds a control character", v.name, v.value)
		}
	}
	for _, f := range a.Files {
		if !filepath.IsAbs(f) {
			return fault.New(fault.Usage, "file %q is not an absolute path", f)
		}
	}
	switch {
	case !filepath.IsAbs(a.Dir):
		return fault.New(fault.Usage, "directory %q is not an absolute path", a.Dir)
	case a.Title == "":
		return fault.New(fault.Usage, "an attempt without a title: opencode would pay a model for one")
	case a.Fork && a.Session == "":
		return fault.New(fault.Usage, "a fork needs the session that is forked")
	}
	return nil
}
