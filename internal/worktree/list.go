package worktree

import (
	"bufio"
	"cmp"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"opencode-delegate/internal/atomicfile"
	"opencode-delegate/internal/tree"
)

// The files of a store. The list is written last: without it the snapshot is none.
const (
	contentsName = "contents"
	beforeName   = "before.jsonl"
	endName      = "end.jsonl"
)

// A list is the state of a directory.
type list struct {
	dir     string
	taken   time.Time // when the look began
	entries []entry   // sorted by path; every directory stands before what it holds
	holes   []Hole    // sorted by path
}

// An entry is a file, a symbolic link or a directory.
type entry struct {
	path    string
	mode    fs.FileMode // type, permission bits, setuid, setgid, sticky
	target  string      // of a link
	content             // of a file
	stat                // of a file
}

// same reports whether two states of a path are one state. Nil stands for none.
func same(a, b *entry) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.mode == b.mode && a.sum == b.sum && a.target == b.target
}

func (l list) find(path string) *entry {
	i, ok := slices.BinarySearchFunc(l.entries, path, func(e entry, p string) int { return cmp.Compare(e.path, p) })
	if !ok {
		return nil
	}
	return &l.entries[i]
}

// maxList bounds the file of a list, in bytes.
const maxList = 2 << 30

// listVersion is the format of a list.
const listVersion = 2

type listHead struct {
	Version int    `json:"version"`
	Dir     string `json:"dir"`
	Taken   int64  `json:"taken"` // ns
	Entries int    `json:"entries"`
	Holes   int    `json:"holes"`
}

// A listLine is an entry or a hole. Names are as tree.Quote gives them.
type listLine struct {
	Path   string `json:"path"`
	Mode   uint32 `json:"mode,omitempty"`
	Size   int64  `json:"size,omitempty"`
	Sum    string `json:"sum,omitempty"`
	At     int64  `json:"at,omitempty"`
	Stored int64  `json:"stored,omitempty"`
	Mtime  int64  `json:"mtime,omitempty"` // ns, like Ctime
	Ctime  int64  `json:"ctime,omitempty"`
	Ino    uint64 `json:"ino,omitempty"`
	Target string `json:"target,omitempty"`
	Why    string `json:"why,omitempty"`
	Git    bool   `json:"git,omitempty"`
}

func writeList(name string, l list) error {
	f, err := atomicfile.Create(name, 0o600)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(f, 64<<10)
	enc := json.NewEncoder(out)
	err = enc.Encode(listHead{listVersion, tree.Quote(l.dir), l.taken.UnixNano(), len(l.entries), len(l.holes)})
	for _, e := range l.entries {
		line := listLine{Path: tree.Quote(e.path), Mode: uint32(e.mode), Target: tree.Quote(e.target)}
		if e.mode.IsRegular() {
			line.Size, line.Sum, line.At, line.Stored = e.size, hex.EncodeToString(e.sum[:]), e.at, e.stored
			line.Mtime, line.Ctime, line.Ino = e.mtime, e.ctime, e.ino
		}
		err = cmp.Or(err, enc.Encode(line))
	}
	for _, h := range l.holes {
		err = cmp.Or(err, enc.Encode(listLine{Path: tree.Quote(h.Path), Why: h.Why, Git: h.git}))
	}
	if err = cmp.Or(err, out.Flush()); err != nil {
		f.Abort()
		return fmt.Errorf("write %s: %w", name, err)
	}
	return f.Commit()
}

func readList(name string) (list, error) {
	f, err := os.Open(name)
	if err != nil {
		return list{}, err
	}
	defer f.Close()
	l, err := decodeList(json.NewDecoder(bufio.NewReaderSize(io.LimitReader(f, maxList), 64<<10)))
	if err != nil {
		return list{}, fmt.Errorf("%s is not as it was written: %w", name, err)
	}
	return l, nil
}

func decodeList(in *json.Decoder) (list, error) {
	var head listHead
	if err := in.Decode(&head); err != nil {
		return list{}, err
	}
	dir, err := tree.Unquote(head.Dir)
	if err != nil || head.Version != listVersion || !filepath.IsAbs(dir) {
		return list{}, errors.New("its first line is of no list of this version")
	}
	l := list{dir: dir, taken: time.Unix(0, head.Taken)}
	for range head.Entries {
		e, err := decodeEntry(in)
		if err != nil {
			return list{}, err
		}
		if n := len(l.entries); n > 0 && l.entries[n-1].path >= e.path {
			return list{}, fmt.Errorf("%q is out of order", e.path)
		}
		l.entries = append(l.entries, e)
	}
	for _, e := range l.entries {
		if up := path.Dir(e.path); up != "." {
			if d := l.find(up); d == nil || !d.mode.IsDir() {
				return list{}, fmt.Errorf("%q lies in no directory", e.path)
			}
		}
	}
	for range head.Holes {
		var line listLine
		if err := in.Decode(&line); err != nil {
			return list{}, err
		}
		p, err := tree.Unquote(line.Path)
		if err != nil {
			return list{}, err
		}
		l.holes = append(l.holes, Hole{p, line.Why, line.Git})
	}
	return l, nil
}

func decodeEntry(in *json.Decoder) (entry, error) {
	var line listLine
	if err := in.Decode(&line); err != nil {
		return entry{}, err
	}
	e := entry{mode: fs.FileMode(line.Mode), content: content{size: line.Size, at: line.At, stored: line.Stored}, stat: stat{line.Mtime, line.Ctime, line.Ino}}
	var errPath, errTarget error
	e.path, errPath = tree.Unquote(line.Path)
	e.target, errTarget = tree.Unquote(line.Target)
	if err := cmp.Or(errPath, errTarget); err != nil {
		return entry{}, err
	}
	if !fs.ValidPath(strings.ToValidUTF8(e.path, "_")) || e.path == "." || !filepath.IsLocal(filepath.FromSlash(e.path)) || slices.ContainsFunc(strings.Split(e.path, "/"), isDotGit) {
		return entry{}, fmt.Errorf("%q is no path of a snapshot", e.path)
	}
	switch e.mode.Type() {
	case 0:
		if n, err := hex.Decode(e.sum[:], []byte(line.Sum[:min(len(line.Sum), 2*len(e.sum))])); err != nil || n != len(e.sum) || !e.content.possible() {
			return entry{}, fmt.Errorf("%q has no content", e.path)
		}
	case fs.ModeDir, fs.ModeSymlink:
	default:
		return entry{}, fmt.Errorf("%q is of no kind that a snapshot holds", e.path)
	}
	return e, nil
}
