package cli

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestVersion(t *testing.T) {
	const revision = "0123456789abcdef0123456789abcdef01234567"
	for _, c := range []struct {
		info *debug.BuildInfo
		want string
	}{
		{nil, Release},
		{&debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, Release},
		{&debug.BuildInfo{Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: revision}, {Key: "vcs.modified", Value: "false"}}}, Release + " (0123456789ab)"},
		{&debug.BuildInfo{Settings: []debug.BuildSetting{{Key: "vcs.modified", Value: "true"}, {Key: "vcs.revision", Value: revision}}}, Release + " (0123456789ab, modified)"},
		{&debug.BuildInfo{Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "42"}}}, Release + " (42)"},
	} {
		if got, want := version(c.info), c.want+" "+runtime.GOOS+"/"+runtime.GOARCH; got != want {
			t.Errorf("version(%+v) is %q, want %q", c.info, got, want)
		}
	}
}
