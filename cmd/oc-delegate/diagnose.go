package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"opencode-delegate/internal/call"
	"opencode-delegate/internal/cli"
	"opencode-delegate/internal/excerpt"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/plain"
	"opencode-delegate/internal/recipe"
)

const diagnoseDescription = `Have a failure explained: causes with their evidence, the smallest repair of each, and how to check it.

The log may have any size: what does not fit is left out, but for its beginning, its end and what stands around lines that look like failures. The worker reads the files of --dir, and the whole log when that lies there. Without a log the text is what has failed.`

const diagnoseExamples = `
Examples:
  oc-delegate diagnose --log build.log "Why does the build fail?"
  make test 2>&1 | oc-delegate diagnose "Which test fails, and since which change?" -
  oc-delegate diagnose "undefined reference to 'crc32' when linking"
`

type diagnose struct {
	Question []string  `arg:"" optional:"" help:"What you want to know; a lone - reads the log from stdin. Without a log, what has failed."`
	Log      call.Once `placeholder:"FILE" group:"task" help:"The log of the failure, of any size."`
	call.PlaceFlags
	recipeFlags
}

func (d *diagnose) flags() call.Flags {
	f := d.delegation(call.Recipe{Name: "diagnose"}, d.Question)
	f.PlaceFlags = d.PlaceFlags
	return f
}

func (d *diagnose) needs(c call.Call) string {
	switch {
	case d.Log.Set && d.Log.Text == "":
		return "flag --log: empty; give a file, or leave the flag out"
	case d.Log.Text == "-":
		return "flag --log: it names a file; for a log on stdin give - alone"
	case d.Log.Set && c.Prompt.Stdin:
		return "two logs were given; give either --log or - for stdin"
	case !d.Log.Set && !c.Prompt.Given:
		return "nothing to explain was given; give a log with --log FILE or as - for stdin, or say what has failed as one argument"
	}
	return ""
}

func (d *diagnose) task(ctx context.Context, a *cli.App, c call.Call) (task, error) {
	words := c.Prompt.Text
	diagnosis := recipe.Diagnosis{Question: words}
	var err error
	switch {
	case d.Log.Set:
		diagnosis.Name = filepath.Base(d.Log.Text)
		diagnosis.Log, diagnosis.Path, err = d.file(ctx, a, c.Request.Dir)
	case c.Prompt.Stdin:
		if diagnosis.Log, err = excerptOf(ctx, a, a.Stdin); err == nil && blank(diagnosis.Log) {
			err = errors.New("is empty; pipe the log into it, with 2>&1 if it is on stderr")
		}
		err = named("stdin", err)
	case isFile(a, words):
		err = fault.New(fault.Usage, "%s is a file; to have it read as a log write --log before it", words)
	default:
		diagnosis.Words, diagnosis.Question = true, ""
		if diagnosis.Log, err = excerptOf(ctx, a, strings.NewReader(words)); err == nil && blank(diagnosis.Log) {
			err = errors.New("the text has no characters that can be shown; say what has failed")
		}
		err = named("", err)
	}
	if err != nil {
		return task{}, err
	}
	return task{prompt: diagnosis.Brief(), title: diagnosis.Title(), notes: append(a.Notes(c, diagnosis.Question), diagnosis.Subject())}, nil
}

// file reads the log. Path is where the worker finds it, below the directory in which it works.
func (d *diagnose) file(ctx context.Context, a *cli.App, dir string) (e excerpt.Excerpt, path string, err error) {
	name := absolute(a, d.Log.Text)
	f, size, err := openLog(name)
	if err == nil {
		defer f.Close()
		// What is written to it from now on is not waited for.
		e, err = excerptOf(ctx, a, io.LimitReader(f, size))
	}
	if err == nil && blank(e) {
		err = errors.New("is empty; give the file that holds the output of what has failed")
	}
	if err != nil {
		return e, "", named("flag --log: "+d.Log.Text, err)
	}
	real, err := filepath.EvalSymlinks(name)
	if err != nil {
		return e, "", nil // gone since, but read
	}
	if rel, err := filepath.Rel(dir, real); err == nil && filepath.IsLocal(rel) && plain.Line(rel, len(rel)) == rel {
		path = filepath.ToSlash(rel)
	}
	return e, path, nil
}

func absolute(a *cli.App, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(a.Cwd, name)
}

// isFile reports that what should say what has failed is the name of a file: a slip.
func isFile(a *cli.App, words string) bool {
	fi, err := os.Stat(absolute(a, words))
	return err == nil && fi.Mode().IsRegular()
}

// openLog opens a regular file without waiting for anything, and tells how long it is.
func openLog(name string) (f *os.File, size int64, err error) {
	if f, err = os.OpenFile(name, os.O_RDONLY|nonblock, 0); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, 0, errors.New("is not there; name a file that exists")
		}
		var p *fs.PathError
		if errors.As(err, &p) {
			err = p.Err
		}
		return nil, 0, fmt.Errorf("cannot be read (%w); name a file that you may read", err)
	}
	fi, err := f.Stat()
	switch {
	case err != nil:
	case fi.IsDir():
		err = errors.New("is a directory; name a file")
	case !fi.Mode().IsRegular():
		err = errors.New("is no regular file; to read a pipe or a device give - and let the shell open it")
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, fi.Size(), nil
}

// excerptOf reads a log without its secrets, but not past the end of the context: a pipe may stay open for ever.
func excerptOf(ctx context.Context, a *cli.App, r io.Reader) (excerpt.Excerpt, error) {
	type read struct {
		log excerpt.Excerpt
		err error
	}
	ch := make(chan read, 1)
	go func() {
		// Once before anything is cut or cleaned, and once more for what has become a secret by that.
		w := excerpt.New(excerpt.Limit)
		secrets := a.Secrets.Writer(w)
		_, err := io.Copy(secrets, r)
		if cerr := secrets.Close(); err == nil {
			err = cerr
		}
		e := w.Excerpt()
		e.Text = a.Secrets.String(e.Text)
		ch <- read{e, err}
	}()
	select {
	case r := <-ch:
		return r.log, r.err
	case <-ctx.Done():
		return excerpt.Excerpt{}, context.Cause(ctx)
	}
}

func blank(e excerpt.Excerpt) bool { return strings.TrimSpace(e.Text) == "" }

// named says what cannot be read. The end of the call stays what it is.
func named(what string, err error) error {
	var f *fault.Error
	switch {
	case err == nil, errors.As(err, &f), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return err
	case what == "":
		return fault.New(fault.Usage, "%w", err)
	}
	return fault.New(fault.Usage, "%s %w", what, err)
}
