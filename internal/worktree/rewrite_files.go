package worktree

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"opencode-delegate/internal/tree"
)

// stash compares the commits that the stash's log names.
func (t *teller) stash() {
	was, is := t.before.stashes(), t.end.stashes()
	made := slices.DeleteFunc(slices.Clone(is), func(id string) bool { return slices.Contains(was, id) })
	gone := slices.DeleteFunc(slices.Clone(was), func(id string) bool { return slices.Contains(is, id) })
	if n := len(made); n > 0 {
		t.tell(Stashed, stashRef, "%s made and left: uncommitted work is in %s", count(n, "stash was", "stashes were"), short(made[n-1]))
	}
	if n := len(gone); n > 0 {
		t.tell(Unstashed, stashRef, "%s dropped or applied that the user had made: %s", count(n, "stash was", "stashes were"), short(gone[n-1]))
	}
}

const stashRef = "refs/stash"

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// stashes are the commits in the stash, the newest last.
func (g *gitState) stashes() []string {
	var ids []string
	for line := range strings.Lines(string(g.Files[commonPrefix+"logs/refs/stash"])) {
		if f := strings.Fields(line); len(f) > 1 && commitID().MatchString(f[1]) {
			ids = append(ids, f[1])
		}
	}
	if top := g.Refs[stashRef]; top != "" && !slices.Contains(ids, top) {
		ids = append(ids, top)
	}
	return ids
}

// underWay names what was begun or ended.
func (t *teller) underWay() {
	for what, signs := range map[string][]string{
		"a merge": {"MERGE_HEAD"}, "a rebase": {"rebase-merge/", "rebase-apply/"}, "a cherry-pick": {"CHERRY_PICK_HEAD"}, "a revert": {"REVERT_HEAD"}, "a bisect": {"BISECT_LOG"},
	} {
		switch was, is := t.before.has(signs), t.end.has(signs); {
		case !was && is:
			t.tell(Unfinished, "", "%s was begun and not ended", what)
		case was && !is:
			t.tell(Unfinished, "", "%s that was under way was ended", what)
		}
	}
}

// has reports whether one of the files is there; a name with a slash at its end is a directory's.
func (g *gitState) has(signs []string) bool {
	for name := range g.Files {
		if slices.ContainsFunc(signs, func(s string) bool { return name == s || strings.HasSuffix(s, "/") && strings.HasPrefix(name, s) }) {
			return true
		}
	}
	return false
}

// uncommitted tells of work that was in no commit: tracked files that are as they were committed again, and untracked ones that are gone.
func (t *teller) uncommitted() error {
	end, err := readList(filepath.Join(t.s.store, endName))
	if errors.Is(err, fs.ErrNotExist) {
		end, err = t.s.now(t.ctx)
	}
	if err != nil {
		return err
	}
	tracked, known := t.tracked()
	if !known {
		return nil
	}
	heads := []string{t.before.commit()}
	if slices.ContainsFunc(t.told, func(r Rewrite) bool { return r.Kind == Reset }) {
		heads = append(heads, t.end.commit())
	}
	committed, err := t.committed(tracked, heads)
	if err != nil {
		return err
	}
	rel, err := filepath.Rel(unquoted(t.before.Top), t.s.list.dir)
	if err != nil {
		return err
	}
	rel = filepath.ToSlash(rel)
	kept := map[[sha256.Size]byte]bool{}
	for i := range end.entries {
		kept[end.entries[i].sum] = true
	}
	var back, gone []string
	untracked := 0
	for i := range t.s.list.entries {
		e := &t.s.list.entries[i]
		blob, isTracked := tracked[path.Join(rel, e.path)]
		if e.mode.IsDir() {
			continue
		}
		if is := end.find(e.path); isTracked {
			if is != nil && is.mode.IsRegular() && is.sum != e.sum && t.isBlob(is, append(committed[path.Join(rel, e.path)], blob)) {
				back = append(back, e.path)
			}
			continue
		}
		ignored := t.before.ignores(e.path)
		if !ignored {
			untracked++
		}
		if end.find(e.path) == nil && !ignored && (!e.mode.IsRegular() || !kept[e.sum]) {
			gone = append(gone, e.path)
		}
	}
	if n := len(back); n > 0 {
		t.tell(Discarded, "", "uncommitted changes of %s are gone, %s as committed: %s", count(n, "tracked file", "tracked files"), singular(n, "it is", "they are"), some(back))
		t.told[len(t.told)-1].Paths = quotedAll(back)
	}
	if n := len(gone); n > 0 {
		kind := Removed
		if n == untracked && n > 1 {
			kind = Cleaned
		}
		t.tell(kind, "", "%s of %d are gone: %s", count(n, "untracked file", "untracked files"), untracked, some(gone))
		t.told[len(t.told)-1].Paths = quotedAll(gone)
	}
	return nil
}

