//go:build unix

package tree

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func FuzzParseIndex(f *testing.F) {
	f.Add([]byte("DIRC\x00\x00\x00\x04\x00\x00\x00\x02"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if got := parseIndex(data, nil); len(got) > len(data)/20 {
			t.Fatalf("%d names in %d bytes", len(got), len(data))
		}
	})
}

// Old contents come from git without a look at the repository's configuration.
func TestObjectsReadNoConfiguration(t *testing.T) {
	p := newPlace(t)
	marker := filepath.Dir(p.dir) + "/marker"
	p.write("a", "1\n")
	p.write(".gitattributes", "* filter=x diff=x\n")
	p.repo()
	before := take(t, p.dir, Options{KeepBytes: -1})
	p.write("a", "2\n")
	for _, key := range []string{"core.fsmonitor", "core.pager", "filter.x.clean", "filter.x.smudge", "filter.x.process", "diff.x.textconv", "diff.external", "core.sshCommand", "alias.cat-file"} {
		p.git("config", key, "touch '"+marker+"'; cat")
	}
	p.must(syscall.Mkfifo(p.dir+"/.git/fifo", 0o644))
	config, err := os.OpenFile(p.dir+"/.git/config", os.O_APPEND|os.O_WRONLY, 0)
	p.must(err)
	_, err = config.WriteString("[include]\n\tpath = fifo\n") // whoever reads the configuration waits for ever
	p.must(err)
	p.must(config.Close())
	os.Remove(marker)
	if got := show(Compare(context.Background(), before, take(t, p.dir, Options{Since: before}))); got != `modified "a"; +1 -1` {
		t.Error(got)
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("a program of the repository ran")
	}
}

// A missing git, a damaged object and an object that is not what it says cost the counts and nothing else.
func TestObjectsThatCannotBeHad(t *testing.T) {
	for name, damage := range map[string]func(p *place, o *Options){
		"no git":     func(_ *place, o *Options) { o.Git = "/nonexistent/git" },
		"no objects": func(p *place, _ *Options) { p.must(os.RemoveAll(p.dir + "/.git/objects")) },
		"fifo": func(p *place, _ *Options) {
			p.must(os.Chmod(p.dir+"/.git/objects/info", 0o755))
			p.must(syscall.Mkfifo(p.dir+"/.git/objects/info/alternates", 0o644))
		},
		"forged": func(_ *place, o *Options) {
			o.Git = filepath.Join(t.TempDir(), "git")
			if err := os.WriteFile(o.Git, []byte("#!/bin/sh\nread name\nprintf '%s blob 2\\n9\\n\\n' $name\n"), 0o755); err != nil {
				t.Fatal(err)
			}
		},
		"garbage": func(_ *place, o *Options) { o.Git = "/bin/yes" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.write("a", "1\n")
			p.repo()
			o := Options{KeepBytes: -1}
			damage(p, &o)
			before := take(t, p.dir, o)
			p.write("a", "2\n")
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second) // for the git that waits for ever
			defer cancel()
			if got := show(Compare(ctx, before, take(t, p.dir, o))); got != `modified "a"; lines unknown` {
				t.Error(got)
			}
		})
	}
}

// What git's object store holds is not held a second time, whatever the version of the index.
func TestCleanFilesAreNotHeld(t *testing.T) {
	for version := 2; version <= 4; version++ {
		p := newPlace(t)
		p.write("a/long/directory/name", "0\n")
		for i := range 30 {
			p.write(fmt.Sprintf("a/%s", strings.Repeat("x", i+1)), fmt.Sprintf("%d\n", i))
		}
		p.repo()
		p.git("update-index", "--index-version", fmt.Sprint(version))
		p.write("new", "new\n")
		p.git("add", "--intent-to-add", "new") // an extended entry in version 3
		p.write("z", "dirty\n")
		s := take(t, p.dir, Options{})
		for _, name := range []string{"a/x", "a/" + strings.Repeat("x", 30), "a/long/directory/name"} {
			if s.find(name).content.text != nil {
				t.Errorf("version %d: %s is held", version, name)
			}
		}
		if string(s.find("z").content.text) != "dirty\n" {
			t.Errorf("version %d: the dirty file is not held", version)
		}
	}
}
