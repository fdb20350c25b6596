// Package gocache is a build cache of Go in layers: one that is written, and others that are only read.
//
// A run that is to be checked must not write the user's build cache, since whatever is in it is built in without a question; and a cache of its own,
// empty, would compile the standard library before each check. The go command (1.24 and later) asks the program in GOCACHEPROG for
// its cache; that is this binary in a hidden role. An older go ignores the variable and uses GOCACHE.
//
// The protocol is that of `go doc cmd/go/internal/cacheprog`, the files are those of GOCACHE itself, so that a layer is one too.
package gocache

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	role    = "__gocache" // first argument of the hidden role
	idBytes = 32          // of an action and of an output: SHA-256
	most    = 16          // layers
)

// Command is the value of GOCACHEPROG for a cache that is written in upper and also read from each of lower, in this order. self is the absolute
// path of a binary that calls [Main]. The error is for a path that the go command could not take apart.
func Command(self, upper string, lower ...string) (string, error) {
	if len(lower) >= most {
		return "", fmt.Errorf("gocache: more than %d layers", most)
	}
	words := append([]string{self, role, upper}, lower...)
	for i, w := range words {
		switch {
		case i != 1 && !filepath.IsAbs(w):
			return "", fmt.Errorf("gocache: %q is no absolute path", w)
		case !strings.Contains(w, "'"):
			words[i] = "'" + w + "'"
		case !strings.Contains(w, `"`):
			words[i] = `"` + w + `"`
		default:
			return "", fmt.Errorf("gocache: %q holds both kinds of quotes", w)
		}
	}
	return strings.Join(words, " "), nil
}

// Main serves the go command when args (os.Args) ask for it, and returns when that is done. ok is false when the call is an ordinary one.
func Main(args []string) (exit int, ok bool) {
	if len(args) < 3 || args[1] != role {
		return 0, false
	}
	if err := serve(layers(args[2:]), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintf(io.Writer(os.Stderr), "oc-delegate: build cache: %v\n", err)
		return 1, true
	}
	return 0, true
}

// A request and a response are one line each; the body of a put follows on a line of its own.
type request struct {
	ID       int64
	Command  string
	ActionID []byte
	OutputID []byte
	BodySize int64
}

type response struct {
	ID            int64
	Err           string     `json:",omitempty"`
	KnownCommands []string   `json:",omitempty"`
	Miss          bool       `json:",omitempty"`
	OutputID      []byte     `json:",omitempty"`
	Size          int64      `json:",omitempty"`
	Time          *time.Time `json:",omitempty"`
	DiskPath      string     `json:",omitempty"`
}

// serve answers one request after the other: what takes time in a build is not this.
func serve(l layers, from io.Reader, to io.Writer) error {
	in, out := bufio.NewReaderSize(from, 64<<10), json.NewEncoder(to)
	if err := out.Encode(response{KnownCommands: []string{"get", "put", "close"}}); err != nil {
		return err
	}
	for {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return nil
		}
		if err != nil {
			return err
		}
		if len(line) == 1 {
			continue // between a body and the next request
		}
		var r request
		if err := json.Unmarshal(line, &r); err != nil {
			return err
		}
		var answer response
		switch r.Command {
		case "get":
			answer = l.get(r)
		case "put":
			answer, err = l.put(r, in)
		case "close":
			return out.Encode(response{ID: r.ID})
		default:
			answer.Err = "unknown command"
		}
		if err != nil {
			return err
		}
		answer.ID = r.ID
		if err := out.Encode(answer); err != nil {
			return err
		}
	}
}

// layers are directories; the first is written.
type layers []string

// file is where a layer keeps an action ("a") or an output ("d").
func file(layer string, id []byte, kind string) string {
	name := hex.EncodeToString(id)
	return filepath.Join(layer, name[:2], name+"-"+kind)
}

