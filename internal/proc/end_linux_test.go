package proc

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Trees that a child leaves behind or that resist. Each process that lasts has TOKEN in its command line. N is the number
// of those; gentle means that TERM is enough.
var trees = []struct {
	name, script string
	n            int
	gentle       bool
}{

	{"background", `sleep 100.TOKEN &`, 1, true},
	{"ignores TERM", `sh -c 'trap "" TERM; while :; do sleep 0.05; done; : TOKEN' &`, 1, false},
	{"own session", `setsid sleep 100.TOKEN &`, 1, true},
	{"double fork", `(setsid sh -c 'sleep 100.TOKEN & exit' >/dev/null 2>&1 </dev/null &)`, 1, true},
	{"daemon without environment", `(env -i setsid sh -c 'trap "" TERM; (while :; do sleep 0.05; done; : TOKEN) & exit' >/dev/null 2>&1 </dev/null &)`, 1, false},
	{"environment cleared in a session", `env -i setsid sh -c 'trap "" TERM; while :; do sleep 0.05; done; : TOKEN' &`, 1, false},
	{"stopped", `sh -c 'kill -STOP $$; sleep 100; : TOKEN' & sleep 0.1`, 1, true},
	{"stopped and ignores TERM", `sh -c 'trap "" TERM; kill -STOP $$; while :; do sleep 0.05; done; : TOKEN' & sleep 0.1`, 1, false},
	{"without descriptors", `sleep 100.TOKEN <&- >&- 2>&- &`, 1, true},
	{"many", `i=0; while [ $i -lt 40 ]; do setsid sleep 100.TOKEN & i=$((i+1)); done; sleep 0.3`, 40, true},
	{"deep", `f() { if [ $1 -gt 0 ]; then sh -c "$S" s $(($1-1)) TOKEN & else sleep 100.TOKEN & fi; wait; }; ` +
		`S='if [ $1 -gt 0 ]; then setsid sh -c "$S" s $(($1-1)) TOKEN; else sleep 100.TOKEN; fi; :'; export S; f 8 & sleep 0.2`, 9, true},
}

// graced gives what needs a KILL a short grace, and what heeds TERM one so long that waiting for it would show.
func (tr *trial) graced(script string, gentle bool) (Command, time.Duration) {
	c := tr.command(script)
	if gentle {
		c.Grace = time.Minute
		return c, 3 * time.Second
	}
	return c, c.Grace + time.Second
}

func TestNormalEndSweeps(t *testing.T) {
	for _, c := range trees {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tr := newTrial(t)
			cmd, bound := tr.graced(c.script+"\nsleep 0.5; echo text", c.gentle)
			tr.start(context.Background(), cmd)
			<-tr.Exited()
			x := tr.within(bound)
			if x.Code != 0 || x.ByUs || x.Remaining != nil {
				t.Errorf("%+v", x)
			}
			named := 0
			for _, s := range x.Survivors {
				if strings.Contains(s.Name, tr.token) {
					named++
				}
			}
			if named < c.n {
				t.Errorf("survivors %+v, want %d", x.Survivors, c.n)
			}
			if out := <-tr.stdout; string(out) != "text\n" {
				t.Errorf("output %q", out)
			}
			tr.nothingLeft()
		})
	}
}

func TestStopEndsTheTree(t *testing.T) {
	for _, c := range trees {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tr := newTrial(t)
			cmd, bound := tr.graced(c.script+"\nexec sleep 101.TOKEN", c.gentle)
			tr.start(context.Background(), cmd)
			tr.await(c.n + 1)
			tr.Stop()
			x := tr.within(bound)
			if x.Code != -1 || x.Signal != "SIGTERM" || !x.ByUs || x.Remaining != nil {
				t.Errorf("%+v", x)
			}
			tr.nothingLeft()
		})
	}
}

func TestKillDoesNotWait(t *testing.T) {
	tr := newTrial(t)
	c := tr.command(`trap "" TERM; echo >>READY; while :; do sleep 0.05; done; : TOKEN`)
	c.Grace = time.Hour
	tr.start(context.Background(), c).awaitReady(1)
	tr.Stop()
	time.Sleep(100 * time.Millisecond)
	if closed(tr.Done()) {
		t.Error("ended during its grace")
	}
	tr.Kill()
	if x := tr.within(time.Second); x.Signal != "SIGKILL" || !x.ByUs {
		t.Errorf("%+v", x)
	}
	tr.nothingLeft()
}

// A child that tidies up has its grace, and so has what it starts for that.
func TestGraceIsGranted(t *testing.T) {
	tr := newTrial(t)
	c := tr.command(`trap 'sleep 0.4 && echo tidy; exit 7' TERM; echo >>READY; while :; do sleep 0.01; done; : TOKEN`)
	c.Grace = time.Minute
	tr.start(context.Background(), c).awaitReady(1)
	tr.Stop()
	x := tr.within(5 * time.Second)
	if out := <-tr.stdout; string(out) != "tidy\n" || x.Code != 7 || !x.ByUs {
		t.Errorf("%q %+v", out, x)
	}
	tr.nothingLeft()
}

