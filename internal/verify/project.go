package verify

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"opencode-delegate/internal/fault"
)

// ProjectFile is the file at the top of a repository by which it says how it is checked. It counts only as it stands at the base of a
// run, and only once a person has trusted exactly this content.
const ProjectFile = ".opencode-delegate.json"

// Limits of a project file.
const (
	ProjectLimit  = 64 << 10 // bytes
	projectValues = 64       // of each list
)

// CommandLimit is how many bytes the text of one check has at most: one argument of a program is limited to 128 KiB by Linux.
const CommandLimit = 32 << 10

// A Project is what a repository says of its own checks.
type Project struct {
	Verify     []string `json:"verify"`
	Protect    []string `json:"protect"`
	AllowPath  []string `json:"allow_path"`
	ForbidPath []string `json:"forbid_path"`
}

// ParseProject reads a project file. Whatever is not exactly one is a USAGE fault: an unknown member, a bad glob, too much of anything.
func ParseProject(data []byte) (Project, error) {
	bad := func(format string, args ...any) (Project, error) {
		return Project{}, fault.New(fault.Usage, ProjectFile+": "+format, args...).
			With(`it holds {"verify": ["make test"], "protect": [GLOB, …], "allow_path": [GLOB, …], "forbid_path": [GLOB, …]}, each of them optional`)
	}
	if len(data) > ProjectLimit {
		return bad("it has more than %d bytes", ProjectLimit)
	}
	var p *Project
	if err := json.Unmarshal(data, &p, json.RejectUnknownMembers(true)); err != nil {
		return bad("%w", err)
	}
	if p == nil {
		return bad("it is not a JSON object")
	}
	for name, list := range map[string][]string{"verify": p.Verify, "protect": p.Protect, "allow_path": p.AllowPath, "forbid_path": p.ForbidPath} {
		if len(list) > projectValues {
			return bad("%s has more than %d values", name, projectValues)
		}
	}
	for _, text := range p.Verify {
		if err := CheckCommand(text); err != nil {
			return bad("verify: %w", err)
		}
	}
	for name, globs := range map[string][]string{"protect": p.Protect, "allow_path": p.AllowPath, "forbid_path": p.ForbidPath} {
		if _, err := ParseGlobs(ProjectFile+": "+name, globs); err != nil {
			return Project{}, err
		}
	}
	return *p, nil
}

// Hash names the content of a project file, as a trust is given to it.
func Hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// CheckCommand checks the text of a check before anything is started. A bad one is a USAGE fault.
func CheckCommand(text string) error {
	switch {
	case strings.TrimSpace(text) == "":
		return fault.New(fault.Usage, "a check is a command for sh -c, and not empty")
	case len(text) > CommandLimit:
		return fault.New(fault.Usage, "a check has at most %d bytes; put the command into a script", CommandLimit)
	case strings.ContainsRune(text, 0) || !utf8.ValidString(text):
		return fault.New(fault.Usage, "the check %.60q is no text for sh -c", text)
	}
	return nil
}
