//go:build !linux && !darwin

package tree

import (
	"io/fs"
	"strings"
)

// hasChangeTime is false: a program may set all times of a file, so that contents are read again each time.
const hasChangeTime = false

const openNoBlock = 0

func statExtra(fs.FileInfo) (ctime int64, ino uint64) { return 0, 0 }

func foreign(fs.FileInfo) bool { return false }

func isDotGit(name string) bool { return strings.EqualFold(name, ".git") }
