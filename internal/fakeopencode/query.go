package fakeopencode

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// query is every subcommand but run.
func (f *fake) query() int {
	rest := f.args[1:]
	is := func(words ...string) bool {
		return len(f.args) >= len(words) && slices.Equal(f.args[:len(words)], words)
	}
	arg := func(n int) string {
		if len(f.args) > n && !strings.HasPrefix(f.args[n], "-") {
			return f.args[n]
		}
		return ""
	}
	switch {
	case is("models"):
		return f.models(arg(1))
	case is("session", "list"):
		return f.sessionList(slices.Contains(rest, "json"))
	case is("export"):
		return f.export(arg(1))
	case is("import"):
		return f.imports(arg(1))
	case is("agent", "list"):
		fmt.Fprint(f.out, "build (primary)\n  []\nexplore (subagent)\n  []\ngeneral (subagent)\n  []\nplan (primary)\n  []\n")
		return 0
	case is("debug", "agent"):
		return f.debugAgent(arg(2))
	case is("debug", "paths"):
		return f.debugPaths()
	case is("debug", "config"):
		fmt.Fprint(f.out, "{}\n")
		return 0
	case is("auth", "list"):
		fmt.Fprint(f.out, "┌  Credentials\n│\n└  0 credentials\n")
		return 0
	case is("--help"), is("-h"):
		fmt.Fprint(f.out, "Commands:\n  opencode run [message..]\n  opencode models [provider]\n  opencode session\n  opencode export [sessionID]\n")
		return 0
	}
	fmt.Fprintf(f.err, "Unknown command: %s\n", strings.Join(f.args, " "))
	return 1
}

const defaultModels = "opencode-go/deepseek-v4-flash,opencode-go/glm-5.2,opencode-go/kimi-k2.7-code,opencode/big-pickle,mock/worker,mock/other,mock/unpriced"

func (f *fake) models(provider string) int {
	found := provider == ""
	for m := range strings.SplitSeq(env("OC_FAKE_MODELS", defaultModels), ",") {
		if provider == "" || strings.HasPrefix(m, provider+"/") {
			found = true
			fmt.Fprintln(f.out, m)
			if slices.Contains(f.args, "--verbose") {
				_, id, _ := strings.Cut(m, "/")
				cost := map[string]any{"input": 1, "output": 2}
				if id == "unpriced" {
					cost = map[string]any{"input": 0, "output": 0}
				}
				f.printJSON(map[string]any{"id": id, "status": "active", "cost": cost})
			}
		}
	}
	if !found {
		return f.fail("Provider not found: " + provider)
	}
	return 0
}

func (f *fake) sessionList(asJSON bool) int {
	dir, _ := os.Getwd()
	here := []saved{}
	for _, s := range f.sessions() {
		if s.Directory == dir {
			here = append(here, s)
		}
	}
	if asJSON {
		return f.printJSON(here)
	}
	for _, s := range here {
		fmt.Fprintln(f.out, s.ID, s.Title)
	}
	return 0
}

func (f *fake) export(id string) int {
	fmt.Fprintln(f.err, "Exporting session:", id)
	for _, s := range f.sessions() {
		if s.ID == id {
			return f.printJSON(map[string]any{"messages": []any{}, "info": map[string]any{
				"id": s.ID, "directory": s.Directory, "title": s.Title, "agent": "build", "version": f.version, "cost": 0.000131,
				"model": map[string]any{"id": "worker", "providerID": "mock"}, "time": map[string]any{"created": s.Created, "updated": s.Updated}}})
		}
	}
	return f.fail("Session not found: " + id)
}

// imports takes a session over into this directory, as the real one does with one that it knows already.
func (f *fake) imports(file string) int {
	text, err := os.ReadFile(file)
	if err != nil {
		return f.fail("File not found: " + file)
	}
	var export struct {
		Info saved `json:"info"`
	}
	if err := json.Unmarshal(text, &export); err != nil || export.Info.ID == "" {
		return f.fail("Invalid session data")
	}
	s := export.Info
	s.Directory, _ = os.Getwd()
	s.Updated = time.Now().UnixMilli()
	saved, err := json.Marshal(s)
	if err == nil {
		err = f.keep(filepath.Join(f.state, "sessions", filepath.Base(s.ID)+".json"), saved)
	}
	if err != nil {
		return f.fail(err.Error())
	}
	fmt.Fprintln(f.out, "Imported session:", s.ID)
	return 0
}

func (f *fake) debugAgent(name string) int {
	mode := agentMode(name)
	ok := mode != ""
	if !ok {
		fmt.Fprintf(f.err, "Agent %s not found, run 'opencode agent list' to get an agent list\n", name)
		return 1
	}
	return f.printJSON(map[string]any{"name": name, "mode": mode, "native": true, "options": map[string]any{},
		"permission": []any{map[string]any{"permission": "*", "action": "allow", "pattern": "*"}},
		"tools":      map[string]any{"bash": true, "read": true, "edit": true, "write": true}})
}

func (f *fake) debugPaths() int {
	home := os.Getenv("HOME")
	for _, p := range [][2]string{
		{"home", home}, {"data", dataDir()}, {"log", filepath.Join(dataDir(), "log")},
		{"cache", filepath.Join(env("XDG_CACHE_HOME", filepath.Join(home, ".cache")), "opencode")},
		{"config", filepath.Join(env("XDG_CONFIG_HOME", filepath.Join(home, ".config")), "opencode")},
		{"state", filepath.Join(env("XDG_STATE_HOME", filepath.Join(home, ".local", "state")), "opencode")},
		{"tmp", filepath.Join(os.TempDir(), "opencode")},
	} {
		fmt.Fprintf(f.out, "%-10s %s\n", p[0], p[1])
	}
	return 0
}

func (f *fake) printJSON(v any) int {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		panic(err) // only strings and numbers go in
	}
	fmt.Fprintf(f.out, "%s\n", b)
	return 0
}

// agentMode is the mode of an agent that is built in or that OPENCODE_CONFIG_CONTENT defines; empty for another.
func agentMode(name string) string {
	var config struct {
		Agent map[string]struct {
			Mode string `json:"mode"`
		} `json:"agent"`
	}
	json.Unmarshal([]byte(os.Getenv("OPENCODE_CONFIG_CONTENT")), &config)
	if a, ok := config.Agent[name]; ok && a.Mode != "" {
		return a.Mode
	}
	return map[string]string{"build": "primary", "plan": "primary", "general": "subagent", "explore": "subagent"}[name]
}
