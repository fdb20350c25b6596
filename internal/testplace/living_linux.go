package testplace

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Living are the words of the processes that belong to the place: by their environment, their directory or their words.
func (p *Place) Living() (list []string) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, d := range dirs {
		cwd, _ := os.Readlink(filepath.Join(d, "cwd"))
		environ, _ := os.ReadFile(filepath.Join(d, "environ"))
		words, _ := os.ReadFile(filepath.Join(d, "cmdline"))
		if d != fmt.Sprintf("/proc/%d", os.Getpid()) && strings.Contains(cwd+"\x00"+string(environ)+"\x00"+string(words), p.Root) {
			list = append(list, strings.ReplaceAll(string(words), "\x00", " "))
		}
	}
	return list
}
