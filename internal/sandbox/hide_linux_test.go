package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const secret = "SECRET-0815"

// readable reports, for each path, whether its content can be had under the policy.
func (b bench) readable(t *testing.T, p Policy, paths ...string) map[string]bool {
	t.Helper()
	var script strings.Builder
	for i, path := range paths {
		fmt.Fprintf(&script, "grep -qs %s '%s'; echo is %d=$?\n", secret, path, i)
	}
	out, _ := b.sh(t, p, script.String())
	found := map[string]bool{}
	for i, path := range paths {
		found[path] = strings.Contains(out, fmt.Sprintf("is %d=0\n", i))
	}
	return found
}

// hides checks under both policies that the closed files cannot be read and the open ones can.
func (b bench) hides(t *testing.T, closed, open []string) {
	t.Helper()
	for name, p := range map[string]Policy{"read-only": b.readOnly(t), "writing": b.writing(t)} {
		got := b.readable(t, p, append(append([]string{}, closed...), open...)...)
		for _, path := range closed {
			if got[path] {
				t.Errorf("%s: %s can be read", name, path)
			}
		}
		for _, path := range open {
			if !got[path] {
				t.Errorf("%s: %s cannot be read", name, path)
			}
		}
	}
}

func (b bench) home(path string) string { return filepath.Join(b.run.Home, path) }

func (b bench) put(t *testing.T, paths ...string) []string {
	t.Helper()
	for _, path := range paths {
		put(t, path, secret+"\n")
	}
	return paths
}

