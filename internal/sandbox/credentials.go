package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
)

// A place is where a program keeps something: path is absolute, or below HOME or the XDG directory that stands in its stead; env names a
// variable that may hold another path (or a list of them) for the same thing.
type place struct {
	path string
	env  string
}

// credentials are the places that no run may read: who has what lies there can act as the user, elsewhere. In the list
// stand only places that the work on a repository does not need. Left out on purpose, since tools stop without them: ~/.npmrc (npm fails when
// it cannot read it), ~/.gitconfig, ~/.config/git/config, ~/.config/pip, ~/.m2/settings.xml, ~/.gradle/gradle.properties,
// ~/.bunfig.toml, ~/.yarnrc.yml: a token in them can be read. opencode's own auth.json can be read too, because opencode needs it.
var credentials = []place{
	// keys and the keyrings
	{path: ".ssh"}, {path: ".gnupg", env: "GNUPGHOME"}, {path: ".password-store", env: "PASSWORD_STORE_DIR"},
	{path: ".local/share/keyrings"}, {path: ".local/share/kwalletd"}, {path: ".config/op"}, {path: ".config/Bitwarden CLI"},
	{path: ".config/sops"}, {path: ".config/age"}, {path: ".vault-token"}, {path: ".local/share/pass"},
	// clouds and clusters
	{path: ".aws", env: "AWS_SHARED_CREDENTIALS_FILE"}, {path: ".azure", env: "AZURE_CONFIG_DIR"},
	{path: ".config/gcloud", env: "CLOUDSDK_CONFIG"}, {path: ".boto"}, {env: "GOOGLE_APPLICATION_CREDENTIALS"}, {env: "AWS_CONFIG_FILE"},
	{path: ".kube", env: "KUBECONFIG"}, {path: ".s3cfg"}, {path: ".config/rclone"}, {path: ".config/doctl"}, {path: ".config/hcloud"},
	{path: ".oci"}, {path: ".fly"}, {path: ".config/heroku"}, {path: ".local/share/com.vercel.cli"}, {path: ".config/netlify"},
	{path: ".terraform.d/credentials.tfrc.json"}, {path: ".pulumi/credentials.json"}, {path: ".config/ngrok"},
	// containers: settings of the client stay readable, logins do not
	{path: ".docker/config.json"}, {path: ".docker/contexts"}, {path: ".config/containers/auth.json", env: "REGISTRY_AUTH_FILE"},
	{path: "/run/secrets"}, {path: "/var/run/secrets"},
	// hosts of code and packages
	{path: ".netrc", env: "NETRC"}, {path: "_netrc"}, {path: ".authinfo"}, {path: ".authinfo.gpg"}, {path: ".git-credentials"},
	{path: ".config/git/credentials"}, {path: ".cache/git/credential"}, {path: ".config/gh", env: "GH_CONFIG_DIR"},
	{path: ".config/hub"}, {path: ".config/glab-cli"}, {path: ".config/tea"}, {path: ".pypirc"},
	{path: ".cargo/credentials"}, {path: ".cargo/credentials.toml"}, {path: ".gem/credentials"}, {path: ".composer/auth.json"},
	{path: ".config/composer/auth.json"}, {path: ".config/NuGet"}, {path: ".nuget/NuGet/NuGet.Config"},
	// databases
	{path: ".pgpass", env: "PGPASSFILE"}, {path: ".my.cnf"}, {path: ".mylogin.cnf"}, {path: ".config/snowflake"}, {path: ".snowflake"},
	// agents: the worker must never act or pay as the conductor, nor read what it was told
	{path: ".claude", env: "CLAUDE_CONFIG_DIR"}, {path: ".claude.json"}, {path: ".config/claude"}, {path: ".config/Claude"},
	{path: ".codex", env: "CODEX_HOME"}, {path: ".cursor"}, {path: ".config/Cursor"}, {path: ".config/cursor"},
	{path: ".gemini"}, {path: ".config/github-copilot"}, {path: ".copilot"}, {path: ".config/goose"}, {path: ".local/share/amp"},
	{path: ".config/aichat"}, {path: ".config/openai"}, {path: ".continue"}, {path: ".codeium"},
	// profiles of browsers and mail: sessions that are logged in
	{path: ".mozilla"}, {path: ".config/mozilla"}, {path: ".cache/mozilla"}, {path: ".config/google-chrome"}, {path: ".config/chromium"},
	{path: ".config/BraveSoftware"}, {path: ".config/microsoft-edge"}, {path: ".config/vivaldi"}, {path: ".config/opera"},
	{path: ".thunderbird"}, {path: ".var/app"}, {path: "snap/firefox"}, {path: "snap/chromium"},
	{path: ".config/Slack"}, {path: ".config/discord"}, {path: ".config/Signal"}, {path: ".local/share/TelegramDesktop"},
	// what was typed: passwords are typed too
	{path: ".bash_history"}, {path: ".zsh_history"}, {path: ".histfile"}, {path: ".local/share/fish/fish_history"},
	{path: ".python_history"}, {path: ".node_repl_history"}, {path: ".psql_history"}, {path: ".mysql_history"}, {path: ".sqlite_history"},
	{path: ".rediscli_history"}, {path: ".lesshst"}, {path: ".viminfo"}, {path: ".local/state/nvim/shada"}, {path: ".local/share/nvim/shada"},
}

