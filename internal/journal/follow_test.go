package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestPrintLeavesHalfALine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	text := textAt(`"a"`) + strings.TrimSuffix(textAt(`"`+strings.Repeat("b", 1<<20)+`"`), "\n")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, raw := range []bool{false, true} {
		for _, ended := range []bool{false, true} {
			var b bytes.Buffer
			if err := (Log{Path: path, Raw: raw}).Print(t.Context(), &b, ended); err != nil || strings.Contains(b.String(), "bbb") != ended || !strings.HasSuffix(b.String(), "\n") {
				t.Errorf("raw %v, ended %v: %d bytes, %v", raw, ended, b.Len(), err)
			}
		}
	}
}

func TestWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	l := Log{Path: filepath.Join(dir, "events.jsonl")}
	if err := l.Print(t.Context(), &bytes.Buffer{}, true); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	if err := os.Symlink("/etc/hostname", l.Path); err != nil {
		t.Skip(err)
	}
	if err := l.Print(t.Context(), &bytes.Buffer{}, true); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("a link: %v", err)
	}
	if err := l.Follow(t.Context(), &bytes.Buffer{}, nil); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("a link is followed: %v", err)
	}
	if left := Salvage(l.Path); left.Text != "" {
		t.Errorf("a link gives %+v", left)
	}
}

// A reader sees what a follower has written so far.
type reader struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (r *reader) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.b.Write(p)
}

func (r *reader) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.b.String()
}

// sees waits until a text is there.
func (r *reader) sees(t *testing.T, text string) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !strings.Contains(r.String(), text); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no %q in %q", text, r.String())
		}
	}
}

// A following is a follower under way.
type following struct {
	reader
	path  string
	ended chan struct{}
	err   chan error
}

func follow(t *testing.T, ctx context.Context, raw bool) *following {
	t.Helper()
	f := &following{path: filepath.Join(t.TempDir(), "events.jsonl"), ended: make(chan struct{}), err: make(chan error, 1)}
	go func() { f.err <- Log{Path: f.path, Raw: raw}.Follow(ctx, f, f.ended) }()
	return f
}

func (f *following) end(t *testing.T) {
	t.Helper()
	close(f.ended)
	f.returns(t, nil)
}

