//go:build unix

package ledger

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A disk that takes a part of a line takes nothing: the next entry finds the ledger as it was.
func TestADiskThatIsFull(t *testing.T) {
	l := fresh(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	line, err := entry(noon).line()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", `ulimit -f 1 && exec "$0"`, self) // 512 bytes, or 1024 in some shells
	cmd.Env = append(os.Environ(), "LEDGER_TEST_DIR="+l.dir, "LEDGER_TEST_NAME=20261130-120000-abcdef")
	out, _ := cmd.CombinedOutput()
	kept := strings.Count(string(out), "kept\n")
	if kept < 1 || kept > 1024/len(line) || !strings.Contains(string(out), "ledger: write ") {
		t.Fatalf("%s", out)
	}
	if data, err := os.ReadFile(filepath.Join(l.dir, "2026-11-30.jsonl")); err != nil || strings.Count(string(data), "\n") != kept || !strings.HasSuffix(string(data), "\n") {
		t.Errorf("%v\n%s", err, data)
	}
	put(t, l, entry(noon))
	if rep := report(t, l, time.Time{}, ByTier); rep.Total.Entries != int64(kept)+1 || rep.Damaged != 0 {
		t.Errorf("%+v", rep)
	}
}
