package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// peak runs a command and samples the most memory that its own process took (VmHWM), in bytes.
func peak(t *testing.T, cmd *exec.Cmd) int64 {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { cmd.Wait(); close(done) }()
	var most int64
	for {
		select {
		case <-done:
			return most
		case <-time.After(5 * time.Millisecond):
		}
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
		if err != nil {
			continue
		}
		if _, rest, ok := strings.Cut(string(status), "VmHWM:"); ok {
			kb, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			most = max(most, kb<<10)
		}
	}
}

// TestLimitMemory: whatever the worker prints, the process stays under 64 MB.
func TestLimitMemory(t *testing.T) {
	for _, c := range []struct{ mode, flag string }{
		{"bigline:50", ""}, {"bigline:50", "--digest"}, {"bigline:50", "--output=json"}, {"bigstderr:50", ""}, {"many-events:200000", ""}, {"ok", ""},
	} {
		t.Run(c.mode+c.flag, func(t *testing.T) {
			p := fakePlace(t, "OC_FAKE="+c.mode)
			args := []string{"--timeout", "2m", "x"}
			if c.flag != "" {
				args = append(args, c.flag)
			}
			cmd := p.command("", args...)
			out, err := os.Create(filepath.Join(p.Root, "out"))
			if err != nil {
				t.Fatal(err)
			}
			defer out.Close()
			cmd.Stdout = out
			most := peak(t, cmd)
			if code := cmd.ProcessState.ExitCode(); code != 0 {
				t.Errorf("exit code %d", code)
			}
			if most == 0 || most > 64<<20 {
				t.Errorf("%.1f MB, want less than 64", float64(most)/(1<<20))
			}
			t.Logf("%.1f MB", float64(most)/(1<<20))
			if strings.HasPrefix(c.mode, "bigline") {
				texts, _ := filepath.Glob(filepath.Join(p.Root, "state", "jobs", "*", "result.md"))
				if len(texts) != 1 {
					t.Fatalf("%d result.md", len(texts))
				}
				if fi, _ := os.Stat(texts[0]); fi.Size() < 50<<20 {
					t.Errorf("result.md has %d bytes, not the whole text", fi.Size())
				}
			}
		})
	}
}

// TestLimitDeadline: the worker is told to end within 250 ms of the deadline, and the call returns within the grace and a second.
func TestLimitDeadline(t *testing.T) {
	for _, mode := range []string{"hang", "ignore-term", "child:deaf,daemon,hang"} {
		t.Run(mode, func(t *testing.T) {
			p := fakePlace(t, "OC_FAKE="+mode)
			p.run("warm", "--timeout", "1s", "--grace", "0").want(t, "TIMEOUT")
			o := p.run("x", "--timeout", "2s", "--grace", "1s").want(t, "TIMEOUT")
			if d := o.took; d < 2*time.Second || d > 4*time.Second {
				t.Errorf("took %v", d)
			}
		})
	}
	t.Run("term", func(t *testing.T) {
		p := fakePlace(t, "OC_FAKE=sh,hang", `OC_FAKE_SH=trap ': > "$HOME/.local/share/opencode/told"; exit' TERM; sleep 100 & wait`)
		p.run("warm", "--timeout", "1s")
		told := filepath.Join(p.Root, "home/.local/share/opencode/told")
		os.Remove(told)
		start := time.Now()
		p.run("x", "--timeout", "2s").want(t, "TIMEOUT")
		// The shell makes the file itself: a program that it started would be told to end, too.
		fi, err := os.Stat(told)
		if err != nil {
			t.Fatal(err)
		}
		if late := fi.ModTime().Sub(start) - 2*time.Second; late < -10*time.Millisecond || late > 350*time.Millisecond {
			t.Errorf("TERM came %v after the deadline", late) // 250 ms, and our own start
		}
	})
}
