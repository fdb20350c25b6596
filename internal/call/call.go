package call

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"opencode-delegate/internal/delegate"
	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/permission"
	"opencode-delegate/internal/tiers"
)

// An Environment is what a call finds around it.
type Environment struct {
	Getenv func(string) string
	Home   string
	Cwd    string
}

// A Call is what the words of a command line mean.
type Call struct {
	Request delegate.Request
	Tier    tiers.Name
	Prompt  Prompt

	Recipe   bool   // a verb that only reads, whatever the words are
	Continue bool   // -c: the caller looks up the session
	Progress string // auto, plain, none
	Reply    Reply
	Rows     []Row // for --explain
}

// A Reply is how a caller wants the result.
type Reply struct {
	JSON      bool   `json:"json,omitempty"`       // one result object
	Digest    bool   `json:"digest,omitempty"`     // the digest in place of the text
	Out       string `json:"out,omitempty"`        // absolute path of a file, its directory without symbolic links; empty = stdout
	UsageLog  string `json:"usage_log,omitempty"`  // absolute path of a log of signal lines; empty = none
	WarnChars int64  `json:"warn_chars,omitempty"` // a longer text on stdout gets a note; 0 = off
}

// A Row is one resolved value with its source.
type Row struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Source string `json:"source"`
}

// resolver collects values and every problem with them.
type resolver struct {
	flags    Flags
	env      Environment
	config   Config
	call     Call
	tiers    tiers.Inputs
	problems []string
}

// Resolve gives the words their meaning. Problems holds every bad value, a clear sentence each; with problems the Call
// is not to be used.
func Resolve(f Flags, env Environment) (Call, []string) {
	r := &resolver{flags: f, env: env}
	r.call.Recipe, r.call.Request.Review = f.Recipe.Name != "", f.Review
	var err error
	if r.config, err = readConfig(configPath(env)); err != nil {
		r.problem("", err)
	}
	r.model()
	r.place()
	r.grant()
	r.isolation()
	r.checks()
	r.limits()
	r.session()
	r.answer()
	r.prompt()
	return r.call, r.problems
}

func (r *resolver) problem(name string, err error) {
	if err == nil {
		return
	}
	text := err.Error()
	var f *fault.Error
	if errors.As(err, &f) && len(f.Hints) > 0 {
		text += "; " + strings.Join(f.Hints, "; ")
	}
	if name != "" {
		text = name + ": " + text
	}
	r.problems = append(r.problems, text)
}

func (r *resolver) row(name, value, source string) {
	r.call.Rows = append(r.call.Rows, Row{name, value, source})
}

// flag is a text flag as a value; one that was given empty is a problem of its own.
func (r *resolver) flag(name string, o Once) tiers.Value {
	if o.Set && o.Text == "" {
		r.problem("flag --"+name, fmt.Errorf("empty; give a value or leave the flag out"))
	}
	return tiers.Value{Text: o.Text, Source: "flag --" + name}
}

// environment is the first variable that is set and not empty.
func (r *resolver) environment(names ...string) tiers.Value {
	for _, n := range names {
		if v := r.env.Getenv(n); v != "" {
			return tiers.Value{Text: v, Source: "environment " + n}
		}
	}
	return tiers.Value{}
}

