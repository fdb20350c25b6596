package delegate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"opencode-delegate/internal/permission"
)

// A worker that has the web has nothing else, whatever a request says.
func TestResearchIsGivenNothing(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	state, project := filepath.Join(root, "state"), filepath.Join(root, "project")
	for _, dir := range []string{filepath.Join(state, ResearchDir), project, filepath.Join(root, "home")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(root, "link")
	if err := os.Symlink(state, link); err != nil {
		t.Fatal(err)
	}
	host := Host{StateRoot: link, Home: filepath.Join(root, "home"), Environ: []string{"HOME=" + filepath.Join(root, "home")}}
	for name, c := range map[string]struct {
		change func(*Request)
		want   string // of the refusal; empty = none
	}{
		"as it is":           {func(*Request) {}, ""},
		"by a link":          {func(r *Request) { r.Dir = filepath.Join(link, ResearchDir) }, ""},
		"in the project":     {func(r *Request) { r.Dir = project }, "and not in " + project},
		"above its place":    {func(r *Request) { r.Dir = state }, "and not in " + state},
		"a file":             {func(r *Request) { r.Files = []string{"/etc/passwd"} }, "given nothing of yours"},
		"a place to read":    {func(r *Request) { r.AllowRead = []string{project} }, "given nothing of yours"},
		"a place to write":   {func(r *Request) { r.AllowWrite = []string{project} }, "given nothing of yours"},
		"a variable":         {func(r *Request) { r.KeepEnv = []string{"AWS_PROFILE"} }, "given nothing of yours"},
		"an agent":           {func(r *Request) { r.Agent = "build" }, "given nothing of yours"},
		"no sandbox":         {func(r *Request) { r.NoSandbox = true }, "given nothing of yours"},
		"a project's plugin": {func(r *Request) { r.TrustProject = true }, "given nothing of yours"},
	} {
		req := Request{Dir: filepath.Join(state, ResearchDir), Profile: permission.Research.Name()}
		c.change(&req)
		cage, err := newCage(req, host)
		if err != nil {
			t.Fatal(err)
		}
		if err := cage.check(); (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
