package opencode

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"opencode-delegate/internal/fault"
)

func TestEnvironOfAWorker(t *testing.T) {
	base := []string{
		"PATH=/bin", "HOME=/home/u", "PWD=/somewhere", "OLDPWD=/x", "TMPDIR=/tmp",
		"CLAUDECODE=1", "CLAUDE_CODE_SESSION_ID=s", "CLAUDE_PLUGIN_ROOT=/p", "ANTHROPIC_API_KEY=k", "ANTHROPIC_BASE_URL=u",
		"OPENCODE=1", "AGENT=1", "OPENCODE_PID=3", "OPENCODE_CLIENT=c", "OPENCODE_SERVER_PASSWORD=p", "OPENCODE_PERMISSION={}", "OPENCODE_AUTO_SHARE=1",
		"OPENCODE_CONFIG=/c", "OPENCODE_CONFIG_DIR=/d", "OPENCODE_API_KEY=ok", "OPENCODE_AUTH_CONTENT=a", "OPENCODE_MODELS_URL=m", "OPENCODE_DB=db", "OPENCODE_DISABLE_LSP_DOWNLOAD=1",
		"OPENCODE_CONFIG_CONTENT={\"model\":\"a/b\",\"permission\":\"allow\",}",
		"SSH_AUTH_SOCK=/s", "DBUS_SESSION_BUS_ADDRESS=/b", "TMUX=/t", "DOCKER_HOST=h",
		"GIT_DIR=/elsewhere/.git", "GIT_INDEX_FILE=i", "GIT_WORK_TREE=/elsewhere", "GIT_SSH_COMMAND=kept", "OPENAI_API_KEY=kept", "AGENTS=kept", "EMPTY=", "=odd", "broken",
	}
	before := slices.Clone(base)
	env, err := Environ(base, EnvOptions{Dir: "/work dir", TmpDir: "/private", Keep: []string{"TMUX", "ANTHROPIC_BASE_URL"}, Config: []byte(`{"permission":{"*":"deny"}}`), Permission: `{"*":"deny"}`})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(base, before) {
		t.Error("the caller's environment was changed")
	}
	got := map[string]string{}
	for _, kv := range env {
		k, v, _ := strings.Cut(kv, "=")
		if _, twice := got[k]; twice {
			t.Errorf("%s stands twice", k)
		}
		got[k] = v
	}
	for k, v := range map[string]string{
		"PATH": "/bin", "HOME": "/home/u", "PWD": "/work dir", "TMPDIR": "/private", "OPENCODE_CONFIG": "/c", "OPENCODE_CONFIG_DIR": "/d", "OPENCODE_API_KEY": "ok",
		"OPENCODE_AUTH_CONTENT": "a", "OPENCODE_MODELS_URL": "m", "OPENCODE_DB": "db", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1",
		"OPENCODE_PERMISSION": `{"*":"deny"}`, "GIT_SSH_COMMAND": "kept", "OPENAI_API_KEY": "kept", "AGENTS": "kept", "EMPTY": "", "TMUX": "/t", "ANTHROPIC_BASE_URL": "u",
	} {
		if w, ok := got[k]; !ok || w != v {
			t.Errorf("%s=%q, want %q", k, w, v)
		}
	}
	for _, k := range []string{"OLDPWD", "CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_PLUGIN_ROOT", "ANTHROPIC_API_KEY", "OPENCODE", "AGENT", "OPENCODE_PID", "OPENCODE_CLIENT",
		"OPENCODE_SERVER_PASSWORD", "OPENCODE_AUTO_SHARE", "SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "DOCKER_HOST", "GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE", "OPENCODE_DISABLE_PROJECT_CONFIG", "NO_PROXY"} {
		if v, ok := got[k]; ok {
			t.Errorf("%s=%q reached the worker", k, v)
		}
	}
	var config struct {
		Model      string
		Permission map[string]string
	}
	if err := json.Unmarshal([]byte(got["OPENCODE_CONFIG_CONTENT"]), &config); err != nil || config.Model != "a/b" || config.Permission["*"] != "deny" {
		t.Errorf("OPENCODE_CONFIG_CONTENT %s: %v", got["OPENCODE_CONFIG_CONTENT"], err)
	}
	if _, err := Environ([]string{"OPENCODE_CONFIG_CONTENT=[1]"}, EnvOptions{Config: []byte("{}")}); fault.Of(err) == nil || fault.Of(err).Kind != fault.Usage {
		t.Errorf("a configuration that cannot be read: %v", err)
	}
	without, _ := Environ(base, EnvOptions{NoProjectConfig: true})
	if !slices.Contains(without, "OPENCODE_DISABLE_PROJECT_CONFIG=1") || !slices.Contains(without, base[24]) || slices.Contains(without, "PWD=/somewhere") {
		t.Errorf("%q", without)
	}
}

func TestLoopbackIsNotForTheProxy(t *testing.T) {
	for _, c := range []struct{ base, want []string }{
		{nil, nil},
		{[]string{"NO_PROXY=x"}, nil},
		{[]string{"HTTPS_PROXY=p"}, []string{"NO_PROXY=localhost,127.0.0.1,::1", "no_proxy=localhost,127.0.0.1,::1"}},
		{[]string{"http_proxy=p", "no_proxy=corp, 127.0.0.1"}, []string{"NO_PROXY=corp,127.0.0.1,localhost,::1", "no_proxy=corp,127.0.0.1,localhost,::1"}},
		{[]string{"ALL_PROXY=p", "NO_PROXY=*"}, []string{"NO_PROXY=*", "no_proxy=*"}},
	} {
		if got := loopbackPastProxy(c.base); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.base, got, c.want)
		}
	}
}
