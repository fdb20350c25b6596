package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"opencode-delegate/internal/permission"
)

// A Policy is the user's policy.json: what is allowed beyond the tables. The zero value allows nothing more.
//
//	{
//	  "allow_flags": ["agent=reviewer", "allow-read=/home/me/.netrc", "profile=trusted-test", "on-finish"],
//	  "allow_verbs": ["doctor"],
//	  "allow_dirs": ["~/src/library"],
//	  "conductor_write": true
//	}
//
// In the permission modes plan and dontAsk nothing that writes is allowed, whatever stands here.
type Policy struct {
	// AllowFlags are flags that are refused otherwise, without dashes: a name lets every value through, name=value this one.
	// "force" is that of cancel. The path of an allowed flag may lie anywhere.
	AllowFlags []string `json:"allow_flags"`
	// AllowVerbs are verbs of oc-job: gc, doctor, notify, setup, hook, watch.
	AllowVerbs []string `json:"allow_verbs"`
	// AllowDirs are directories that count as the project does: absolute, or below ~/.
	AllowDirs []string `json:"allow_dirs"`
	// ConductorWrite allows the conductor itself what the subagent may do: calls with --write and --out.
	ConductorWrite bool `json:"conductor_write"`
}

// configLimit bounds the file in bytes.
const configLimit = 64 << 10

// Path is where the user's policy is looked for: $XDG_CONFIG_HOME/opencode-delegate/policy.json, or the same below ~/.config;
// empty when neither is known.
func Path(getenv func(string) string, home string) string {
	base := getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(base) {
		if !filepath.IsAbs(home) {
			return ""
		}
		base = filepath.Join(home, ".config")
	}
	return filepath.Join(base, "opencode-delegate", "policy.json")
}

// Load reads the user's policy. A missing file is the zero Policy. With an error, one clear sentence, the Policy is the zero one
// too: a file that is not understood widens nothing. A file that lies in the project is refused, since the project is what
// workers may write.
func Load(path, home, project string) (Policy, error) {
	p, err := load(path, home, project)
	if err != nil {
		return Policy{}, fmt.Errorf("policy %s: %w", path, err)
	}
	return p, nil
}

func load(path, home, project string) (Policy, error) {
	if path == "" {
		return Policy{}, nil
	}
	fi, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Policy{}, nil
	case err != nil:
		return Policy{}, err
	case !fi.Mode().IsRegular(): // a pipe would be waited for
		return Policy{}, errors.New("not a regular file")
	case runtime.GOOS != "windows" && fi.Mode().Perm()&0o002 != 0:
		return Policy{}, errors.New("everybody may write it; take that right away (chmod o-w)")
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return Policy{}, err
	}
	for _, dir := range []string{filepath.Dir(path), filepath.Dir(real)} {
		// In a sticky one nobody can replace the file; elsewhere everybody can.
		if fi, err := os.Stat(dir); runtime.GOOS != "windows" && (err != nil || fi.Mode().Perm()&0o002 != 0 && fi.Mode()&fs.ModeSticky == 0) {
			return Policy{}, fmt.Errorf("everybody may replace it, since everybody may write %s; take that right away (chmod o-w)", dir)
		}
	}
	if root, err := filepath.EvalSymlinks(project); err == nil && project != "" {
		t := tree{roots: []string{root}}
		if _, in := t.below(real); in {
			return Policy{}, errors.New("lies in the project; keep it in a directory that is not worked in")
		}
	}
	f, err := os.Open(path)
	if err != nil {
		return Policy{}, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, configLimit+1))
	if err != nil {
		return Policy{}, err
	}
	if len(data) > configLimit {
		return Policy{}, errors.New("larger than 64 KiB")
	}
	return Parse(data, home)
}

// Parse reads the text of a policy. An unknown key, flag or verb is an error: a slip would be silent otherwise.
func Parse(data []byte, home string) (Policy, error) {
	var p Policy
	dec := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(data, []byte("\ufeff"))))
	dec.DisallowUnknownFields()
	err := dec.Decode(&p)
	if err == nil {
		if _, more := dec.Token(); more != io.EOF {
			err = errors.New("holds more than one JSON value; write one object")
		}
	}
	if name, ok := strings.CutPrefix(fmt.Sprint(err), "json: unknown field "); ok {
		err = fmt.Errorf("unknown key %s; the keys are allow_flags, allow_verbs, allow_dirs and conductor_write", name)
	}
	if errors.Is(err, io.EOF) {
		err = errors.New("is empty; write an object, or remove the file")
	}
	if err != nil {
		return Policy{}, err
	}
	for _, entry := range p.AllowFlags {
		name, value, certain := strings.Cut(entry, "=")
		f, ok := widening()[name]
		switch {
		case !ok:
			return Policy{}, fmt.Errorf("allow_flags: %.60q is no flag that has to be allowed; those are %s", entry, strings.Join(slices.Sorted(maps.Keys(widening())), ", "))
		case certain && !f.value:
			return Policy{}, fmt.Errorf("allow_flags: %.60q: --%s takes no value; write %q", entry, name, name)
		}
		if _, err := permission.Parse(value); name == "profile" && value != "" && err != nil {
			return Policy{}, fmt.Errorf("allow_flags: %w", err)
		}
	}
	for _, name := range p.AllowVerbs {
		if !slices.ContainsFunc(commands[Jobber], func(v verb) bool { return v.act == closed && v.name == name }) {
			return Policy{}, fmt.Errorf("allow_verbs: %.60q is no verb that has to be allowed", name)
		}
	}
	for i, dir := range p.AllowDirs {
		if rest, ok := strings.CutPrefix(dir, "~/"); ok && filepath.IsAbs(home) {
			dir = filepath.Join(home, rest)
		}
		if !filepath.IsAbs(dir) || filepath.Dir(filepath.Clean(dir)) == filepath.Clean(dir) {
			return Policy{}, fmt.Errorf("allow_dirs: %.60q cannot be one; give an absolute path, or one that begins with ~/", p.AllowDirs[i])
		}
		p.AllowDirs[i] = filepath.Clean(dir)
	}
	return p, nil
}

// widening lists the flags that a policy can let through.
func widening() map[string]flag {
	found := map[string]flag{}
	for _, verbs := range commands {
		for _, v := range verbs {
			for _, list := range v.flags {
				for _, f := range list {
					if f.use == refused || f.use == profile {
						found[f.name] = f
					}
				}
			}
		}
	}
	return found
}

func (p Policy) flag(name, value string) bool {
	for _, entry := range p.AllowFlags {
		n, v, certain := strings.Cut(entry, "=")
		if n == name && certain && name == "profile" {
			if allowed, err := permission.Parse(v); err == nil {
				v = allowed.Name()
			}
		}
		if n == name && (!certain || v == value) {
			return true
		}
	}
	return false
}

func (p Policy) verb(name string) bool { return slices.Contains(p.AllowVerbs, name) }
