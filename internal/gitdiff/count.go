package gitdiff

import (
	"context"
	"io"
	"strconv"
	"strings"
)

// countAtOnce is how many files one git is asked about: their names are arguments.
const countAtOnce = 100

// count sets the number of lines of each file on the newer side, which git knows as what was added since there was nothing. Of an untracked file it
// is known already.
func (r *repository) count(ctx context.Context, c *Change) error {
	if c.Empty() {
		return nil
	}
	sides := []string{"--end-of-options", r.emptyTree()}
	switch c.Span {
	case Staged:
		sides = append([]string{"--cached"}, sides...)
	case Committed:
		sides = append(sides, c.Of)
	}
	files := map[string]*File{}
	var names []string
	for _, list := range [][]File{c.Shown, c.Left, c.Named} {
		for i := range list {
			name := unquote(list[i].Path)
			files[name] = &list[i]
			names = append(names, strings.TrimSuffix(name, "/")) // a repository inside
		}
	}
	for len(names) > 0 {
		n := min(len(names), countAtOnce)
		args := append([]string{"--literal-pathspecs", "diff", "--no-ext-diff", "--no-textconv", "--numstat", "-z", "--no-renames", "--ignore-submodules=all"}, sides...)
		err := r.look(ctx, func(out io.Reader) error {
			text, err := io.ReadAll(io.LimitReader(out, 4<<20))
			for entry := range strings.SplitSeq(string(text), "\x00") {
				fields := strings.SplitN(entry, "\t", 3)
				if len(fields) < 3 || files[fields[2]] == nil {
					continue
				}
				if lines, err := strconv.ParseInt(fields[0], 10, 64); err == nil { // of a binary there are none
					f := files[fields[2]]
					f.Lines = max(f.Lines, lines)
				}
			}
			return err
		}, append(append(args, "--"), names[:n]...)...)
		if err != nil {
			return explained(err, "the lines of what has changed cannot be counted")
		}
		names = names[n:]
	}
	return nil
}