func singular(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// some names the first paths.
func some(paths []string) string {
	shown := mapped(paths[:min(len(paths), 3)], tree.Quote)
	if more := len(paths) - len(shown); more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(shown, ", "), more)
	}
	return strings.Join(shown, ", ")
}

func quotedAll(paths []string) []string {
	return mapped(paths[:min(len(paths), PathsTold)], tree.Quote)
}

// tracked are the blobs of the index before the run, by their paths in the repository.
func (t *teller) tracked() (blobs map[string]string, known bool) {
	if t.before.Index == "-" {
		return nil, true
	}
	data, err := readRegular(filepath.Join(t.s.store, gitIndexName), maxIndex)
	if err != nil {
		return nil, false
	}
	x, err := parseIndex(data, t.before.idSize())
	return x.blobs, err == nil
}

// committed are the blobs of some commits where the index before the run has others, by path.
func (t *teller) committed(tracked map[string]string, heads []string) (map[string][]string, error) {
	blobs := map[string][]string{}
	for _, head := range heads {
		if head == "" || len(tracked) == 0 {
			continue
		}
		meta := ""
		err := t.git.run(t.ctx, nil, func(out io.Reader) error {
			return each(out, 0, func(part string) error {
				if strings.HasPrefix(part, ":") {
					meta = part
				} else if f := strings.Fields(meta); len(f) == 5 {
					blobs[part] = append(blobs[part], f[2])
				}
				return nil
			})
		}, "diff-index", "--cached", "--raw", "-z", "--no-renames", "--abbrev="+fmt.Sprint(2*t.before.idSize()), head, "--")
		if said := (*refusal)(nil); err != nil && !errors.As(err, &said) { // a commit that is lost was told of
			return nil, err
		}
	}
	return blobs, nil
}

// isBlob reports whether a file is one of some blobs, line ends aside.
func (t *teller) isBlob(e *entry, blobs []string) bool {
	if e.size > maxMerge {
		return false
	}
	root, err := os.OpenRoot(t.s.list.dir)
	if err != nil {
		return false
	}
	defer root.Close()
	text, err := readIn(root, e.path, maxMerge+1)
	if err != nil || sha256.Sum256(text) != e.sum {
		return false // somebody has changed it since
	}
	return slices.Contains(blobs, t.blob(text)) || slices.Contains(blobs, t.blob(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))))
}

// blob is the name that git has for a content.
func (t *teller) blob(text []byte) string {
	var h hash.Hash = sha1.New()
	if t.before.idSize() == sha256.Size {
		h = sha256.New()
	}
	fmt.Fprintf(h, "blob %d\x00", len(text))
	h.Write(text)
	return hex.EncodeToString(h.Sum(nil))
}

// ignores reports whether git ignored a path when the snapshot was taken.
func (g *gitState) ignores(p string) bool {
	for ; p != "."; p = path.Dir(p) {
		if _, ok := slices.BinarySearch(g.Ignored, tree.Quote(p)); ok {
			return true
		}
	}
	return len(g.Ignored) > 0 && g.Ignored[0] == ""
}