func link(t *testing.T, target, path string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCredentialsAreHidden(t *testing.T) {
	b := newBench(t)
	var closed []string
	for _, path := range []string{".ssh/id_rsa", ".gnupg/private-keys-v1.d/k", ".aws/credentials", ".azure/t", ".config/gcloud/c.json", ".kube/config",
		".docker/config.json", ".netrc", ".git-credentials", ".config/git/credentials", ".config/gh/hosts.yml", ".pypirc", ".claude/.credentials.json",
		".claude/projects/p/t.jsonl", ".claude.json", ".codex/auth.json", ".cursor/c", ".config/github-copilot/hosts.json", ".password-store/a.gpg",
		".local/share/keyrings/login.keyring", ".config/google-chrome/Default/Cookies", ".mozilla/firefox/p/logins.json", ".bash_history"} {
		closed = append(closed, b.home(path))
	}
	// Needed for work, or by opencode; and neighbours of what is hidden.
	var open []string
	for _, path := range []string{".npmrc", ".gitconfig", ".config/git/config", ".config/pip/pip.conf", ".docker/cli-plugins/x", ".local/share/x/y", "work/notes",
		".claude/CLAUDE.md", ".claude/skills/s/SKILL.md", ".local/share/opencode/auth.json", ".config/opencode/opencode.json", ".sshrc", ".cargo/config.toml"} {
		open = append(open, b.home(path))
	}
	open = append(open, filepath.Join(b.run.Dir, "x"), filepath.Join(b.out, "y"))
	b.put(t, append(append([]string{}, closed...), open...)...)
	b.hides(t, closed, open)
}

func TestHiddenPlacesCannotBeReachedByAnotherName(t *testing.T) {
	b := newBench(t)
	key := b.put(t, b.home(".ssh/id_rsa"))[0]
	closed := []string{
		link(t, b.home(".ssh"), b.home("innocent")) + "/id_rsa", link(t, key, b.home("file")), link(t, key, filepath.Join(b.run.Dir, "file")),
		"/proc/self/root" + key, link(t, b.run.Home, filepath.Join(b.root, "home-link")) + "/.ssh/id_rsa", b.home(".config/../.ssh/id_rsa"),
	}
	b.hides(t, closed, nil)
	for name, p := range map[string]Policy{"read-only": b.readOnly(t), "writing": b.writing(t)} {
		out, _ := b.sh(t, p, fmt.Sprintf("cp %s $TMPDIR/copy; ln %s $TMPDIR/hard; mv %s $TMPDIR/moved; cat $TMPDIR/*", key, key, b.home(".ssh")))
		if strings.Contains(out, secret) {
			t.Errorf("%s: %s", name, out)
		}
	}
}

// A place can be a link, or hold links, to where its owner really keeps it.
func TestHidingFollowsLinks(t *testing.T) {
	b := newBench(t)
	closed := b.put(t, filepath.Join(b.root, "vault/id_rsa"), b.home("dotfiles/netrc"), b.home("dotfiles/aws-credentials"), b.home("dotfiles/deep"))
	open := b.put(t, b.home("dotfiles/vimrc"), filepath.Join(b.root, "vaults"))
	closed = append(closed,
		link(t, filepath.Join(b.root, "vault"), b.home(".ssh"))+"/id_rsa", link(t, "dotfiles/netrc", b.home(".netrc")),
		link(t, "../dotfiles/aws-credentials", b.home(".aws/credentials")), link(t, "../../dotfiles/deep", b.home(".kube/cache/deep")))
	link(t, "/no/such/place", b.home(".gnupg"))
	link(t, ".azure", b.home(".azure")) // a loop
	b.hides(t, closed, open)
}

func TestHidingFollowsTheEnvironment(t *testing.T) {
	b := newBench(t)
	moved := filepath.Join(b.root, "moved")
	b.run.Environ = append(b.run.Environ, "KUBECONFIG="+moved+"/k1:"+moved+"/k2:relative", "XDG_CONFIG_HOME="+moved+"/config",
		"CLAUDE_CONFIG_DIR="+moved+"/claude", "AWS_SHARED_CREDENTIALS_FILE="+moved+"/missing", "GNUPGHOME="+b.run.Home)
	b.hides(t, b.put(t, moved+"/k1", moved+"/k2", moved+"/config/gh/hosts.yml", moved+"/claude/.credentials.json"),
		b.put(t, moved+"/k3", moved+"/config/git/config", b.home("work")))
}

func TestAllowRead(t *testing.T) {
	b := newBench(t)
	b.run.AllowRead = []string{b.home(".aws"), b.home(".ssh/known_hosts"), b.out}
	open := b.put(t, b.home(".aws/credentials"), b.home(".ssh/known_hosts"), filepath.Join(b.out, "x"))
	b.hides(t, b.put(t, b.home(".ssh/id_rsa"), b.home(".netrc")), open)

	b.run.AllowRead = []string{b.run.Home}
	b.hides(t, nil, append(open, b.home(".ssh/id_rsa"), b.home(".netrc")))

	b.run.AllowRead = []string{b.home("missing")}
	if _, err := b.run.ReadOnly(); !usage(err, "--allow-read", "missing") {
		t.Errorf("a missing path: %v", err)
	}
}

func TestProjectsAroundAndInsideHiddenPlaces(t *testing.T) {
	b := newBench(t)
	key, project, other := b.home(".ssh/id_rsa"), b.home(".claude/skills-of-mine/x"), b.home(".claude/.credentials.json")
	b.put(t, key, project, other)
	b.run.Dir = filepath.Dir(project)
	b.hides(t, []string{key, other}, []string{project})

	// HOME as a project, and a project that holds HOME: only reading, since a writing run is refused there.
	for _, dir := range []string{b.run.Home, b.root} {
		b.run.Dir = dir
		if got := b.readable(t, b.readOnly(t), key, other, b.put(t, b.home("work/x"))[0]); got[key] || got[other] || !got[b.home("work/x")] {
			t.Errorf("in %s: %v", dir, got)
		}
	}
}

// What appears beside a hidden place after the start has no rule, and cannot be read.
func TestLaterNeighboursAreClosed(t *testing.T) {
	b := newBench(t)
	b.put(t, b.home(".ssh/id_rsa"), b.home("work/old"))
	ready, late := filepath.Join(b.run.Tmp, "ready"), filepath.Join(b.run.Tmp, "late")
	go func() {
		for range 1000 {
			if _, err := os.Stat(ready); err == nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		_ = os.WriteFile(b.home("later"), []byte(secret), 0o600)
		_ = os.WriteFile(b.home("work/later"), []byte(secret), 0o600)
		_ = os.WriteFile(late, nil, 0o600)
	}()
	out, _ := b.sh(t, b.readOnly(t), `touch $TMPDIR/ready; until test -e $TMPDIR/late; do sleep 0.02; done; cat ~/later; echo; cat ~/work/later`)
	if strings.Count(out, secret) != 1 || !strings.Contains(out, "later: Permission denied") {
		t.Errorf("output: %s", out)
	}
}

// A home with very many entries costs time for each of them; it has to stay far below what opencode needs to start.
func TestManyEntries(t *testing.T) {
	b := newBench(t)
	b.put(t, b.home(".ssh/id_rsa"))
	for i := range 10_000 {
		if err := os.WriteFile(b.home(fmt.Sprintf("entry-%05d", i)), []byte(secret), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := b.readOnly(t)
	start := time.Now()
	got := b.readable(t, p, b.home("entry-09999"), b.home(".ssh/id_rsa"))
	took := time.Since(start)
	t.Logf("10,000 entries: %v", took)
	if !got[b.home("entry-09999")] || got[b.home(".ssh/id_rsa")] || took > 5*time.Second {
		t.Errorf("%v after %v", got, took)
	}
}
