package planted

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
)

// findSettings reads the files by which opencode's next start can be made to load something.
func (s *State) findSettings() {
	s.setting(filepath.Join(s.dirs.Data, "auth.json"), auth)
	lists, err := filepath.Glob(filepath.Join(escape(s.dirs.Cache), "models*.json"))
	if err != nil {
		s.problem(s.dirs.Cache, err)
	}
	for _, path := range lists[:min(len(lists), 16)] {
		s.setting(path, models)
	}
}

func (s *State) setting(path string, k kind) {
	if it := readItem(path, k); !it.absent() {
		s.files[path] = it
	}
}

// escape keeps a directory's own characters from being a pattern.
func escape(dir string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(dir)
}

func (c *check) settings() {
	for _, path := range sortedKeys(c.after.files) {
		was, is := c.before.files[path], c.after.files[path]
		if is.kind != auth && is.kind != models || was.equal(is) {
			continue
		}
		shown := c.after.shown(path)
		switch {
		case is.bad != nil || !is.mode.IsRegular():
			c.replace(path, was, fmt.Sprintf("%s was replaced by something that cannot be read", shown))
		case is.kind == auth:
			c.servers(path, shown, was, is)
		case redirects(was, is):
			c.replace(path, was, fmt.Sprintf("%s names other packages or addresses for known providers, or packages on this disk", shown))
		}
	}
}

// servers takes entries out of auth.json whose server would say what opencode starts. The copy holds only those, no token of the user's.
func (c *check) servers(path, shown string, was, is item) {
	old, now := map[string]any{}, map[string]any{}
	if json.Unmarshal(is.text, &now) != nil {
		c.replace(path, was, fmt.Sprintf("%s is no JSON object any more", shown))
		return
	}
	if json.Unmarshal(was.text, &old) != nil {
		old = nil
	}
	taken := map[string]any{}
	for name, entry := range now {
		e, _ := entry.(map[string]any)
		if e["type"] != "wellknown" || reflect.DeepEqual(entry, old[name]) {
			continue
		}
		taken[name] = entry
		delete(now, name)
		if before, ok := old[name]; ok {
			now[name] = before
		}
	}
	if len(taken) == 0 {
		return
	}
	var copied []byte
	var kept string
	err := c.steady(path)
	if err == nil {
		copied, err = json.MarshalIndent(taken, "", "  ")
	}
	if err == nil {
		kept, err = c.keeper.save(path, copied)
	}
	if err == nil {
		var text []byte
		if text, err = json.MarshalIndent(now, "", "  "); err == nil {
			err = write(path, text, is.mode.Perm())
		}
	}
	c.report(Violation{What: fmt.Sprintf("%s got %d entries that let a server configure opencode", shown, len(taken)), Kept: kept}, err)
}

// redirects reports whether a list of models sends the user of a provider that was known to another package or address, or any user to
// a package on the disk, which opencode would load as it stands. A list that cannot be read here counts: opencode may read it.
func redirects(was, is item) bool {
	var old, now any
	if json.Unmarshal(is.text, &now) != nil {
		return true
	}
	if json.Unmarshal(was.text, &old) != nil {
		old = nil
	}
	before, after := map[string]string{}, map[string]string{}
	origins("", old, before)
	origins("", now, after)
	for at, value := range after {
		old, known := before[at]
		if known && old != value {
			return true
		}
		if !known && strings.HasSuffix(at, "\x00npm") && onDisk(value) {
			return true
		}
	}
	return false
}

// onDisk reports whether a package is named by an address or a path: names in a registry begin with a letter or @ and hold no colon.
func onDisk(name string) bool {
	return strings.ContainsRune(name, ':') || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "/") || strings.HasPrefix(name, "\\")
}

// origins collects the packages ("npm") and addresses ("api") of a list of models, at each level.
func origins(at string, value any, into map[string]string) {
	switch v := value.(type) {
	case map[string]any:
		for key, below := range v {
			if text, ok := below.(string); ok && (key == "npm" || key == "api") {
				into[at+"\x00"+key] = text
			}
			origins(at+"\x00"+key, below, into)
		}
	case []any:
		for i, below := range v {
			origins(fmt.Sprintf("%s\x00%d", at, i), below, into)
		}
	}
}

// write replaces a file in one step and gives it exactly a mode.
func write(path string, text []byte, mode os.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".oc-delegate-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if _, err = f.Write(text); err == nil {
		err = f.Chmod(mode)
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
