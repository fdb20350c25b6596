package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"opencode-delegate/internal/atomicfile"
	"opencode-delegate/internal/call"
	"opencode-delegate/internal/delegate"
	"opencode-delegate/internal/plain"
	"opencode-delegate/internal/record"
	"opencode-delegate/internal/redact"
)

// Answer gives the caller what was asked for: on stdout, or in the file of --out.
func Answer(form call.Reply, res delegate.Result, stdout io.Writer, set *redact.Set) error {
	if form.Out == "" {
		if err := writeAnswer(stdout, form, res, set); err != nil {
			return fmt.Errorf("stdout: %w", err)
		}
		return nil
	}
	// We may write where the worker may not: a link that it has put in the place of a directory must not lead us there.
	if dir := filepath.Dir(form.Out); !leadsNowhereElse(dir) {
		return fmt.Errorf("%s: %s is another directory now than when the call was made", form.Out, dir)
	}
	mode := newFileMode()
	if fi, err := os.Stat(form.Out); err == nil {
		mode = fi.Mode().Perm()
	}
	f, err := atomicfile.Create(form.Out, mode)
	if err != nil {
		return err
	}
	if err := writeAnswer(f, form, res, set); err != nil {
		f.Abort()
		return fmt.Errorf("%s: %w", form.Out, err)
	}
	return f.Commit()
}

func leadsNowhereElse(dir string) bool {
	real, err := filepath.EvalSymlinks(dir)
	return err == nil && real == dir
}

func writeAnswer(w io.Writer, form call.Reply, res delegate.Result, set *redact.Set) error {
	switch {
	case form.JSON:
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(shown(res, form.Digest)); err != nil {
			return err
		}
		_, err := w.Write(plain.JSON(set.JSON().Bytes(b.Bytes())))
		return err
	case form.Digest:
		_, err := io.WriteString(w, ended(plain.Clean(set.String(res.Digest))))
		return err
	case !res.TextTruncated:
		_, err := io.WriteString(w, ended(plain.Clean(res.Text)))
		return err
	}
	return writeLong(w, res)
}

// shownFiles is how many changed files a JSON answer lists beside a digest, which is asked for to keep it short.
const shownFiles = 20

// shown is the result with its texts cleaned of what a terminal would act on, and with a short list of files beside a
// digest; the record keeps everything.
func shown(res delegate.Result, short bool) delegate.Result {
	if n := len(res.Changes.Files); short && n > shownFiles {
		res.Changes.Files = res.Changes.Files[:shownFiles]
		res.Notes = append(slices.Clone(res.Notes), fmt.Sprintf("%d more changed files are listed in result.json", n-shownFiles))
	}
	res.Text, res.Digest, res.Reason = plain.Clean(res.Text), plain.Clean(res.Digest), plain.Clean(res.Reason)
	return res
}

// writeLong streams a text that is too long to be held from the record.
func writeLong(w io.Writer, res delegate.Result) error {
	err := WriteText(w, filepath.Join(res.Record, record.Text))
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) && pe.Op == "open" {
		if _, err := io.WriteString(w, ended(plain.Clean(res.Text))); err != nil {
			return err
		}
		return fmt.Errorf("the text is cut: %w", err)
	}
	return err
}

// wholeLimit bounds what is printed of a text: far above what a worker has ever said.
const wholeLimit = 1 << 30

// WriteText streams the whole text of a record, cleaned of what acts on a terminal. A file that is missing is fs.ErrNotExist.
func WriteText(w io.Writer, path string) error {
	f, err := record.OpenFile(path)
	if err != nil {
		return err
	}
	defer f.Close()
	clean := plain.NewWriter(w)
	if _, err := io.Copy(clean, io.LimitReader(f, wholeLimit)); err != nil {
		return err
	}
	if err := clean.Close(); err != nil {
		return err
	}
	_, err = io.WriteString(w, "\n")
	return err
}

// ended is s with exactly one newline at its end; an empty text stays empty.
func ended(s string) string {
	if s = strings.TrimRight(s, "\n"); s == "" {
		return ""
	}
	return s + "\n"
}
