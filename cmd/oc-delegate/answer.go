package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"opencode-delegate/internal/atomicfile"
	"opencode-delegate/internal/call"
	"opencode-delegate/internal/delegate"
	"opencode-delegate/internal/plain"
	"opencode-delegate/internal/record"
)

// answer gives the caller what was asked for: on stdout, or in the file of --out.
func answer(c call.Call, res delegate.Result, stdout io.Writer) error {
	if c.Out == "" {
		if err := writeAnswer(stdout, c, res); err != nil {
			return fmt.Errorf("stdout: %w", err)
		}
		return nil
	}
	mode := newFileMode()
	if fi, err := os.Stat(c.Out); err == nil {
		mode = fi.Mode().Perm()
	}
	f, err := atomicfile.Create(c.Out, mode)
	if err != nil {
		return err
	}
	if err := writeAnswer(f, c, res); err != nil {
		f.Abort()
		return fmt.Errorf("%s: %w", c.Out, err)
	}
	return f.Commit()
}

func writeAnswer(w io.Writer, c call.Call, res delegate.Result) error {
	switch {
	case c.JSON:
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(shown(res)); err != nil {
			return err
		}
		_, err := w.Write(plain.JSON(b.Bytes()))
		return err
	case c.Request.Digest:
		_, err := io.WriteString(w, ended(res.Digest))
		return err
	case !res.TextTruncated:
		_, err := io.WriteString(w, ended(plain.Clean(res.Text)))
		return err
	}
	return writeLong(w, res)
}

// shown is the result with its texts cleaned of what a terminal would act on; the record keeps them.
func shown(res delegate.Result) delegate.Result {
	res.Text, res.Digest, res.Reason = plain.Clean(res.Text), plain.Clean(res.Digest), plain.Clean(res.Reason)
	return res
}

// writeLong streams a text that is too long to be held from the record.
func writeLong(w io.Writer, res delegate.Result) error {
	f, err := os.Open(filepath.Join(res.Record, record.Text))
	if err != nil {
		if _, err := io.WriteString(w, ended(plain.Clean(res.Text))); err != nil {
			return err
		}
		return fmt.Errorf("the text is cut: %w", err)
	}
	defer f.Close()
	clean := plain.NewWriter(w)
	if _, err := io.Copy(clean, f); err != nil {
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
