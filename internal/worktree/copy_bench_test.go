package worktree

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Copies of a repository with many files, and of one with large ones: WORKTREE_LARGE is their size together in MB, 64 unless it is said.
func BenchmarkCopies(b *testing.B) {
	must := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	environ := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + b.TempDir()}
	large := 64
	fmt.Sscan(os.Getenv("WORKTREE_LARGE"), &large)
	for name, fill := range map[string]func(dir string){
		"30000 files": func(dir string) { manyFiles(b, dir, 30_000) },
		fmt.Sprint(large, " MB"): func(dir string) {
			r := rand.NewChaCha8([32]byte{})
			for i := range large / 4 {
				text := make([]byte, 4<<20)
				r.Read(text)
				must(os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), text, 0o644))
			}
		},
	} {
		root := b.TempDir()
		dir := filepath.Join(root, "work")
		must(os.Mkdir(dir, 0o755))
		fill(dir)
		for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-q", "-m", "x"}} {
			must(exec.Command("git", append([]string{"-C", dir, "-c", "core.compression=1"}, args...)...).Run())
		}
		n := 0
		place := func() string { n++; return filepath.Join(root, fmt.Sprint(n)) }
		c, err := NewCopy(b.Context(), CopyOptions{Dir: dir, Place: place(), ID: "x", Environ: environ})
		must(err)
		after, err := c.Result(b.Context(), place(), environ)
		must(err)
		for what, one := range map[string]func(at string) error{
			"NewCopy": func(at string) error {
				_, err := NewCopy(b.Context(), CopyOptions{Dir: dir, Place: at, ID: "x", Environ: environ})
				return err
			},
			"Fresh":  func(at string) error { _, err := c.Fresh(b.Context(), at); return err },
			"With":   func(at string) error { _, err := c.With(b.Context(), after, at); return err },
			"Result": func(at string) error { _, err := c.Result(b.Context(), at, environ); return err },
		} {
			b.Run(name+"/"+what, func(b *testing.B) {
				for b.Loop() {
					at := place()
					must(one(at))
					b.StopTimer()
					must(RemovePlace(at))
					b.StartTimer()
				}
			})
		}
	}
}
