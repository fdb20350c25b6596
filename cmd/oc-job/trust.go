package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/term"

	"opencode-delegate/internal/call"
	"opencode-delegate/internal/cli"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/plain"
	"opencode-delegate/internal/record"
	"opencode-delegate/internal/repocode"
	"opencode-delegate/internal/verify"
)

type trustVerb struct {
	Dir    call.Once `arg:"" optional:"" name:"dir" help:"A directory of the repository (default: this one)."`
	Yes    bool      `help:"Trust what is shown without a question."`
	Remove bool      `help:"Trust nothing that the repository says any more."`
	List   bool      `help:"List what is trusted, of every repository."`
}

func (v *trustVerb) run(a *cli.App) int {
	if count(v.Yes, v.Remove, v.List) > 1 || v.List && v.Dir.Set {
		return refuse(a, fault.New(fault.Usage, "--yes, --remove and --list are three calls, and --list is of every repository; give one of them"))
	}
	store, err := a.Store()
	if err != nil {
		return refuse(a, err)
	}
	if v.List {
		return listTrusts(a, store.TrustDir())
	}
	root, err := v.root(a)
	if err != nil {
		return refuse(a, err)
	}
	if v.Remove {
		had, err := verify.Untrust(store.TrustDir(), root)
		switch {
		case err != nil:
			return refuse(a, fault.New(fault.RunFailed, "%w", err))
		case had:
			a.Say("%s is not trusted any more", root)
		default:
			a.Say("nothing of %s was trusted", root)
		}
		return 0
	}
	if err := v.give(a, store.TrustDir(), root); err != nil {
		return refuse(a, err)
	}
	return 0
}

// root is the top of the repository; of a directory outside of any it is that directory.
func (v *trustVerb) root(a *cli.App) (string, error) {
	dir := a.Cwd
	if v.Dir.Set {
		if dir = v.Dir.Text; !filepath.IsAbs(dir) {
			dir = filepath.Join(a.Cwd, dir)
		}
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", fault.New(fault.NotFound, "%s: %w", v.Dir.Text, err)
	}
	if _, _, top, ok := repocode.Dirs(dir); ok && top != "" {
		return top, nil
	}
	return dir, nil
}

// give shows the project file and trusts exactly what was shown.
func (v *trustVerb) give(a *cli.App, store, root string) error {
	data, err := record.Read(filepath.Join(root, verify.ProjectFile), verify.ProjectLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.NotFound, "%s has no %s: there is nothing to trust", root, verify.ProjectFile)
	}
	if err != nil {
		return fault.New(fault.Usage, "%w", err)
	}
	project, err := verify.ParseProject(data)
	if err != nil {
		return err
	}
	hash := verify.Hash(data)
	if err := showProject(a, root, hash, project); err != nil {
		return fault.New(fault.RunFailed, "stdout: %w", err)
	}
	if verify.Trusted(store, root, hash) {
		a.Say("this is trusted already")
		return nil
	}
	if !v.Yes {
		if yes, err := asked(a); err != nil || !yes {
			return err
		}
	}
	if err := verify.Trust(store, root, hash, a.Now()); err != nil {
		return fault.New(fault.RunFailed, "%w", err)
	}
	a.Say("trusted, until the file changes; oc-job trust --remove takes it back")
	return nil
}

// showProject prints all that a project file means, so that nothing is trusted that was not seen: each value in quotes, in which what a terminal would
// hide or act on is an escape.
func showProject(a *cli.App, root, hash string, p verify.Project) error {
	w := bufio.NewWriter(a.Stdout)
	fmt.Fprintf(w, "%s\nsha256 %s\n", plain.Line(filepath.Join(root, verify.ProjectFile), 4096), hash)
	for _, list := range []struct {
		name   string
		values []string
	}{{"verify", p.Verify}, {"protect", p.Protect}, {"allow_path", p.AllowPath}, {"forbid_path", p.ForbidPath}} {
		for _, value := range list.values {
			fmt.Fprintf(w, "%-12s %s\n", list.name, strconv.QuoteToGraphic(value))
		}
	}
	return w.Flush()
}

// asked asks the person at the terminal. Nobody there is a USAGE fault; another answer than yes is false.
func asked(a *cli.App) (bool, error) {
	if f, ok := a.Stdin.(*os.File); !ok || !term.IsTerminal(f.Fd()) {
		return false, fault.New(fault.Usage, "nobody can be asked whether to trust this: stdin is no terminal").With("oc-job trust --yes trusts exactly what is shown; a person decides about it")
	}
	fmt.Fprint(a.Stderr, "The commands of verify will run on this machine after each delegation here. Trust this content? (yes/no) ")
	answer, err := bufio.NewReader(io.LimitReader(a.Stdin, 1<<10)).ReadString('\n')
	if err != nil && err != io.EOF {
		return false, fault.New(fault.RunFailed, "stdin: %w", err)
	}
	if word := strings.ToLower(strings.TrimSpace(answer)); word != "yes" && word != "y" {
		a.Say("nothing is trusted")
		return false, nil
	}
	return true, nil
}

func listTrusts(a *cli.App, store string) int {
	w := bufio.NewWriter(a.Stdout)
	all := verify.Trusts(store)
	for _, g := range all {
		fmt.Fprintf(w, "%s %.12s %s\n", g.At.UTC().Format("2006-01-02 15:04"), g.Hash, plain.Line(g.Root, 4096))
	}
	if err := w.Flush(); err != nil {
		return refuse(a, fault.New(fault.RunFailed, "stdout: %w", err))
	}
	if len(all) == 0 {
		a.Say("nothing is trusted")
	}
	return 0
}
