package realopencode

import (
	"os"
	"path/filepath"
)

// Environ is a whole environment for one run of the real opencode that touches nothing of the user's: HOME and the
// XDG directories are below home, the caller's keys and opencode settings are absent, and nothing is fetched from the
// network. Entries of add come last and therefore win.
func Environ(home string, add ...string) []string {
	env := []string{
		"HOME=" + home,
		"XDG_CONFIG_HOME=" + filepath.Join(home, ".config"),
		"XDG_DATA_HOME=" + filepath.Join(home, ".local", "share"),
		"XDG_STATE_HOME=" + filepath.Join(home, ".local", "state"),
		"XDG_CACHE_HOME=" + filepath.Join(home, ".cache"),
		"OPENCODE_DISABLE_AUTOUPDATE=1",
		"OPENCODE_DISABLE_MODELS_FETCH=1",
		"OPENCODE_DISABLE_LSP_DOWNLOAD=1",
		"OPENCODE_DISABLE_DEFAULT_PLUGINS=1",
		"GIT_CONFIG_NOSYSTEM=1",
	}
	for _, name := range []string{"PATH", "TMPDIR", "LANG", "SystemRoot", "TEMP", "PATHEXT"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return append(env, add...)
}
