package worktree

import (
	"io"
	"strings"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/tree"
)

// gitlinks are the paths of submodules in what git ls-tree and git ls-files -s print with -z.
func gitlinks(out io.Reader) ([]string, error) {
	var links []string
	err := each(out, 0, func(line string) error {
		if rest, ok := strings.CutPrefix(line, "160000 "); ok {
			_, name, _ := strings.Cut(rest, "\t")
			links = append(links, name)
		}
		return nil
	})
	return links, err
}

// outside refuses paths that lie in a submodule: they are none of the repository around it.
func outside(paths, links []string, what string) error {
	for _, p := range paths {
		for _, link := range links {
			if inSlashes(link, p) {
				return inModule(p, what)
			}
		}
	}
	return nil
}

func inModule(p, what string) error {
	return fault.New(fault.Usage, "the work changes the submodule at %s, which a %s of the repository around it cannot hold", tree.Quote(p), what).
		With("apply brings the files, and leaves it to you to commit them there")
}
