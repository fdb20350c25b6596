package opencode

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/cpu"
)

// resolve turns a path that a person or a search found into the program to start.
//
// npm installs the package opencode-ai, whose bin file is one of three things: the platform's binary (its install script
// has replaced the file), a Node script that looks for that binary and starts it, or, when install scripts are
// switched off as pnpm does, a text that only explains this. In the last two cases the binary lies in a package of its
// own beside it, opencode-<platform>-<arch>.
func resolve(path string, getenv func(string) string) (string, error) {
	if err := executable(path); err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	start, err := head(real, 512)
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	if native(start) {
		// A version manager's shim is one binary under many names: its own name is what it acts on.
		if base := filepath.Base(real); strings.HasPrefix(strings.TrimPrefix(base, "."), "opencode") {
			return real, nil
		}
		return path, nil
	}
	if pkg := npmPackage(real); pkg != "" {
		if p := packageBinary(pkg, getenv("OPENCODE_BIN_PATH")); p != "" {
			return p, nil
		}
		if !bytes.HasPrefix(start, []byte("#!")) {
			return "", fmt.Errorf("%s: the install script of opencode-ai did not run: node %s", path, filepath.Join(pkg, "postinstall.mjs"))
		}
	}
	if bytes.HasPrefix(start, []byte("#!")) || runtime.GOOS == "windows" {
		return path, nil
	}
	return "", fmt.Errorf("%s: not a program", path)
}

// native reports whether a file begins like a program of ELF, Mach-O or PE.
func native(start []byte) bool {
	for _, magic := range []string{"\x7fELF", "\xcf\xfa\xed\xfe", "\xce\xfa\xed\xfe", "\xca\xfe\xba\xbe", "MZ"} {
		if bytes.HasPrefix(start, []byte(magic)) {
			return true
		}
	}
	return false
}

// npmPackage is the directory of the package opencode-ai that a launcher belongs to, or "".
func npmPackage(launcher string) string {
	candidates := []string{filepath.Dir(filepath.Dir(launcher))}
	if runtime.GOOS == "windows" {
		// There npm puts a .cmd beside node_modules instead of a link into it.
		candidates = append(candidates, filepath.Join(filepath.Dir(launcher), "node_modules", "opencode-ai"))
	}
	for _, dir := range candidates {
		text, err := head(filepath.Join(dir, "package.json"), 64<<10)
		if err != nil {
			continue
		}
		var pkg struct {
			Name string `json:"name"`
		}
		if json.Unmarshal(text, &pkg) == nil && pkg.Name == "opencode-ai" {
			return dir
		}
	}
	return ""
}

// packageBinary is the platform's binary of the npm package in dir, looked for where its own launcher looks, or "".
func packageBinary(dir, override string) string {
	own := []string{filepath.Join(dir, "bin", ".opencode"), filepath.Join(dir, "bin", "opencode.exe")}
	if filepath.IsAbs(override) {
		own = append([]string{override}, own...)
	}
	for _, p := range own {
		if start, err := head(p, 8); err == nil && native(start) && executable(p) == nil {
			return p
		}
	}
	for at := dir; ; {
		if p := platformBinary(at); p != "" {
			return p
		}
		up := filepath.Dir(at)
		if up == at {
			return ""
		}
		at = up
	}
}

// platformBinary is the binary of the platform package in dir/node_modules, or "".
func platformBinary(dir string) string {
	name := "opencode"
	if runtime.GOOS == "windows" {
		name = "opencode.exe"
	}
	for _, pkg := range platformPackages(runtime.GOOS, runtime.GOARCH, cpu.X86.HasAVX2, musl()) {
		p := filepath.Join(dir, "node_modules", pkg, "bin", name)
		start, err := head(p, 8)
		if err != nil || !native(start) || executable(p) != nil {
			continue
		}
		if real, err := filepath.EvalSymlinks(p); err == nil {
			p = real
		}
		return p
	}
	return ""
}

// platformPackages lists the npm packages that may hold the binary, best first. The plain x64 builds need AVX2 and die
// of SIGILL without it; the baseline builds run everywhere.
func platformPackages(goos, goarch string, avx2, musl bool) []string {
	switch goarch {
	case "amd64":
		goarch = "x64"
	}
	base := "opencode-" + goos + "-" + goarch
	variants := []string{base}
	if goarch == "x64" {
		variants = []string{base, base + "-baseline"}
		if !avx2 {
			variants = []string{base + "-baseline"}
		}
	}
	if goos != "linux" {
		return variants
	}
	withMusl := make([]string, len(variants))
	for i, v := range variants {
		withMusl[i] = v + "-musl"
	}
	if musl {
		return append(withMusl, variants...)
	}
	return append(variants, withMusl...)
}

// musl reports whether the C library is musl: Alpine and its kin, where a binary linked against glibc does not start.
func musl() bool {
	if runtime.GOOS != "linux" {
		return false
	}
	_, err := os.Stat("/etc/alpine-release")
	return err == nil
}

// readFull reads until buf is full or the reader ends. The end of the reader is no error.
func readFull(r io.Reader, buf []byte) (int, error) {
	n, err := io.ReadFull(r, buf)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return n, err
}
