package opencode

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"

	"opencode-delegate/internal/atomicfile"
)

// cacheSchema changes when the meaning of a cached answer does; another schema is asked for anew.
const cacheSchema = 1

// A cacheKey says which file an answer holds for. A binary that was replaced differs in at least one of the three.
type cacheKey struct {
	Path    string `json:"path"`
	Size    int64  `json:"size"`
	ModTime int64  `json:"mtime_ns"`
}

type cacheEntry struct {
	Schema int `json:"schema"`
	cacheKey
	Version   string    `json:"version"`
	Abilities Abilities `json:"abilities"`
}

// file is the cache of one binary: each path has a file of its own, so that two probes never rewrite each other's.
func (k cacheKey) file(dir string) string {
	sum := sha256.Sum256([]byte(k.Path))
	return filepath.Join(dir, "opencode-"+hex.EncodeToString(sum[:8])+".json")
}

func (k cacheKey) load(dir string) (Binary, bool) {
	var e cacheEntry
	if !readCache(dir, k.file(dir), &e) {
		return Binary{}, false
	}
	if e.Schema != cacheSchema || e.cacheKey != k || e.Version == "" || !e.Abilities.Format {
		return Binary{}, false
	}
	return Binary{Path: k.Path, Version: e.Version, Abilities: e.Abilities}, true
}

func (k cacheKey) store(dir string, b Binary) {
	writeCache(dir, k.file(dir), cacheEntry{Schema: cacheSchema, cacheKey: k, Version: b.Version, Abilities: b.Abilities})
}

// readCache decodes a file that only we should have written. Anything else at that place is as good as nothing.
func readCache(dir, file string, into any) bool {
	if dir == "" {
		return false
	}
	info, err := os.Lstat(file)
	if err != nil || !info.Mode().IsRegular() || !ours(info) {
		return false
	}
	text, err := head(file, 1<<20)
	return err == nil && json.Unmarshal(text, into) == nil
}

// writeCache replaces a file by rename, so that a reader sees the old or the new one. It may fail silently: the answer
// is then asked for again, that is all. No fsync: a torn file after a crash of the machine does not decode.
func writeCache(dir, file string, value any) {
	if dir == "" || os.MkdirAll(dir, 0o700) != nil {
		return
	}
	text, err := json.Marshal(value)
	if err != nil {
		return
	}
	_ = atomicfile.WriteFast(file, append(text, '\n'), 0o600)
}