func TestStopFromManySides(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	tr := newTrial(t)
	tr.start(ctx, tr.command("exec sleep 100.TOKEN"))
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			switch i % 4 {
			case 0:
				tr.Kill()
			case 1:
				cancel()
			default:
				tr.Stop()
			}
			if x := tr.Wait(); !x.ByUs || x.Signal == "" {
				t.Errorf("%+v", x)
			}
		}()
	}
	wg.Wait()
	tr.nothingLeft()
}

func TestContextEndIsStop(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	tr := newTrial(t)
	tr.start(ctx, tr.command("setsid sleep 100.TOKEN & exec sleep 100.TOKEN"))
	if x := tr.within(1500 * time.Millisecond); !x.ByUs || x.Signal != "SIGTERM" {
		t.Errorf("%+v", x)
	}
	tr.nothingLeft()
}

// TERM is there within 250 ms of Stop, also when there is more to do than processors.
func TestTermIsPrompt(t *testing.T) {
	for _, busy := range []int{0, 6} {
		bound := patience(250 * time.Millisecond)
		t.Run(strconv.Itoa(busy)+" busy loops", func(t *testing.T) {
			for range busy {
				loop := exec.Command("/bin/sh", "-c", "while :; do :; done")
				if err := loop.Start(); err != nil {
					t.Fatal(err)
				}
				spared[loop.Process.Pid] = true
				defer func() {
					_ = loop.Process.Kill()
					_ = loop.Wait()
				}()
			}
			tr := newTrial(t)
			c := tr.role("polite", tr.file)
			c.Grace = 5 * time.Second
			tr.start(context.Background(), c).awaitReady(1)
			asked := time.Now()
			tr.Stop()
			tr.within(2 * time.Second)
			text := string(<-tr.stdout)
			at, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			if late := time.Unix(0, at).Sub(asked); late > bound || late < 0 {
				t.Errorf("TERM came after %v", late)
			} else {
				t.Logf("TERM came after %v", late)
			}
			tr.nothingLeft()
		})
	}
}

// A child that leaves nothing behind is done when it ends; the best of several shows that there is no fixed wait.
func TestNormalEndIsImmediate(t *testing.T) {
	best := time.Hour
	for range 10 {
		tr := script(t, "exit 0")
		<-tr.Exited()
		began := time.Now()
		tr.Wait()
		best = min(best, time.Since(began))
	}
	if best > patience(20*time.Millisecond) {
		t.Errorf("%v from the end of the child to Done", best)
	}
	t.Logf("%v from the end of the child to Done", best)
}

func TestMarkedAndSweep(t *testing.T) {
	tr := newTrial(t)
	marker := tr.marker
	// Started by nobody that cares: init's, or this process's as a subreaper.
	cmd := exec.Command("/bin/sh", "-c", strings.ReplaceAll(`setsid sleep 100.TOKEN & setsid sh -c 'trap "" TERM; env -i sh -c "sleep 100.TOKEN; :"; :' TOKEN &`, "TOKEN", tr.token))
	cmd.Env = []string{MarkerEnv + "=" + marker, "PATH=/usr/bin:/bin"}
	if err := becomeSubreaper(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	tr.await(3)
	names := func() (list []string) {
		for _, m := range Marked(marker) {
			list = append(list, m.Name)
		}
		slices.Sort(list)
		return list
	}
	want := []string{`sh -c trap "" TERM; env -i sh -c "sleep 100.` + tr.token + `; :"; : ` + tr.token, "sleep 100." + tr.token}
	until(t, settle, func() bool { return slices.Equal(names(), want) }, func() string {
		return fmt.Sprintf("marked: %q, want %q", names(), want)
	})
	if Marked(tr.marker[:len(tr.marker)-1]) != nil {
		t.Error("a part of the marker was enough")
	}
	began := time.Now()
	swept := Sweep(context.Background(), marker, 300*time.Millisecond)
	if took := time.Since(began); took < 250*time.Millisecond || took > patience(1300*time.Millisecond) {
		t.Errorf("sweep took %v", took)
	}
	if len(swept) < 4 { // the descendants too: the shell without environment, and its sleep
		t.Errorf("swept: %+v", swept)
	}
	tr.nothingLeft()
}

func TestSweepWithoutWork(t *testing.T) {
	began := time.Now()
	if l := Sweep(context.Background(), "no such marker", time.Hour); l != nil {
		t.Errorf("%v", l)
	}
	if l := Sweep(context.Background(), "", time.Hour); l != nil {
		t.Errorf("%v", l)
	}
	if took := time.Since(began); took > patience(time.Second) {
		t.Errorf("took %v", took)
	}
	if slices.ContainsFunc(Marked("no such marker"), func(Survivor) bool { return true }) {
		t.Error("found what is not there")
	}
}
