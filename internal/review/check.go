package review

import (
	"path"
	"strconv"
	"strings"

	"opencode-delegate/internal/redact"
)

// Check keeps the claims whose places are there: the file is one of the scope's, and the file has the line. It counts the others, and those that claim
// nothing.
func (s Scope) Check(claims []Claim, secrets *redact.Set) (found []Finding, dropped int) {
	files := map[string]File{}
	for _, f := range s.Files {
		files[f.Path] = f
		if name, err := strconv.Unquote(f.Path); err == nil {
			files[name] = f
		}
	}
	for _, c := range claims {
		file, ok := s.find(files, c.File)
		claim := line(c.Claim, claimLimit, secrets)
		if !ok || !file.has(int64(c.Line)) || claim == "" {
			dropped++
			continue
		}
		found = append(found, Finding{
			File: file.Path, Line: int64(c.Line), Severity: severity(c.Severity), Claim: claim,
			Evidence: line(c.Evidence, proseLimit, secrets), Suggestion: line(c.Suggestion, proseLimit, secrets),
		})
	}
	return found, dropped
}

// has reports whether a file has a line. One without lines is spoken of as a whole.
func (f File) has(n int64) bool {
	if f.Lines == 0 {
		return n == 0 || n == 1
	}
	return n >= 1 && n <= f.Lines
}

// find looks a file up by what a worker calls it: as the material has it, with the a/ or b/ of a difference, from where it works, or from the root.
func (s Scope) find(files map[string]File, name string) (File, bool) {
	if name = strings.Trim(name, " \t\n`"); name == "" {
		return File{}, false
	}
	slashed := strings.ReplaceAll(name, `\`, "/")
	tries := []string{name, slashed, path.Clean(slashed)}
	if bare, ok := strings.CutPrefix(slashed, "a/"); ok {
		tries = append(tries, bare)
	}
	if bare, ok := strings.CutPrefix(slashed, "b/"); ok {
		tries = append(tries, bare)
	}
	tries = append(tries, path.Join(s.Dir, slashed))
	if below, ok := strings.CutPrefix(path.Clean(slashed), strings.TrimSuffix(strings.ReplaceAll(s.Top, `\`, "/"), "/")+"/"); ok {
		tries = append(tries, below)
	}
	for _, t := range tries {
		if f, ok := files[t]; ok {
			return f, true
		}
	}
	return File{}, false
}
