package sandbox

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestReadOnlyHoldsAgainstAShell(t *testing.T) {
	b := newBench(t)
	write1(t, filepath.Join(b.run.Home, ".ssh/id_rsa"), "SECRET")
	out, code := b.sh(t, b.readOnly(t), `cat ~/.ssh/id_rsa; echo x > b; echo y > $TMPDIR/c && cat $TMPDIR/c; env`)
	if strings.Contains(out, "SECRET") || strings.Contains(out, policyEnv) || strings.Count(out, "Permission denied") != 2 || code != 0 {
		t.Errorf("exit %d, output:\n%s", code, out)
	}
}