func (r *resolver) model() {
	f, in := r.flags, tiers.Inputs{Remap: map[tiers.Name]tiers.Value{}, RemapVariant: map[tiers.Name]string{}}
	in.Model, in.Tier = r.flag("model", f.Model), r.flag("tier", f.Tier)
	in.DefaultModel = tiers.First(r.environment("OC_DELEGATE_MODEL"), r.environment("CLAUDE_PLUGIN_OPTION_DEFAULT_MODEL"), r.config.value(r.config.Model))
	in.DefaultTier = tiers.First(r.environment("OC_DELEGATE_TIER"), r.environment("CLAUDE_PLUGIN_OPTION_DEFAULT_TIER"), r.config.value(r.config.Tier))
	in.Fallback = tiers.Value{Text: string(f.Recipe.Tier), Source: "built in for " + f.Recipe.Name}
	for name, flag := range map[tiers.Name]Once{tiers.Flash: f.TierFlash, tiers.Code: f.TierCode, tiers.Pro: f.TierPro} {
		file := r.config.Tiers[string(name)]
		upper := strings.ToUpper(string(name))
		in.Remap[name] = tiers.First(r.flag("tier-"+string(name), flag), r.environment("OC_TIER_"+upper),
			r.environment("CLAUDE_PLUGIN_OPTION_TIER_"+upper), r.config.value(file.Model))
		if in.Remap[name] == r.config.value(file.Model) {
			in.RemapVariant[name] = file.Variant
		}
	}
	r.tiers = in
	choice, err := tiers.Resolve(in)
	r.problem("", err)
	if err == nil && in.Model.Set() && in.Tier.Set() {
		_, err := tiers.Resolve(tiers.Inputs{Tier: in.Tier, Remap: in.Remap})
		r.problem("", err) // --model wins, but a tier that does not exist is a slip all the same
	}
	req := &r.call.Request
	req.Tier, req.Model, req.ModelSource = string(choice.Tier), choice.Model, choice.Source
	r.call.Tier = choice.Tier
	if choice.Tier != "" {
		r.row("tier", string(choice.Tier), choice.Why)
	}
	r.row("model", choice.Model, choice.Source)
	variant := tiers.First(r.flag("variant", f.Variant), tiers.Value{Text: choice.Variant, Source: choice.Source})
	r.word("variant", variant)
	req.Variant = variant.Text
	agent := r.flag("agent", f.Agent)
	r.word("agent", agent)
	req.Agent = agent.Text
	title := r.flag("title", f.Title)
	if title.Set() && (len(title.Text) > 200 || strings.HasPrefix(title.Text, "-") || strings.ContainsFunc(title.Text, unicode.IsControl)) {
		r.problem(title.Source, fmt.Errorf("%q cannot be a title; one line of at most 200 bytes that does not begin with -", clip(title.Text)))
	}
	req.Title = title.Text
	program := tiers.First(r.flag("opencode", f.Opencode), r.environment("OC_DELEGATE_OPENCODE"), r.config.value(r.config.Opencode))
	if program.Set() {
		req.Opencode, req.OpencodeSource = r.absolute(program.Text), program.Source
		r.row("opencode", req.Opencode, req.OpencodeSource)
	}
	for _, c := range in.Table() {
		r.row("tier "+string(c.Tier), c.Model, c.Source)
	}
}

// isWord reports whether s can be a name that opencode gets as an argument: letters, digits and some marks between them.
func isWord(s string) bool {
	for i, c := range s {
		if !unicode.IsLetter(c) && !unicode.IsDigit(c) && c != '_' && (i == 0 || !strings.ContainsRune(" .:/@+-", c)) {
			return false
		}
	}
	return s != "" && len(s) <= 128
}

// word checks a value that becomes an argument of opencode.
func (r *resolver) word(name string, v tiers.Value) {
	if !v.Set() {
		return
	}
	if !isWord(v.Text) {
		r.problem(v.Source, fmt.Errorf("%q cannot be the name of a %s", clip(v.Text), name))
	}
	r.row(name, v.Text, v.Source)
}

// absolute is a path of the caller's: relative to the caller's directory, whatever --dir says.
func (r *resolver) absolute(path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.env.Cwd, path)
	}
	return filepath.Clean(path)
}

// settled is a path whose directory has no symbolic links: those that are made later do not count.
func settled(path string) string {
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(dir, filepath.Base(path))
	}
	return path
}

func (r *resolver) place() {
	if own := r.flags.Recipe; own.Dir != "" {
		r.call.Request.Dir = own.Dir
		r.row("dir", own.Dir, "built in for "+own.Name)
		return
	}
	dir := tiers.First(r.flag("dir", r.flags.Dir), tiers.Value{Text: r.env.Cwd, Source: "current directory"})
	if r.env.Cwd == "" && !filepath.IsAbs(dir.Text) {
		r.problem("current directory", errors.New("is not there any more; go to another one, or name one with an absolute --dir"))
		return
	}
	path, err := filepath.EvalSymlinks(r.absolute(dir.Text))
	if err == nil {
		var fi os.FileInfo
		if fi, err = os.Stat(path); err == nil && !fi.IsDir() {
			err = fmt.Errorf("%s is not a directory; name a directory", clip(dir.Text))
		}
	} else {
		err = fmt.Errorf("%s is not there; name a directory that exists", clip(dir.Text))
	}
	r.problem(dir.Source, err)
	r.call.Request.Dir = path
	r.row("dir", path, dir.Source)
	for _, f := range r.flags.File {
		r.call.Request.Files = append(r.call.Request.Files, r.existing("flag --file", f))
	}
}

