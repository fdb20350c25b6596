package opencode

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"opencode-delegate/internal/fault"
)

// replies is a Runner that answers by the longest beginning of the arguments that it knows.
type replies map[string]Reply

func (r replies) run(_ context.Context, q Query) (Reply, error) {
	args := strings.Join(q.Argv[1:], " ")
	best := ""
	for prefix := range r {
		if strings.HasPrefix(args, prefix) && len(prefix) > len(best) {
			best = prefix
		}
	}
	if best == "" {
		return Reply{}, errors.New("not expected: " + args)
	}
	return r[best], nil
}

var bin = Binary{Path: "/bin/opencode", Version: "1.18.33"}

func TestNear(t *testing.T) {
	have := []string{"opencode-go/kimi-k2.7-code", "opencode-go/deepseek-v4-flash", "opencode-go/glm-5.2", "opencode/glm-5", "openai/gpt-6", "other/kimi-k2.7-code"}
	for want, near := range map[string][]string{
		"opencode-go/kimi-k2.6-code": {"opencode-go/kimi-k2.7-code", "other/kimi-k2.7-code"},
		"opencode-go/glm-5.1":        {"opencode-go/glm-5.2", "opencode/glm-5"},
		"opencode-go/GLM-5.2":        {"opencode-go/glm-5.2", "opencode/glm-5"},
		"opencode-go/deepseek-flash": {"opencode-go/deepseek-v4-flash"},
		"glm-5.2":                    {"opencode-go/glm-5.2", "opencode/glm-5"},
		"nope/zzzzzzzzzzzz":          nil,
		"":                           nil,
	} {
		if got := Near(want, have); !slices.Equal(got, near) {
			t.Errorf("%s: %q, want %q", want, got, near)
		}
	}
	if got := Near("abd/glm-5.2", []string{"abc/glm-5.1", "abd/glm-5.1"}); !slices.Equal(got, []string{"abd/glm-5.1", "abc/glm-5.1"}) {
		t.Errorf("the provider of the request comes first: %q", got)
	}
	if got := Near("a/model-1", []string{"a/model-2", "a/model-3", "a/model-4", "a/model-5"}); len(got) != 3 {
		t.Errorf("%d ids", len(got))
	}
}

func TestModels(t *testing.T) {
	ctx := context.Background()
	r := replies{"models nope": {Code: 1, Stderr: []byte("\x1b[91m\x1b[1mError: \x1b[0mProvider not found: nope\n")}, "models broken": {Code: 1, Stderr: []byte("boom")},
		"models": {Stdout: readRecording(t, "info-models").stdout}}
	ids, err := Models(ctx, r.run, bin, "", "")
	if err != nil || !slices.Contains(ids, "mock/text") || len(ids) < 50 {
		t.Errorf("%d ids, %v", len(ids), err)
	}
	if ids, err := Models(ctx, r.run, bin, "", "nope"); ids != nil || err != nil {
		t.Errorf("unknown provider: %q, %v", ids, err)
	}
	if ids, err := Models(ctx, r.run, bin, "", "--help"); ids != nil || err != nil {
		t.Errorf("a provider that is a flag: %q, %v", ids, err)
	}
	if _, err := Models(ctx, r.run, bin, "", "broken"); err == nil {
		t.Error("a failure was no error")
	}
}

func TestModelPrice(t *testing.T) {
	ctx, cache := context.Background(), filepath.Join(t.TempDir(), "c")
	r := replies{"models mock --verbose": {Stdout: readRecording(t, "info-models-mock-verbose").stdout}}
	want := Price{Input: 1, Output: 2, CacheRead: 0.1}
	p, ok, err := ModelPrice(ctx, r.run, bin, "/d", "mock/text", cache, noon)
	if err != nil || !ok || p != want || !p.Known() {
		t.Fatalf("%+v, %v, %v", p, ok, err)
	}
	fails := replies{}
	if p, ok, err := ModelPrice(ctx, fails.run, bin, "/d", "mock/text", cache, noon.Add(23*time.Hour)); err != nil || !ok || p != want {
		t.Errorf("from the cache: %+v, %v, %v", p, ok, err)
	}
	for name, at := range map[string]time.Time{"old": noon.Add(25 * time.Hour), "of the future": noon.Add(-time.Hour)} {
		if _, _, err := ModelPrice(ctx, fails.run, bin, "/d", "mock/text", cache, at); err == nil {
			t.Errorf("a cached price that is %s was believed", name)
		}
	}
	if _, _, err := ModelPrice(ctx, fails.run, bin, "/other", "mock/text", cache, noon); err == nil {
		t.Error("the price of another directory was believed")
	}
	if p, ok, err := ModelPrice(ctx, r.run, bin, "/d", "mock/tex", cache, noon); ok || err != nil || p.Known() {
		t.Errorf("a model that is not listed: %+v, %v, %v", p, ok, err)
	}
	free := replies{"models z": {Stdout: []byte("z/free\n{\"cost\":{\"input\":0,\"output\":0}}\n")}}
	if p, ok, err := ModelPrice(ctx, free.run, bin, "", "z/free", cache, noon); !ok || err != nil || p.Known() {
		t.Errorf("no price: %+v, %v, %v", p, ok, err)
	}
}