func (l layers) get(r request) response {
	if len(r.ActionID) != idBytes {
		return response{Err: "not an action"}
	}
	for _, layer := range l {
		text, err := readEntry(file(layer, r.ActionID, "a"))
		if err != nil {
			continue
		}
		output, size, at, err := parseEntry(text, r.ActionID)
		if err != nil {
			continue
		}
		path := file(layer, output, "d")
		// The output of an action is a directory where it is a program; the go command does not ask for those here.
		if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() || info.Size() != size {
			continue
		}
		return response{OutputID: output, Size: size, Time: &at, DiskPath: path}
	}
	return response{Miss: true}
}

// entrySize is that of "v1 <action> <output> <size in 20 columns> <time in 20 columns>\n", which is how the go command keeps an action.
const entrySize = 2 + 1 + 2*idBytes + 1 + 2*idBytes + 1 + 20 + 1 + 20 + 1

func readEntry(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, entrySize+1))
	return string(text), err
}

func parseEntry(text string, action []byte) (output []byte, size int64, at time.Time, err error) {
	f := strings.Fields(text)
	if len(text) != entrySize || len(f) != 5 || f[0] != "v1" || f[1] != hex.EncodeToString(action) {
		return nil, 0, at, errors.New("not an entry of this action")
	}
	output, err = hex.DecodeString(f[2])
	size, err2 := strconv.ParseInt(f[3], 10, 64)
	nanos, err3 := strconv.ParseInt(f[4], 10, 64)
	if len(output) != idBytes || size < 0 {
		err = errors.Join(err, errors.New("not an output"))
	}
	return output, size, time.Unix(0, nanos), errors.Join(err, err2, err3)
}

// put keeps an output and the action that made it. The error is for a stream that cannot be read on.
func (l layers) put(r request, in *bufio.Reader) (response, error) {
	body := io.Reader(strings.NewReader(""))
	if r.BodySize > 0 {
		if begins, err := in.ReadString('"'); err != nil || strings.TrimSpace(begins) != `"` {
			return response{}, fmt.Errorf("a body begins with %.20q and not with a quote", begins)
		}
		body = base64.NewDecoder(base64.StdEncoding, &quoted{in: in})
	}
	path, err := l.keep(r, body)
	if _, rest := io.Copy(io.Discard, body); rest != nil {
		return response{}, rest
	}
	if err != nil {
		return response{Err: err.Error()}, nil
	}
	return response{DiskPath: path}, nil
}

func (l layers) keep(r request, body io.Reader) (string, error) {
	if len(r.ActionID) != idBytes || len(r.OutputID) != idBytes {
		return "", errors.New("not an action and its output")
	}
	path := file(l[0], r.OutputID, "d")
	if err := place(path, body, r.BodySize); err != nil {
		return "", err
	}
	entry := fmt.Sprintf("v1 %x %x %20d %20d\n", r.ActionID, r.OutputID, r.BodySize, time.Now().UnixNano())
	return path, place(file(l[0], r.ActionID, "a"), strings.NewReader(entry), int64(len(entry)))
}

// place makes a file that is whole or not there.
func place(path string, body io.Reader, size int64) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "new-*")
	if err != nil {
		return err
	}
	n, err := io.Copy(f, body)
	if err == nil && n != size {
		err = fmt.Errorf("%d bytes came, and %d were said", n, size)
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// quoted reads up to the quote that ends a string of base64, and takes the quote too.
type quoted struct {
	in   *bufio.Reader
	done bool
}

func (q *quoted) Read(p []byte) (int, error) {
	if q.done {
		return 0, io.EOF
	}
	if _, err := q.in.Peek(1); err != nil {
		return 0, io.ErrUnexpectedEOF
	}
	text, _ := q.in.Peek(min(len(p), q.in.Buffered()))
	if i := bytes.IndexByte(text, '"'); i >= 0 {
		n := copy(p, text[:i])
		q.done = true
		if _, err := q.in.Discard(i + 1); err != nil || n > 0 {
			return n, err
		}
		return 0, io.EOF
	}
	n := copy(p, text)
	_, err := q.in.Discard(n)
	return n, err
}
