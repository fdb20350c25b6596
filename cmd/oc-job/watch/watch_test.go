package watch

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"

	"opencode-delegate/internal/fault"
)

func TestNeedsATerminal(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	err = Run(t.Context(), r, out, Source{Jobs: func() ([]Row, error) { t.Error("jobs are asked for"); return nil, nil }})
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind != fault.Usage || !strings.Contains(err.Error(), "stdin is none") || len(f.Hints) != 1 || !strings.Contains(f.Hints[0], "oc-job list") {
		t.Errorf("%v", err)
	}
	if info, err := out.Stat(); err != nil || info.Size() > 0 {
		t.Errorf("something was written: %v", info.Size())
	}
}

func TestProfile(t *testing.T) {
	for _, c := range []struct {
		environ []string
		want    colorprofile.Profile
	}{
		{nil, colorprofile.ANSI}, {[]string{"NO_COLOR="}, colorprofile.ANSI}, {[]string{"NO_COLOR=1"}, colorprofile.ASCII},
		{[]string{"NO_COLOR=yes", "TERM=xterm-256color", "CLICOLOR_FORCE=1"}, colorprofile.ASCII}, {[]string{"NO_COLOR=1", "NO_COLOR="}, colorprofile.ANSI},
	} {
		if got := profile(c.environ); got != c.want {
			t.Errorf("%q: %v, want %v", c.environ, got, c.want)
		}
	}
}
