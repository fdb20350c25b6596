package opencode

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"opencode-delegate/internal/event"
)

func TestSubagents(t *testing.T) {
	const row = `{"provider":"mock","model":"worker","input":180,"output":30,"reasoning":10,"cache_read":20,"cache_write":0,"cost":0.000262}`
	const free = `{"provider":"p","model":"a/b","input":1,"output":null,"reasoning":null,"cache_read":null,"cache_write":null,"cost":null}`
	part := Part{"mock/worker", event.Tokens{Input: 180, Output: 30, Reasoning: 10, CacheRead: 20}, 0.000262}
	for name, c := range map[string]struct {
		reply Reply
		want  []Part
		bad   bool
	}{
		"none":            {Reply{Stdout: []byte("[]")}, nil, false},
		"two models":      {Reply{Stdout: []byte("[" + row + "," + free + "]")}, []Part{part, {Model: "p/a/b", Tokens: event.Tokens{Input: 1}}}, false},
		"no model":        {Reply{Stdout: []byte(`[{"provider":null,"model":null,"input":5}]`)}, nil, false},
		"an old opencode": {Reply{Code: 1, Stderr: []byte("Unknown argument: db")}, nil, true},
		"no JSON":         {Reply{Stdout: []byte("[" + row)}, nil, true},
		"broken numbers":  {Reply{Stdout: []byte(strings.Replace("["+row+"]", "180", "1e300", 1))}, nil, true},
		"less than none":  {Reply{Stdout: []byte(strings.Replace("["+row+"]", "180", "-180", 1))}, nil, true},
		"a wild price":    {Reply{Stdout: []byte(strings.Replace("["+row+"]", "0.000262", "1e9", 1))}, []Part{{part.Model, part.Tokens, 0}}, false},
	} {
		var asked string
		run := func(_ context.Context, q Query) (Reply, error) {
			asked = strings.Join(q.Argv, " ")
			return c.reply, nil
		}
		got, err := Subagents(t.Context(), run, bin, "ses_abc", time.UnixMilli(1234))
		if !slices.Equal(got, c.want) || (err != nil) != c.bad {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if !strings.Contains(asked, "parent_id = 'ses_abc'") || !strings.Contains(asked, "time_created >= 1234 ") {
			t.Errorf("%s: asked %s", name, asked)
		}
	}
	if _, err := Subagents(t.Context(), nil, bin, "ses_' or 1", time.Now()); err == nil {
		t.Error("an id that ends the literal was passed on")
	}
	failing := func(context.Context, Query) (Reply, error) { return Reply{}, errors.New("no time") }
	if _, err := Subagents(t.Context(), failing, bin, "ses_a", time.Now()); err == nil || !strings.Contains(err.Error(), "no time") {
		t.Errorf("%v", err)
	}
}
