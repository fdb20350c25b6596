package tree

import (
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"slices"

	"opencode-delegate/internal/repocode"
)

// maxIndex is the largest index file that is read, in bytes: about 500,000 files.
const maxIndex = 64 << 20

// A blobSet holds, by their first eight bytes, the names of blobs that an index lists. It decides only which contents need
// not be held, because git's object store has them; a wrong answer costs a line count.
type blobSet []uint64

func (b blobSet) has(name [20]byte) bool {
	_, ok := slices.BinarySearch(b, binary.BigEndian.Uint64(name[:]))
	return ok
}

// readIndexes collects the blobs of the index around dir and of each repository that a store belongs to.
func readIndexes(dir string, stores []string) blobSet {
	var set blobSet
	if gitDir, _, _, ok := repocode.Dirs(dir); ok {
		set = readIndex(filepath.Join(gitDir, "index"), set)
	}
	for _, store := range stores {
		set = readIndex(filepath.Join(filepath.Dir(store), "index"), set)
	}
	slices.Sort(set)
	return slices.Compact(set)
}

// readIndex adds the blobs of one index file (gitformat-index(5), versions 2 to 4, SHA-1). It stops at what it does not understand.
func readIndex(path string, set blobSet) blobSet {
	fi, err := os.Lstat(path)
	if err != nil || !fi.Mode().IsRegular() || fi.Size() > maxIndex {
		return set
	}
	f, err := os.OpenFile(path, os.O_RDONLY|openNoBlock, 0)
	if err != nil {
		return set
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxIndex))
	if err != nil {
		return set
	}
	return parseIndex(data, set)
}

func parseIndex(data []byte, set blobSet) blobSet {
	const (
		header   = 12
		fixed    = 62 // bytes of an entry before its name: ten numbers, the blob's name, flags
		blobAt   = 40
		flagsAt  = 60
		extended = 0x4000
	)
	if len(data) < header || string(data[:4]) != "DIRC" {
		return set
	}
	version, count := binary.BigEndian.Uint32(data[4:]), binary.BigEndian.Uint32(data[8:])
	if version < 2 || version > 4 {
		return set
	}
	at := header
	for range count {
		if at+fixed > len(data) {
			return set
		}
		set = append(set, binary.BigEndian.Uint64(data[at+blobAt:]))
		name := at + fixed
		if binary.BigEndian.Uint16(data[at+flagsAt:])&extended != 0 {
			name += 2
		}
		if version == 4 { // the number of bytes to drop from the name before comes first
			for name < len(data) && data[name]&0x80 != 0 {
				name++
			}
			name++
		}
		end := name
		for end < len(data) && data[end] != 0 {
			end++
		}
		if version == 4 {
			at = end + 1
		} else {
			at += (end - at + 8) &^ 7 // padded with one to eight NUL bytes
		}
	}
	return set
}
