package main

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// inMounts runs a shell script in a mount namespace of its own, where it may mount what it likes.
func inMounts(p *place, script string, args ...string) (stdout, stderr string) {
	p.T.Helper()
	flags := "-m"
	if os.Geteuid() != 0 {
		flags = "-rm"
	}
	cmd := exec.Command("unshare", append([]string{flags, "sh", "-c", script, "sh", program(p.T)}, args...)...)
	cmd.Dir, cmd.Env = p.Project, p.Env
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.Run() // the signal line tells
	return out.String(), errs.String()
}

// A full disk is said, and the run has its own verdict and its answer.
func TestFullDisk(t *testing.T) {
	const full = `mkdir -p "$OC_DELEGATE_STATE" && mount -t tmpfs -o size=32k,mode=700 none "$OC_DELEGATE_STATE" || exit 99
mkdir "$OC_DELEGATE_STATE/jobs" "$OC_DELEGATE_STATE/cache"; `
	for name, script := range map[string]string{
		"from the start": full + `cat /dev/zero > "$OC_DELEGATE_STATE/cache/fill" 2>/dev/null; "$@"`,
		"in the middle":  full + `"$@"`,
		"file size":      `ulimit -f 0; "$@"`,
	} {
		t.Run(name, func(t *testing.T) {
			p := fakePlace(t, "OC_FAKE=many-events:500")
			stdout, stderr := inMounts(p, script, "x")
			s := signalOf(t, stderr)
			if s["status"] != "OK" || s["exit"] != 0.0 {
				t.Errorf("signal %v", s)
			}
			if !strings.Contains(stdout, "Hello") {
				t.Errorf("stdout %q", stdout)
			}
			if !strings.Contains(stderr, "the record is not complete") {
				t.Errorf("nothing was said of the record: %s", stderr)
			}
		})
	}
}

// A state directory that cannot be written is a wrong call, said at once.
func TestReadOnlyState(t *testing.T) {
	p := fakePlace(t)
	_, stderr := inMounts(p, `mkdir -p "$OC_DELEGATE_STATE" && mount -t tmpfs none "$OC_DELEGATE_STATE" && mount -o remount,ro none "$OC_DELEGATE_STATE" || exit 99; "$@"`, "x")
	if s := signalOf(t, stderr); s["status"] != "USAGE" || !strings.Contains(stderr, "OC_DELEGATE_STATE") {
		t.Errorf("%s", stderr)
	}
}