func TestSessionDir(t *testing.T) {
	ctx := context.Background()
	check := func(name string, r replies, id, dir string, kind fault.Kind) {
		t.Helper()
		got, err := SessionDir(ctx, r.run, bin, id)
		if got != dir || (kind == "") != (err == nil) || err != nil && fault.Of(err).Kind != kind {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	check("db", replies{"db": {Stdout: []byte(`[{"directory":"/p"}]`)}}, "ses_1", "/p", "")
	check("db, unknown", replies{"db": {Stdout: []byte("[]\n")}}, "ses_1", "", fault.NotFound)
	old := Reply{Code: 1, Stderr: []byte("Unknown argument: db")}
	check("export", replies{"db": old, "export": {Stdout: readRecording(t, "info-export").stdout}}, "ses_1", "/project", "")
	check("export, cut", replies{"db": old, "export": {Stdout: readRecording(t, "info-export").stdout[:3000]}}, "ses_1", "/project", "")
	check("export, unknown", replies{"db": old, "export": {Code: 1, Stderr: readRecording(t, "info-export-bad").stderr}}, "ses_1", "", fault.NotFound)
	check("neither", replies{"db": old, "export": {Code: 1}}, "ses_1", "", fault.RunFailed)
	for _, id := range []string{"", "ses_", "ses_1'; drop table session; --", "../ses_1", "-h", "ses_" + strings.Repeat("a", 65)} {
		check("id", replies{}, id, "", fault.NotFound)
	}
}

func TestCheckAgent(t *testing.T) {
	ctx := context.Background()
	check := func(name string, r replies, agent string, part string) {
		t.Helper()
		err := CheckAgent(ctx, r.run, bin, "/d", agent)
		if part == "" && err != nil || part != "" && (err == nil || !strings.Contains(err.Error(), part) || fault.Of(err).Kind != fault.Usage) {
			t.Errorf("%s: %v, want %q", name, err, part)
		}
	}
	check("primary", replies{"debug agent lead": {Stdout: []byte(`{"name":"lead","mode":"primary"}`)}}, "lead", "")
	check("all", replies{"debug": {Stdout: []byte(`{"name":"lead","mode":"all"}`)}}, "lead", "")
	check("subagent", replies{"debug": {Stdout: []byte(`{"name":"x","mode":"subagent"}`)}}, "x", "is a subagent")
	check("unknown", replies{"debug": {Code: 1, Stderr: []byte("Agent bogus not found, run 'opencode agent list' to get an agent list")}}, "bogus", `no agent "bogus"`)
	list := replies{"debug": {Code: 1, Stderr: []byte("usage")}, "agent list": {Stdout: []byte("build (primary)\n  [\n]\ngeneral (subagent)\n")}}
	check("listed", list, "build", "")
	check("listed subagent", list, "general", "is a subagent")
	check("not listed", list, "bogus", "no agent")
	check("flag", replies{}, "--help", "no name of an agent")
}

func TestRealQueries(t *testing.T) {
	l := newLab(t)
	ctx := context.Background()
	b, err := Probe(ctx, l.path, t.TempDir(), l.ask)
	if err != nil || b.Version == "" || b.Abilities != AllAbilities() {
		t.Fatalf("Probe: %+v, %v", b, err)
	}
	project, elsewhere := t.TempDir(), t.TempDir()
	git(t, project)
	git(t, elsewhere)
	l.dir = project
	o := l.run(t, "[[mock:text]]", nil)
	if o.Fault != nil {
		t.Fatal(o.Fault)
	}
	if dir, err := SessionDir(ctx, l.ask, b, o.Session); err != nil || dir != project {
		t.Errorf("SessionDir: %q, %v; want %s", dir, err, project)
	}
	if _, err := SessionDir(ctx, l.ask, b, "ses_doesnotexist"); err == nil || fault.Of(err).Kind != fault.NotFound {
		t.Errorf("SessionDir of an unknown one: %v", err)
	}
	if err := CheckAgent(ctx, l.ask, b, project, "build"); err != nil {
		t.Errorf("agent build: %v", err)
	}
	for agent, part := range map[string]string{"general": "is a subagent", "bogus": "no agent"} {
		if err := CheckAgent(ctx, l.ask, b, project, agent); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("agent %s: %v", agent, err)
		}
	}
	if ids, err := Models(ctx, l.ask, b, "", "mock"); err != nil || !slices.Contains(ids, "mock/worker") {
		t.Errorf("Models: %q, %v", ids, err)
	}
	if ids, err := Models(ctx, l.ask, b, "", "nowhere"); err != nil || ids != nil {
		t.Errorf("Models of an unknown provider: %q, %v", ids, err)
	}
	for model, known := range map[string]bool{"mock/worker": true, "mock/unpriced": false} {
		if p, ok, err := ModelPrice(ctx, l.ask, b, "", model, "", noon); err != nil || !ok || p.Known() != known {
			t.Errorf("price of %s: %+v, %v, %v", model, p, ok, err)
		}
	}
}
