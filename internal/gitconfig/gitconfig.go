// Package gitconfig reads a git configuration file as git reads it and keeps the place of each entry, so that a file can
// be put back key by key. It is pure: it opens nothing, follows no include, and runs nothing.
//
// The grammar is that of git's config.c (2.39 to 2.5x), which is wider than git-config(1) says: a header and an entry may
// share a line, the old form [section.sub] folds its subsection to lower case, a value may hold quoted and unquoted parts
// and go on after a backslash at the end of a line. [Parse] refuses each file that git refuses, and two kinds more that no
// git writes: one that holds a NUL byte and one above [MaxSize]. What it accepts it reads as git does.
package gitconfig

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// MaxSize is the largest file in bytes that Parse accepts. git has no such limit; real files are below 100 KiB.
const MaxSize = 1 << 20

// ErrSyntax is the cause of each error of Parse.
var ErrSyntax = errors.New("not a git configuration")

// An Entry is one assignment as git sees it.
type Entry struct {
	// Key is section.variable or section.subsection.variable. Section and variable are in lower case, the subsection is as
	// written. An entry above the first header, which git accepts, has no dot.
	Key string
	// Value is the value with quotes and escapes resolved. Runs of white space between words are as written; git before
	// 2.45 turns each such character into a space.
	Value string
	// Implicit marks a variable without "=", which git takes as true for a boolean.
	Implicit bool

	start, end int // the entry's bytes in the file, from its name to the end of its last line, newline excluded
}

// Split returns the parts of a key. A key without a subsection has an empty one.
func Split(key string) (section, subsection, variable string) {
	first, last := strings.IndexByte(key, '.'), strings.LastIndexByte(key, '.')
	switch {
	case first < 0:
		return "", "", key
	case first == last:
		return key[:first], "", key[last+1:]
	}
	return key[:first], key[first+1 : last], key[last+1:]
}

// A File is a parsed configuration file.
type File struct {
	text    []byte
	Entries []Entry // in the order of the file
}

// Values returns the entries of one key, in the order of the file.
func (f *File) Values(key string) []Entry {
	var found []Entry
	for _, e := range f.Entries {
		if e.Key == key {
			found = append(found, e)
		}
	}
	return found
}

// Keys returns each key of the file once, in the order of its first entry.
func (f *File) Keys() []string {
	seen := make(map[string]bool, len(f.Entries))
	var keys []string
	for _, e := range f.Entries {
		if !seen[e.Key] {
			seen[e.Key] = true
			keys = append(keys, e.Key)
		}
	}
	return keys
}

// Same reports whether two lists of entries of one key mean the same to git.
func Same(a, b []Entry) bool {
	return slices.EqualFunc(a, b, func(x, y Entry) bool { return x.Value == y.Value && x.Implicit == y.Implicit })
}

// Replace returns the text of f with the entries of some keys exchanged: the old ones are cut out, the new ones stand
// under headers of their own at the end, in the order given, written by this package and not copied. Every other byte of f stays. An
// entry whose key has no section cannot stand at the end of a file and is left out.
func (f *File) Replace(keys map[string]bool, with []Entry) []byte {
	var out []byte
	at := 0
	for _, e := range f.Entries {
		if !keys[e.Key] {
			continue
		}
		out = append(out, f.text[at:e.start]...)
		at = e.end
		if line := strings.TrimLeft(lastLine(out), " \t"); line == "" && at < len(f.text) && f.text[at] == '\n' {
			out = out[:len(out)-len(lastLine(out))]
			at++
		}
	}
	out = append(out, f.text[at:]...)
	if len(with) > 0 && bytes.HasSuffix(bytes.TrimRight(out, "\r\n"), []byte(`\`)) {
		out = append(out, "\n\n"...) // a value that goes on behind the end of the file would swallow the next header
	}
	header := ""
	for _, e := range with {
		section, sub, variable := Split(e.Key)
		if section == "" {
			continue
		}
		if len(out) > 0 && out[len(out)-1] != '\n' {
			out = append(out, '\n')
		}
		if h := formatHeader(section, sub, strings.Count(e.Key, ".") > 1); h != header {
			out = append(append(out, h...), '\n')
			header = h
		}
		out = append(out, '\t')
		out = append(out, variable...)
		if !e.Implicit {
			out = append(append(out, " = "...), quote(e.Value)...)
		}
		out = append(out, '\n')
	}
	return out
}

func lastLine(b []byte) string {
	s := string(b[max(0, len(b)-4096):])
	return s[strings.LastIndexByte(s, '\n')+1:]
}

func formatHeader(section, sub string, hasSub bool) string {
	if !hasSub {
		return "[" + section + "]"
	}
	return "[" + section + ` "` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(sub) + `"]`
}

func quote(value string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\b", `\b`).Replace(value) + `"`
}

// Parse reads a configuration file. An error wraps ErrSyntax and names the line.
func Parse(text []byte) (*File, error) {
	if len(text) > MaxSize {
		return nil, fmt.Errorf("%w: %d bytes are more than %d", ErrSyntax, len(text), MaxSize)
	}
	p := &parser{text: text, line: 1}
	if err := p.file(); err != nil {
		return nil, fmt.Errorf("line %d: %w", p.line, err)
	}
	return &File{text: slices.Clone(text), Entries: p.entries}, nil
}
