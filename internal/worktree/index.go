package worktree

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
)

// An index is what git has written into a file of that name (gitformat-index(5), versions 2 to 4), as far as it means something.
type index struct {
	blobs  map[string]string // of stage 0: the names of the contents, in hex, by path
	hidden map[string]bool   // of stage 0: git does not look at the file, since the entry is marked "assume unchanged" or "skip worktree"
	mean   [sha256.Size]byte // of all paths, modes, contents, stages and marks; times and caches do not count
	split  bool              // a part of it stands in another file
}

var errIndex = errors.New("the index is not as git writes it")

// The parts of an entry, in bytes: ten numbers, of which the seventh is the mode; the content's name; flags.
const (
	indexHeader   = 12
	indexNumbers  = 40
	indexModeAt   = 24
	indexExtended = 0x4000
	indexStage    = 0x3000
	indexMarks    = 0xb000 // assume-valid and the stage
	indexAssume   = 0x8000
	indexSkip     = 0x4000 // of the extended flags
)

// parseIndex reads an index. idSize is the length of an object's name, in bytes.
func parseIndex(data []byte, idSize int) (index, error) {
	x := index{blobs: map[string]string{}, hidden: map[string]bool{}}
	if len(data) < indexHeader+idSize || string(data[:4]) != "DIRC" {
		return x, errIndex
	}
	version, count := binary.BigEndian.Uint32(data[4:]), binary.BigEndian.Uint32(data[8:])
	if version < 2 || version > 4 {
		return x, errIndex
	}
	h, at, last := sha256.New(), indexHeader, []byte(nil)
	for range count {
		start, name := at, at+indexNumbers+idSize+2
		if name+2 > len(data) {
			return x, errIndex
		}
		mode, id := data[at+indexModeAt:at+indexModeAt+4], data[at+indexNumbers:at+indexNumbers+idSize]
		flags := binary.BigEndian.Uint16(data[name-2:])
		marks := []byte{byte(flags & indexMarks >> 8), 0, 0}
		if flags&indexExtended != 0 {
			copy(marks[1:], data[name:name+2])
			name += 2
		}
		kept := 0
		if version == 4 { // what the name shares with the one before is left out
			drop, n := indexVarint(data[name:])
			if n == 0 || drop > len(last) {
				return x, errIndex
			}
			name, kept = name+n, len(last)-drop
		}
		end := bytes.IndexByte(data[name:], 0)
		if end < 0 {
			return x, errIndex
		}
		path := append(last[:kept:kept], data[name:name+end]...)
		at = name + end + 1
		if version < 4 {
			at = start + (name+end-start+8)&^7 // padded with one to eight NUL bytes
		}
		if flags&indexStage == 0 {
			x.blobs[string(path)] = hex.EncodeToString(id)
			if marks[0]&(indexAssume>>8) != 0 || marks[1]&(indexSkip>>8) != 0 {
				x.hidden[string(path)] = true
			}
		}
		for _, part := range [][]byte{mode, id, marks, path, {0}} {
			h.Write(part)
		}
		last = path
	}
	for at+8 <= len(data)-idSize {
		x.split = x.split || string(data[at:at+4]) == "link"
		at += 8 + int(binary.BigEndian.Uint32(data[at+4:]))
	}
	h.Sum(x.mean[:0])
	return x, nil
}

// indexVarint is a number as version 4 has them, and how many bytes it takes; none when there is no number.
func indexVarint(data []byte) (value, n int) {
	for n < len(data) && n < 5 {
		c := int(data[n])
		n++
		value |= c & 0x7f
		if c&0x80 == 0 {
			return value, n
		}
		value = (value + 1) << 7
	}
	return 0, 0
}