// existing is a path that must be there, absolute and without symbolic links.
func (r *resolver) existing(source, path string) string {
	if path == "" {
		r.problem(source, fmt.Errorf("empty; give a path"))
		return ""
	}
	p, err := filepath.EvalSymlinks(r.absolute(path))
	if err != nil {
		r.problem(source, fmt.Errorf("%s is not there; name a path that exists", clip(path)))
	}
	return p
}

// isEnvName reports whether s can be the name of a variable.
func isEnvName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		return c != '_' && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (c < '0' || c > '9')
	}) && (s[0] < '0' || s[0] > '9')
}

func (r *resolver) grant() {
	f, req := r.flags, &r.call.Request
	profile := tiers.First(r.flag("profile", f.Profile), tiers.Value{Text: "read-only", Source: "built in"})
	if f.Write && !f.Profile.Set {
		profile = tiers.Value{Text: "standard", Source: "flag --write"}
	}
	if own := r.flags.Recipe; own.Profile != "" {
		profile = tiers.Value{Text: string(own.Profile), Source: "built in for " + own.Name}
	}
	p, err := permission.Parse(profile.Text)
	r.problem(profile.Source, err)
	switch {
	case err != nil:
	case p == permission.Research && r.flags.Recipe.Profile != p:
		r.problem(profile.Source, errors.New("research is the profile of the verb of that name, which works where there is nothing of yours; leave it out, or call oc-delegate research"))
	case p.Writes() && !f.Write:
		r.problem(profile.Source, fmt.Errorf("%s lets the worker write; add --write, or leave the profile out", profile.Text))
	case !p.Writes() && f.Write:
		r.problem(profile.Source, fmt.Errorf("%s cannot be combined with --write; leave one of them out", profile.Text))
	default:
		req.Profile = p.Name()
	}
	r.row("profile", req.Profile, profile.Source)
	for _, path := range f.AllowRead {
		req.AllowRead = append(req.AllowRead, r.existing("flag --allow-read", path))
	}
	for _, path := range f.AllowWrite {
		req.AllowWrite = append(req.AllowWrite, r.existing("flag --allow-write", path))
	}
	for _, name := range f.KeepEnv {
		if !isEnvName(name) {
			r.problem("flag --keep-env", fmt.Errorf("%q is no name of a variable; give the name alone", clip(name)))
		}
	}
	for name, set := range map[string]bool{"allow-write": len(f.AllowWrite) > 0, "allow-no-changes": f.AllowNoChanges, "allow-git-config": f.AllowGitConfig} {
		if set && !f.Write {
			r.problem("flag --"+name, fmt.Errorf("it widens --write; add --write or leave it out"))
		}
	}
	req.KeepEnv, req.NoSandbox, req.TrustProject = f.KeepEnv, f.NoSandbox, f.TrustProject
	req.AllowNoChanges, req.AllowGitConfig = f.AllowNoChanges, f.AllowGitConfig
	sandbox := Row{"sandbox", "landlock where the kernel has it", "built in"}
	if f.NoSandbox {
		sandbox = Row{"sandbox", "off", "flag --no-sandbox"}
	}
	r.call.Rows = append(r.call.Rows, sandbox)
}

func (r *resolver) session() {
	f, req := r.flags, &r.call.Request
	id := r.flag("session", f.Session)
	if f.Continue && id.Set() {
		r.problem("", fmt.Errorf("-c and -s name a session each; give one of them"))
	}
	if f.Fork && !f.Continue && !id.Set() {
		r.problem("flag --fork", fmt.Errorf("it copies a session; name one with -c or -s"))
	}
	r.call.Continue, req.Session, req.Fork = f.Continue, id.Text, f.Fork
	req.Caller = Caller(r.env.Getenv)
}

// Shell is the caller of a call that no agent makes.
const Shell = "shell"

// Caller is who calls: the session of Claude Code where there is one, else the shell.
func Caller(getenv func(string) string) string {
	if id := getenv("CLAUDE_CODE_SESSION_ID"); IsSession(id) {
		return id
	}
	return Shell
}

// IsSession reports whether id can be a session of Claude Code.
func IsSession(id string) bool {
	return id != "" && id != Shell && len(id) <= 128 && utf8.ValidString(id) && !strings.ContainsFunc(id, unicode.IsControl)
}

