package job

import (
	"context"
	"io/fs"
	"path/filepath"
)

// usageLimit is how many files of one record are measured; a record has some twenty, the worker's TMPDIR while it runs, and the copies of an isolated run.
const usageLimit = 10_000_000

// usage is what a record needs on the disk. Links are not followed; what cannot be read counts for nothing.
func usage(ctx context.Context, dir string) (sum int64, err error) {
	n := 0
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			if path == dir {
				return err
			}
			return nil
		}
		if n++; n > usageLimit {
			return filepath.SkipAll
		}
		if fi, err := d.Info(); err == nil {
			sum += allocated(fi)
		}
		return ctx.Err()
	})
	return sum, err
}