// readable are exceptions inside the hidden places: opencode itself takes a person's general instructions and skills from there.
var readable = []place{
	{path: ".claude/CLAUDE.md"}, {path: ".claude/skills"}, {path: ".claude/agents"}, {path: ".claude/commands"},
	{path: ".codex/AGENTS.md"}, {path: ".codex/skills"},
}

// hidden lists the real paths of the credential places that exist.
func hidden(home string, env func(string) string) []string {
	var found []string
	for _, path := range resolve(credentials, home, env) {
		found = append(found, path)
		found = append(found, linkedFiles(path)...)
	}
	return found
}

// resolve lists the real paths of the places that exist; those of environment variables too.
func resolve(places []place, home string, env func(string) string) []string {
	var found []string
	home = dirOf(home)
	add := func(path string) {
		if real, err := filepath.EvalSymlinks(path); err == nil && !within(home, real) {
			found = append(found, real)
		}
	}
	for _, p := range places {
		if p.path != "" {
			add(locate(p.path, home, env))
		}
		for _, path := range filepath.SplitList(env(p.env)) {
			if filepath.IsAbs(path) {
				add(path)
			}
		}
	}
	return found
}

// bases are the variables that move a part of HOME.
var bases = []struct{ env, dir string }{
	{"XDG_CONFIG_HOME", ".config"}, {"XDG_DATA_HOME", ".local/share"}, {"XDG_STATE_HOME", ".local/state"}, {"XDG_CACHE_HOME", ".cache"},
}

// locate is the path of a place: absolute, or below HOME, or where an XDG variable has moved it.
func locate(path, home string, env func(string) string) string {
	if filepath.IsAbs(path) {
		return path
	}
	for _, b := range bases {
		if moved := env(b.env); filepath.IsAbs(moved) && within(path, b.dir) {
			return filepath.Join(moved, path[len(b.dir):])
		}
	}
	return filepath.Join(home, path)
}

// Limits of linkedFiles.
const (
	linkDepth   = 2
	linkEntries = 512
)

// linkedFiles lists the files outside dir to which links inside it lead, as far as a person who keeps dotfiles in a
// repository makes them: the directory is hidden, and so must be the files that its entries really are.
func linkedFiles(dir string) []string {
	var found []string
	seen := 0
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if seen++; seen > linkEntries {
			return fs.SkipAll
		}
		if err != nil {
			return fs.SkipDir
		}
		if rel, _ := filepath.Rel(dir, path); d.IsDir() && depth(rel) >= linkDepth {
			return fs.SkipDir
		}
		if d.Type()&fs.ModeSymlink == 0 {
			return nil
		}
		real, err := filepath.EvalSymlinks(path)
		if err != nil || within(real, dir) {
			return nil
		}
		if info, err := os.Stat(real); err == nil && info.Mode().IsRegular() {
			found = append(found, real)
		}
		return nil
	})
	return found
}

func depth(rel string) int {
	if rel == "." {
		return 0
	}
	n := 1
	for _, c := range rel {
		if c == filepath.Separator {
			n++
		}
	}
	return n
}
