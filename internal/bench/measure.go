package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// A sample is what one run of a program cost.
type sample struct {
	wall   time.Duration
	cpu    time.Duration // user and system, of the program and of all that it waited for
	memory int64         // bytes: the most that the processes of the tool itself had at once, shared pages counted once; 0 = not measured
}

// measure runs a program to its end and throws its output away. Whoever is asked for its memory is named by own, the path of an
// executable; "" asks for nobody's.
func measure(ctx context.Context, own string, stdin string, env []string, dir string, argv ...string) (sample, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env, cmd.Dir = env, dir
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Stdout = io.Discard
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return sample{}, err
	}
	watch := watchMemory(cmd.Process.Pid, own)
	err := cmd.Wait()
	s := sample{wall: time.Since(begin), memory: watch.stop()}
	if err != nil {
		return sample{}, fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, lastLine(stderr.String()))
	}
	s.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return s, nil
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndex(text, "\n")+1:]
}

// alternate runs a and b in turn, n times each, after one turn that does not count.
func alternate(n int, a, b func() (sample, error)) (as, bs []sample, err error) {
	for i := range n + 1 {
		sa, err := a()
		if err != nil {
			return nil, nil, err
		}
		sb, err := b()
		if err != nil {
			return nil, nil, err
		}
		if i > 0 {
			as, bs = append(as, sa), append(bs, sb)
		}
	}
	return as, bs, nil
}

// median of some numbers; 0 of none.
func median[T time.Duration | int64](values []T) T {
	if len(values) == 0 {
		return 0
	}
	values = slices.Sorted(slices.Values(values))
	mid := len(values) / 2
	if len(values)%2 == 1 {
		return values[mid]
	}
	return (values[mid-1] + values[mid]) / 2
}

func each[T any](samples []sample, get func(sample) T) []T {
	var out []T
	for _, s := range samples {
		out = append(out, get(s))
	}
	return out
}

func wall(s sample) time.Duration { return s.wall }
func cpu(s sample) time.Duration  { return s.cpu }
func memory(s sample) int64       { return s.memory }

// differences are b - a, pair by pair: what the two had in common falls out.
func differences(as, bs []sample, get func(sample) time.Duration) []time.Duration {
	var out []time.Duration
	for i := range as {
		out = append(out, get(bs[i])-get(as[i]))
	}
	return out
}
