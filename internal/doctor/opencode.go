package doctor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"opencode-delegate/internal/delegate"
	"opencode-delegate/internal/opencode"
	"opencode-delegate/internal/sandbox"
)

// opencode looks at the program that a call would use, at others of its name, and at the models that it offers.
func (x *examination) opencode(ctx context.Context) []Finding {
	req := x.call.Request
	req.Profile = "read-only"
	caged := sandbox.Detect(x.getenv).OK()
	if req.Dir == "" || !caged {
		// Nothing is asked about the project then: it may bring code, and nothing would hold it.
		req.Dir, req.TrustProject = x.Host.Home, true
	}
	path, ask, err := delegate.Asker(req, x.Host)
	if err != nil {
		return []Finding{of("opencode", Fail, err, "correct it; oc-delegate --print-command shows what would be run")}
	}
	b, err := opencode.Probe(ctx, path, x.Host.CacheDir, ask)
	if err != nil {
		return []Finding{of("opencode", Fail, err, "start it yourself and see: "+path+" --version")}
	}
	list := []Finding{x.program(b)}
	if f, ok := abilities(b); ok {
		list = append(list, f)
	}
	var models, others []Finding
	var wg sync.WaitGroup
	wg.Go(func() {
		project := ""
		if caged {
			project = req.Dir
		}
		models = x.models(ctx, ask, b, project)
	})
	wg.Go(func() { others = x.others(ctx, ask, b) })
	wg.Wait()
	return append(append(list, others...), models...)
}

// program is the one that a call would use.
func (x *examination) program(b opencode.Binary) Finding {
	from := "found by its name"
	if s := x.call.Request.OpencodeSource; s != "" {
		from = s
	}
	f := Finding{Name: "opencode", Level: OK, What: fmt.Sprintf("%s, %s (%s)", b.Version, b.Path, from)}
	if !b.Known() {
		f.Level = Warn
		f.What += "; of a kind that this version was not measured with"
		f.Remedy = "use opencode 1.x (name it in OC_DELEGATE_OPENCODE), or a newer oc-delegate"
	}
	return f
}

// abilities tells what of the program's flags is missing, and what that means.
func abilities(b opencode.Binary) (Finding, bool) {
	can := b.Abilities
	var lacks []string
	for _, a := range []struct {
		has             bool
		flag, otherwise string
	}{
		{can.PrintLogs && can.LogLevel, "--print-logs", "a usage limit is seen only when opencode gives up"},
		{can.Title, "--title", "it makes one more model call for a title"},
		{can.Auto, "--auto", "what its rules would ask is rejected"},
		{can.Variant, "--variant", "no variant of a model can be chosen"},
		{can.Fork, "--fork", "a session can be continued and not copied"},
		{can.Thinking, "--thinking", "reasoning does not count as progress for --idle-timeout"},
		{can.Session, "--session", "no session can be continued"},
		{can.Agent, "--agent", "no agent can be chosen, and a run has not the rules of its own"},
		{can.File, "--file", "no file can be attached"},
	} {
		if !a.has {
			lacks = append(lacks, a.flag+" ("+a.otherwise+")")
		}
	}
	if len(lacks) == 0 {
		return Finding{}, false
	}
	return Finding{Name: "abilities", Level: Warn, What: "opencode " + b.Version + " has no " + strings.Join(lacks, ", no "), Remedy: "opencode upgrade"}, true
}

// othersLimit is how many programs are asked for their version.
const othersLimit = 8

// others are further programs of that name on PATH. Another version there is another program: sessions and flags differ, and a
// person who types opencode gets one of them.
func (x *examination) others(ctx context.Context, ask opencode.Runner, b opencode.Binary) []Finding {
	paths := x.onPath(b.Path)
	versions := make([]string, len(paths))
	var wg sync.WaitGroup
	for i, p := range paths {
		wg.Go(func() {
			if o, err := opencode.Probe(ctx, p, x.Host.CacheDir, ask); err == nil {
				versions[i] = o.Version
			}
		})
	}
	wg.Wait()
	var differ []string
	for i, p := range paths {
		switch versions[i] {
		case b.Version:
		case "":
			differ = append(differ, p+" (which does not say its version)")
		default:
			differ = append(differ, p+" ("+versions[i]+")")
		}
	}
	if len(differ) == 0 {
		return nil
	}
	return []Finding{{Name: "path", Level: Warn, What: fmt.Sprintf("PATH has other versions than %s: %s", b.Version, strings.Join(differ, ", ")),
		Remedy: "remove all but one, or name the right one in OC_DELEGATE_OPENCODE; now it is " + b.Path}}
}

// onPath are the programs on PATH but for the one that is used.
func (x *examination) onPath(used string) (paths []string) {
	seen := []string{used}
	for _, dir := range filepath.SplitList(x.getenv("PATH")) {
		for _, name := range names("opencode") {
			file := filepath.Join(dir, name)
			if _, err := os.Stat(file); err != nil || !filepath.IsAbs(dir) {
				continue
			}
			path, err := opencode.Find(opencode.FindOptions{Explicit: file, Getenv: x.getenv})
			if err == nil && !slices.Contains(seen, path) && len(paths) < othersLimit {
				seen, paths = append(seen, path), append(paths, path)
			}
		}
	}
	return paths
}

// names are what a program may be called in a directory of PATH.
func names(program string) []string {
	if runtime.GOOS == "windows" {
		return []string{program + ".exe", program + ".cmd"}
	}
	return []string{program}
}