func (r *resolver) answer() {
	f := r.flags
	format := tiers.First(r.flag("output", f.Output), tiers.Value{Text: "text", Source: "built in"})
	if !slices.Contains([]string{"text", "json"}, format.Text) {
		r.problem(format.Source, fmt.Errorf("%q is no format; text or json", clip(format.Text)))
	}
	r.call.Reply.JSON = format.Text == "json"
	r.row("output", format.Text, format.Source)
	progress := tiers.First(r.flag("progress", f.Progress), tiers.Value{Text: "auto", Source: "built in"})
	if !slices.Contains([]string{"auto", "plain", "none"}, progress.Text) {
		r.problem(progress.Source, fmt.Errorf("%q is no kind of progress; auto, plain or none", clip(progress.Text)))
	}
	r.call.Progress = progress.Text
	if out := r.flag("out", f.Out); out.Set() {
		r.call.Reply.Out = settled(r.absolute(out.Text))
		if fi, err := os.Lstat(r.call.Reply.Out); err == nil && !fi.Mode().IsRegular() {
			r.problem(out.Source, fmt.Errorf("%s is not a regular file; name a file", clip(out.Text)))
		} else if fi, err := os.Stat(filepath.Dir(r.call.Reply.Out)); err != nil || !fi.IsDir() {
			r.problem(out.Source, fmt.Errorf("the directory of %s is not there; make it first", clip(out.Text)))
		} else if !writable(filepath.Dir(r.call.Reply.Out)) {
			r.problem(out.Source, fmt.Errorf("the directory of %s cannot be written; name a file elsewhere", clip(out.Text)))
		}
		r.row("out", r.call.Reply.Out, out.Source)
	}
	if log := tiers.First(r.environment("OC_DELEGATE_USAGE_LOG", "CLAUDE_PLUGIN_OPTION_USAGE_LOG"), r.config.value(r.config.UsageLog)); log.Set() {
		r.call.Reply.UsageLog = r.absolute(log.Text)
		r.row("usage log", r.call.Reply.UsageLog, log.Source)
	}
}

func (r *resolver) limits() {
	f, req := r.flags, &r.call.Request
	duration := func(name string, o Once, env []string, file, fallback string, zero bool) delegate.Duration {
		v := tiers.First(r.flag(name, o), r.environment(env...), r.config.value(file), tiers.Value{Text: fallback, Source: "built in"})
		d, err := parseDuration(v.Text, zero)
		r.problem(v.Source, err)
		r.row(name, v.Text, v.Source)
		return delegate.Duration(d)
	}
	req.Timeout = duration("timeout", f.Timeout, []string{"OC_DELEGATE_TIMEOUT", "CLAUDE_PLUGIN_OPTION_TIMEOUT"}, r.config.Timeout, "10m", false)
	req.Idle = duration("idle-timeout", f.IdleTimeout, nil, r.config.IdleTimeout, "0", true)
	req.RetryLimit = duration("retry-limit", f.RetryLimit, nil, r.config.RetryLimit, "90s", false)
	req.Grace = duration("grace", f.Grace, nil, r.config.Grace, "3s", true)

	count := func(name string, o Once, env []string, file, fallback string, least int64) int64 {
		v := tiers.First(r.flag(name, o), r.environment(env...), r.config.value(file), tiers.Value{Text: fallback, Source: "built in"})
		n, err := parseCount(v.Text, least)
		r.problem(v.Source, err)
		r.row(name, v.Text, v.Source)
		return n
	}
	req.MaxTokens = count("max-tokens", f.MaxTokens, nil, string(r.config.MaxTokens), "0", 0)
	r.call.Reply.WarnChars = count("warn-chars", Once{}, []string{"OC_DELEGATE_WARN_CHARS", "CLAUDE_PLUGIN_OPTION_DIGEST_WARN_CHARS"}, string(r.config.WarnChars), "8000", 0)
	limit := count("digest-limit", f.DigestLimit, []string{"OC_DELEGATE_DIGEST_LIMIT", "CLAUDE_PLUGIN_OPTION_DIGEST_LIMIT"}, string(r.config.DigestLimit), "4000", 500)
	r.call.Reply.Digest = f.Digest
	req.Digest, req.DigestLimit = f.Digest, int(min(limit, 1<<30))

	cost := tiers.First(r.flag("max-cost", f.MaxCost), r.config.value(string(r.config.MaxCost)), tiers.Value{Text: "0", Source: "built in"})
	usd, err := parseCost(cost.Text)
	r.problem(cost.Source, err)
	req.MaxCost, req.IgnoreQuota = usd, f.IgnoreQuota
	r.row("max-cost", strconv.FormatFloat(usd, 'f', -1, 64), cost.Source)
	req.Schema = 1
}
