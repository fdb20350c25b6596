package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// hold keeps the objects of a repository alive, whatever a gc, or somebody who removes them, does: each file gets a second name in a directory of
// ours, which costs no room until the first name goes. why says why it cannot be, empty when it could.
//
// A worker that writes into an object's file, which git makes read-only, changes both; an undo finds that out.
func hold(ctx context.Context, common, store string) (why string, err error) {
	dir := filepath.Join(store, gitKeptName)
	if err := os.MkdirAll(filepath.Join(dir, "info"), 0o700); err != nil {
		return "", err
	}
	root, err := os.OpenRoot(common)
	if err != nil {
		return err.Error(), nil
	}
	defer root.Close()
	subs := namesIn(root, "objects", maxObjects)
	err = inParallel(ctx, len(subs), func(i int) error { return holdSub(common, root, dir, subs[i]) })
	if link := (*os.LinkError)(nil); errors.As(err, &link) {
		return link.Err.Error(), os.RemoveAll(dir)
	}
	if err != nil {
		return "", err
	}
	return "", alternates(common, root, dir)
}

func holdSub(common string, root *os.Root, dir, sub string) error {
	if sub != "pack" && !fanOut().MatchString(sub) {
		return nil
	}
	if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
		return err
	}
	for _, name := range namesIn(root, "objects/"+sub, maxObjects) {
		if !keptObject(sub, name) {
			continue
		}
		err := os.Link(filepath.Join(common, "objects", sub, name), filepath.Join(dir, sub, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// keptObject reports whether a file in a directory of objects belongs to them.
func keptObject(sub, name string) bool {
	if sub != "pack" {
		return looseName().MatchString(name)
	}
	stem, ext, _ := strings.Cut(name, ".")
	return packName().MatchString(stem+".pack") && (ext == "pack" || ext == "idx" || ext == "rev" || ext == "promisor")
}

// alternates names the directories that the repository borrows objects from.
func alternates(common string, root *os.Root, dir string) error {
	text, err := readIn(root, "objects/info/alternates", 1<<20)
	if err != nil {
		return nil // there are none, or none that git could read
	}
	out := ""
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if !filepath.IsAbs(line) {
			line = filepath.Join(common, "objects", line)
		}
		out += line + "\n"
	}
	return os.WriteFile(filepath.Join(dir, "info", "alternates"), []byte(out), 0o600)
}

// bringBack gives the repository the object files that it had and that are gone.
func bringBack(ctx context.Context, common *os.Root, store string) error {
	dir := filepath.Join(store, gitKeptName)
	kept, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("the old commits were not kept: %w", err)
	}
	defer kept.Close()
	for _, sub := range namesIn(kept, ".", maxObjects) {
		if sub == "info" {
			continue
		}
		if err := common.MkdirAll("objects/"+sub, 0o755); err != nil {
			return err
		}
		names := namesIn(kept, sub, maxObjects)
		// git takes a pack for complete as soon as it sees its index.
		slices.SortFunc(names, func(a, b string) int { return strings.Compare(filepath.Ext(b), filepath.Ext(a)) })
		for _, name := range names {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err := bringOne(kept, common, sub+"/"+name); err != nil {
				return err
			}
		}
	}
	return nil
}

// bringOne copies an object file: the name in our store would not survive that store, nor keep a later worker from it.
func bringOne(kept, common *os.Root, name string) error {
	to := "objects/" + name
	if _, err := common.Lstat(to); err == nil {
		return nil
	}
	in, err := kept.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	return putIn(common, to, in, 0o444)
}
