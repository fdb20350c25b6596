package sandbox

import (
	"fmt"
	"os"
	"path/filepath"

	"opencode-delegate/internal/fault"
)

// OpencodeDirs are the directories that opencode keeps for itself, as `opencode debug paths` lists them.
type OpencodeDirs struct {
	Data   string // sessions, credentials, snapshots, logs
	Cache  string
	State  string // locks
	Config string // configuration and plugins: never writable in a run
}

// Dirs works out opencode's directories from an environment ("NAME=value") as opencode does: an XDG variable that is set
// and not empty, else the default below HOME. opencode takes a relative value from the directory in which it is started, so one is a USAGE
// fault here: it would put its state into the project.
func Dirs(environ []string) (OpencodeDirs, error) {
	env := lookup(environ)
	home := env("HOME")
	var d OpencodeDirs
	for _, place := range []struct {
		into     *string
		name     string
		fallback string
	}{
		{&d.Data, "XDG_DATA_HOME", ".local/share"}, {&d.Cache, "XDG_CACHE_HOME", ".cache"},
		{&d.State, "XDG_STATE_HOME", ".local/state"}, {&d.Config, "XDG_CONFIG_HOME", ".config"},
	} {
		base := env(place.name)
		if base == "" {
			if !filepath.IsAbs(home) {
				return OpencodeDirs{}, fault.New(fault.Usage, "HOME is %q and %s is not set: opencode has no place for its data", home, place.name)
			}
			base = filepath.Join(home, filepath.FromSlash(place.fallback))
		}
		if !filepath.IsAbs(base) {
			return OpencodeDirs{}, fault.New(fault.Usage, "%s is %q, which is no absolute path", place.name, base)
		}
		*place.into = filepath.Join(base, "opencode")
	}
	return d, nil
}

// Ensure makes the directories that are missing, for their owner only: under a policy opencode could not make them itself, and it does not start
// without them.
func (d OpencodeDirs) Ensure() error {
	for _, dir := range []string{d.Data, d.Cache, d.State, d.Config} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("opencode's directory: %w", err)
		}
	}
	return nil
}

// lookup reads an environment; of a variable that stands twice the last value counts, as in os/exec.
func lookup(environ []string) func(name string) string {
	m := make(map[string]string, len(environ))
	for _, e := range environ {
		for i := 1; i < len(e); i++ {
			if e[i] == '=' {
				m[e[:i]] = e[i+1:]
				break
			}
		}
	}
	return func(name string) string { return m[name] }
}
