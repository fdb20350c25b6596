package job

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"opencode-delegate/internal/delegate"
	"opencode-delegate/internal/fakeopencode"
	"opencode-delegate/internal/lock"
	"opencode-delegate/internal/proc"
	"opencode-delegate/internal/redact"
	"opencode-delegate/internal/sandbox"
)

// TestMain lets this binary be all that a job consists of, and the roles of the tests.
func TestMain(m *testing.M) {
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	if filepath.Base(os.Args[0]) == "opencode" {
		os.Exit(fakeopencode.Main())
	}
	if exit, ok := proc.Main(os.Args); ok {
		os.Exit(exit)
	}
	if exit, ok := sandbox.Main(os.Args); ok {
		os.Exit(exit)
	}
	if len(os.Args) > 1 && os.Args[1] == supervisorRole {
		os.Exit(superviseForTests())
	}
	if play := os.Getenv("JOB_TEST_ROLE"); play != "" {
		roles[play]()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// superviseForTests does what internal/cli does for a supervisor.
func superviseForTests() int {
	switch os.Getenv("JOB_TEST_SUPERVISOR") {
	case "dies":
		return 3
	case "complains":
		fmt.Println("the disk is on fire")
		return 3
	}
	sup, ok, err := Supervise(os.Args, os.Stdin, os.Stdout)
	if !ok || err != nil {
		return 2
	}
	s, err := OpenStore(sup.Root, redact.New(nil))
	if err != nil {
		return 2
	}
	self, _ := os.Executable()
	host := delegate.Host{
		Self: self, Environ: os.Environ(), Home: os.Getenv("HOME"), Cwd: sup.Launch.Cwd, Secrets: redact.New(nil), Now: time.Now,
		StateRoot: sup.Root, CacheDir: s.CacheDir(), SessionKnown: sup.Launch.SessionKnown,
	}
	_, done, err := s.Supervise(context.Background(), sup, host, func(res delegate.Result) []string {
		if v, err := s.Look(context.Background(), sup.ID); err != nil || v.State.State.Terminal() {
			return []string{"the state was written before the answer was delivered"}
		}
		return []string{"delivered " + string(res.Status)}
	})
	if !done || err != nil {
		fmt.Fprintln(os.Stderr, done, err)
		return 1
	}
	return 0
}

// roles are what this binary is in other processes. Each prints a line when it is where it is to be.
var roles = map[string]func(){
	"land": landForTests,
	// create makes jobs of both kinds, and dies with them.
	"create": func() {
		s := roleStore()
		for i := range 10 {
			o := order()
			if i%2 == 0 {
				o = foreground()
			}
			o.Prompt = fmt.Sprint(os.Getpid(), i)
			j, _, err := s.create(context.Background(), o, time.Now())
			if err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
			fmt.Println(j.state.ID)
		}
	},
	// hold takes a lock and keeps it.
	"hold": func() {
		l, err := lock.Try(os.Getenv("JOB_TEST_PATH"))
		fmt.Println(err)
		time.Sleep(time.Minute)
		l.Release()
	},
	// link calls as one session after the other, and last as one that others call as too.
	"link": func() {
		s := roleStore()
		var err error
		for n := range linkedSessions {
			err = errors.Join(err, s.Link(context.Background(), proc.Self(), fmt.Sprint(os.Getenv("JOB_TEST_SESSION"), "-", n)))
		}
		fmt.Println(errors.Join(err, s.Link(context.Background(), proc.Self(), "common")))
		time.Sleep(time.Minute)
	},
	// supervise has a job that runs, in a process of its own.
	"supervise": func() {
		s := roleStore()
		j, _, err := s.create(context.Background(), order(), time.Now())
		if err == nil {
			j.release()
			j, err = s.adopt(context.Background(), Supervision{ID: j.state.ID, say: closed{&bytes.Buffer{}}})
		}
		if err == nil {
			at := time.Now()
			err = j.Update(func(st *State) { st.State, st.StartedAt = Running, &at })
		}
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(j.state.ID)
		time.Sleep(time.Minute)
	},
}

// linkedSessions is how many sessions of its own a process of the role link has.
const linkedSessions = 4

func roleStore() *Store {
	s, err := OpenStore(os.Getenv("JOB_TEST_STATE"), redact.New(nil))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	return s
}

// role starts this binary in a role; it is killed at the end of the test.
func role(t *testing.T, s *Store, name string, env ...string) (*exec.Cmd, func() string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(append(os.Environ(), "JOB_TEST_ROLE="+name, "JOB_TEST_STATE="+s.root), env...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd, func() string {
		var line strings.Builder
		for b := make([]byte, 1); ; {
			if _, err := out.Read(b); err != nil || b[0] == '\n' {
				return line.String()
			}
			line.Write(b)
		}
	}
}

// fakeHome sets a home for supervisors, and returns a project and the program that is opencode there.
func fakeHome(t *testing.T, env ...string) (project, program string) {
	t.Helper()
	root := t.TempDir()
	project, program = filepath.Join(root, "project"), filepath.Join(root, "bin", "opencode")
	for _, dir := range []string{project, filepath.Dir(program), filepath.Join(root, "home")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Link(self, program); err != nil { // a symbolic link would be resolved, and the name is what makes it the fake
		data, err := os.ReadFile(self)
		if err == nil {
			err = os.WriteFile(program, data, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOME", filepath.Join(root, "home"))
	for _, name := range []string{"XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"} {
		t.Setenv(name, "")
	}
	for _, kv := range env {
		k, v, _ := strings.Cut(kv, "=")
		t.Setenv(k, v)
	}
	return project, program
}

// real is an order that the fake opencode can carry out.
func real(project, program string) Order {
	o := order()
	o.Request.Dir, o.Request.Opencode, o.Request.OpencodeSource, o.Launch.Cwd = project, program, "the test", project
	o.Request.Timeout, o.Request.Grace, o.Request.RetryLimit = delegate.Duration(20*time.Second), delegate.Duration(300*time.Millisecond), delegate.Duration(time.Second)
	return o
}
