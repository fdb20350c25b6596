package sandbox

import (
	"slices"
	"strings"
)

// DropEnv names the variables that leave the worker's environment: each leads to something that acts for the user outside
// the sandbox, usually a socket with a path, which Landlock leaves open. A name that ends in * stands for all that begin so.
var DropEnv = []string{
	"DBUS_*", "XDG_RUNTIME_DIR", "NOTIFY_SOCKET", // the session and system buses start programs; the default bus lies in the runtime directory
	"SSH_AUTH_SOCK", "SSH_AGENT_PID", "SSH_ASKPASS", "SSH_ASKPASS_REQUIRE", "GIT_ASKPASS", "SUDO_ASKPASS", "GPG_AGENT_INFO", "GNOME_KEYRING_*", // keys
	"DOCKER_*", "CONTAINER_HOST", "CONTAINERD_ADDRESS", "BUILDKIT_HOST", "LIBVIRT_DEFAULT_URI", // a container mounts whatever it is told to
	"TMUX", "TMUX_PANE", "STY", "ZELLIJ*", "KITTY_LISTEN_ON", "WEZTERM_UNIX_SOCKET", "ALACRITTY_SOCKET", // terminals that take keystrokes
	"NVIM", "NVIM_LISTEN_ADDRESS", "VSCODE_*", "EMACS_SOCKET_NAME", // editors that run commands
	"DISPLAY", "WAYLAND_DISPLAY", "WAYLAND_SOCKET", "XAUTHORITY", "SESSION_MANAGER", "AT_SPI_BUS_ADDRESS", "SWAYSOCK", "I3SOCK", "HYPRLAND_*", // the desktop
}

// Dropped reports whether a variable of this name leaves the worker's environment.
func Dropped(name string) bool {
	for _, d := range DropEnv {
		if prefix, ok := strings.CutSuffix(d, "*"); ok && strings.HasPrefix(name, prefix) || d == name {
			return true
		}
	}
	return false
}

// AddEnv returns what joins the worker's environment under a policy, but for variables that are set already (npm's in any case).
//
// opencode fetches its plugin SDK into every configuration directory that it finds. A read-only run could not keep it, and where
// there is no network the attempt would hold up a repository with plugins or tools for npm's two retries, 70 s (measured): so
// npm stays offline there, and elsewhere waits little.
func AddEnv(environ []string, writing bool) []string {
	add := []string{"npm_config_fetch_retry_mintimeout=1000", "npm_config_fetch_retry_maxtimeout=3000"}
	if !writing {
		add = []string{"npm_config_offline=true"}
	}
	return slices.DeleteFunc(add, func(a string) bool {
		name, _, _ := strings.Cut(a, "=")
		return slices.ContainsFunc(environ, func(e string) bool {
			set, _, _ := strings.Cut(e, "=")
			return strings.EqualFold(set, name)
		})
	})
}
