package cli

import (
	"runtime"
	"runtime/debug"
)

// Release is the version of the commands and of the plugin, which are one product: a test in plugin/ holds it equal to plugin.json.
const Release = "0.1.0"

// Version is the release, the commit behind it where the build knows that, and the platform.
func Version() string {
	info, _ := debug.ReadBuildInfo()
	return version(info)
}

func version(info *debug.BuildInfo) string {
	var commit, modified string
	if info != nil {
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				commit = s.Value[:min(12, len(s.Value))]
			case s.Key == "vcs.modified" && s.Value == "true":
				modified = ", modified"
			}
		}
	}
	v := Release
	if commit != "" {
		v += " (" + commit + modified + ")"
	}
	return v + " " + runtime.GOOS + "/" + runtime.GOARCH
}
