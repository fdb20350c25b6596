package cli

import (
	"os"
	"path/filepath"

	"opencode-delegate/internal/breakeven"
	"opencode-delegate/internal/call"
	"opencode-delegate/internal/permission"
)

// advice says that a task is too small to be handed over. A task that goes on in a session builds on what was read there, and a verb's own brief is no small one.
func advice(c call.Call, prompt string) string {
	req := c.Request
	if c.Recipe || c.Continue || req.Session != "" {
		return ""
	}
	files := append([]string(nil), req.Files...)
	for _, p := range breakeven.Paths(prompt) {
		if filepath.IsLocal(p) {
			files = append(files, filepath.Join(req.Dir, p))
		}
	}
	profile, err := permission.Parse(req.Profile)
	u := breakeven.Unit{Brief: prompt, Writes: err == nil && profile.Writes()}
	seen := map[string]bool{}
	for _, path := range files {
		if fi, err := os.Lstat(path); err == nil && fi.Mode().IsRegular() && !seen[path] {
			seen[path] = true
			u.Files, u.Bytes = u.Files+1, u.Bytes+fi.Size()
		}
	}
	return u.Advice()
}

// watched reports whether a person reads what this call says, and not an agent, whatever its name: to read and to write costs a person no tokens.
func (a *App) watched(c call.Call) bool {
	f, ok := a.Stderr.(*os.File)
	if !ok || c.Request.Caller != call.Shell {
		return false
	}
	fi, err := f.Stat()
	return err == nil && fi.Mode()&os.ModeCharDevice != 0 // a terminal, or nothing
}