func (f *following) returns(t *testing.T, want error) {
	t.Helper()
	select {
	case err := <-f.err:
		if !errors.Is(err, want) || want == nil && err != nil {
			t.Errorf("ended with %v, want %v", err, want)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("did not end")
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	f.Close()
}

func TestFollow(t *testing.T) {
	t.Parallel()
	f := follow(t, t.Context(), false)
	time.Sleep(2 * pollEvery) // it is not there yet
	write(t, f.path, textAt(`"one"`))
	f.sees(t, "says: one\n")
	half := textAt(`"two"`)
	write(t, f.path, half[:40])
	time.Sleep(2 * pollEvery)
	if s := f.String(); strings.Contains(s, "two") || strings.Contains(s, "|") {
		t.Errorf("half a line was shown: %q", s)
	}
	write(t, f.path, half[40:])
	f.sees(t, "says: two\n")
	write(t, f.path, textAt(`"three"`)+`{"type":"te`)
	f.sees(t, "says: three\n")
	f.end(t)
	if s := f.String(); !strings.HasSuffix(s, "says: three\n--:--:-- | {\"type\":\"te\n") {
		t.Errorf("the last line: %q", s)
	}
}

func TestFollowThroughRotation(t *testing.T) {
	t.Parallel()
	f := follow(t, t.Context(), false)
	write(t, f.path, textAt(`"one"`))
	f.sees(t, "one")
	// The writer still has the old file for a while.
	if err := os.Rename(f.path, f.path+".1"); err != nil {
		t.Fatal(err)
	}
	write(t, f.path+".1", textAt(`"two"`))
	f.sees(t, "two")
	write(t, f.path+".1", textAt(`"three"`)+"half")
	write(t, f.path, textAt(`"four"`))
	f.sees(t, "four")
	if s := f.String(); !strings.Contains(s, "three\n--:--:-- | half\n") {
		t.Errorf("the rest of the old file: %q", s)
	}
	// Cut to nothing, in the middle of a line.
	write(t, f.path, "and half a line")
	time.Sleep(2 * pollEvery)
	if err := os.Truncate(f.path, 0); err != nil {
		t.Fatal(err)
	}
	write(t, f.path, textAt(`"5"`))
	f.sees(t, "says: 5\n")
	if err := os.Remove(f.path); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * pollEvery)
	write(t, f.path, textAt(`"six"`))
	f.sees(t, "six")
	f.end(t)
	if s := f.String(); strings.Count(s, "says: ") != 6 || strings.Contains(s, "and half") || strings.Count(s, "session ") != 1 {
		t.Errorf("%q", s)
	}
}

func TestFollowEnds(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	close(ended)
	var b bytes.Buffer
	l := Log{Path: filepath.Join(t.TempDir(), "events.jsonl")}
	if err := l.Follow(t.Context(), &b, ended); err != nil || b.Len() != 0 {
		t.Errorf("a job that never wrote: %v, %q", err, b.String())
	}
	write(t, l.Path, textAt(`"all"`))
	if err := l.Follow(t.Context(), &b, ended); err != nil || !strings.HasSuffix(b.String(), "says: all\n") {
		t.Errorf("a job that had ended: %v, %q", err, b.String())
	}

	why := errors.New("enough")
	for _, there := range []bool{false, true} {
		ctx, cancel := context.WithCancelCause(t.Context())
		f := follow(t, ctx, false)
		if there {
			write(t, f.path, textAt(`"one"`)+"half")
			f.sees(t, "one")
		}
		cancel(why)
		f.returns(t, why)
		if strings.Contains(f.String(), "half") {
			t.Errorf("half a line was shown: %q", f.String())
		}
	}

	full := errors.New("full")
	write(t, l.Path, textAt(`"more"`))
	if err := l.Follow(t.Context(), &short{err: full}, nil); !errors.Is(err, full) {
		t.Errorf("a reader that has gone: %v", err)
	}
	if err := l.Print(t.Context(), &short{err: full}, true); !errors.Is(err, full) || strings.Contains(err.Error(), "\n") {
		t.Errorf("a reader that has gone: %v", err)
	}
}

// Half a line that is taken away again, as whoever repairs a log does, is no reason to begin anew.
func TestHalfALineIsTakenAway(t *testing.T) {
	t.Parallel()
	f := follow(t, t.Context(), false)
	one := textAt(`"one"`)
	write(t, f.path, one+strings.Repeat("half", 100))
	f.sees(t, "one")
	time.Sleep(2 * pollEvery)
	if err := os.Truncate(f.path, int64(len(one))); err != nil {
		t.Fatal(err)
	}
	write(t, f.path, textAt(`"2"`))
	f.sees(t, "says: 2\n")
	f.end(t)
	if s := f.String(); strings.Count(s, "one") != 1 || strings.Contains(s, "|") {
		t.Errorf("%q", s)
	}
}

// A file that was cut and has grown again before it is read is not mistaken for the rest of the old line.
func TestCutAndGrown(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	write(t, path, textAt(`"one"`)+"half")
	file, err := open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	grow := func() error {
		os.Truncate(path, 0)
		return nil
	}
	r := &tail{ctx: t.Context(), path: path, file: file, idle: grow}
	buf := make([]byte, 1000)
	n, err := r.Read(buf)
	if string(buf[:n]) != textAt(`"one"`) || err != nil {
		t.Fatalf("%q, %v", buf[:n], err)
	}
	if n, err = r.Read(buf); n != 0 || err != io.EOF || r.over {
		t.Fatalf("%q, %v", buf[:n], err)
	}
	write(t, path, strings.Repeat("new line\n", 100))
	if n, err = r.Read(buf); n != 0 || err != io.EOF {
		t.Errorf("%q, %v", buf[:n], err)
	}
}

// asked is a context that ends when it was asked some times.
type asked struct {
	context.Context
	left int
}

var errAsked = errors.New("asked enough")

func (a *asked) Err() error {
	if a.left--; a.left < 0 {
		return errAsked
	}
	return nil
}

// The end of the context in the middle of a line shows no part of it.
func TestEndWithinALine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	write(t, path, strings.Repeat("noise without an end ", 1<<17)+"\n")
	for _, raw := range []bool{false, true} {
		var b bytes.Buffer
		err := Log{Path: path, Raw: raw}.Print(&asked{t.Context(), 16}, &b, true)
		if err != errAsked || !raw && b.Len() > 0 {
			t.Errorf("raw %v: %v, %.100q", raw, err, b.String())
		}
	}
}

// A writer appends in odd pieces, changes the file now and then, and the job ends while the follower reads: nothing is lost,
// doubled or torn.
func TestFollowRace(t *testing.T) {
	t.Parallel()
	for _, raw := range []bool{false, true} {
		f := follow(t, t.Context(), raw)
		const lines = 3000
		var file *os.File
		for i := range lines {
			if i%1000 == 0 {
				if file != nil {
					file.Close()
					time.Sleep(2 * pollEvery) // a file that nobody saw is lost to any follower
					os.Rename(f.path, f.path+fmt.Sprint(i))
				}
				var err error
				if file, err = os.OpenFile(f.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			line := textAt(fmt.Sprintf(`"line %d é %s"`, i, strings.Repeat("x", i*i%5000)))
			for len(line) > 0 {
				n := min(len(line), 1+i*7919%997)
				file.WriteString(line[:n])
				line = line[n:]
			}
			if i%100 == 0 {
				time.Sleep(time.Millisecond)
			}
		}
		file.Close()
		f.end(t)
		got := f.String()
		at := 0
		for i := range lines {
			want := fmt.Sprintf("line %d é %s", i, strings.Repeat("x", i*i%5000))
			j := strings.Index(got[at:], want)
			if j < 0 || j > 200 {
				t.Fatalf("raw %v: line %d is not where it should be: %d", raw, i, j)
			}
			at += j + len(want)
		}
		if n := strings.Count(got, "line "); n != lines || strings.Contains(got, "|") {
			t.Errorf("raw %v: %d lines", raw, n)
		}
	}
}
