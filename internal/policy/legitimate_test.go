package policy

import (
	"slices"
	"strings"
	"testing"
)

// fill puts the places of a ground into a command of the corpora.
func (g ground) fill(command string) string {
	return strings.NewReplacer("{project}", g.project, "{outside}", g.outside, "{root}", g.root).Replace(command)
}

// readers are calls that the conductor itself may make without a question; the subagent too.
var readers = []string{
	`oc-delegate "Where is the retry limit set, and what is its default?"`,
	`oc-delegate 'Where is the cache kept?'`,
	`oc-delegate where`,
	`  oc-delegate 'leading blanks'`,
	"oc-delegate 'a line break behind'\n",
	"oc-delegate\t'tabs'\t--digest",
	`oc-delegate --digest 'List every TODO'`,
	`oc-delegate --output json --max-tokens 200000 "List every TODO"`,
	`oc-delegate --output=json --max-tokens=200000 "List every TODO"`,
	`oc-delegate --tier pro --digest "Review this change" -`,
	"oc-delegate --digest - <<'EOF'\nDo not run `rm -rf /`, $(touch x) or $HOME; 'quotes' \"too\" \\ and \\\\.\n\nEOF \n EOF\nEOF",
	"oc-delegate --digest - <<'BRIEF'\nWhat does the cache hold?\nBRIEF\n",
	"oc-delegate - <<\"EOF\"\n$SECRET stays as it is\nEOF\n\n",
	"oc-delegate - << 'EOF_1'\nblank before the delimiter\nEOF_1\n",
	"oc-delegate <<'EOF' - --digest\nwords behind the delimiter\nEOF\n",
	"oc-delegate - <<'EOF'\nEOF\n",
	"oc-delegate --digest \\\n  --tier code \\\n  'on several lines'",
	"oc-delegate --digest \\\n  --tier code - <<'EOF'\non several lines\nEOF",
	"oc-delegate 'a text\nof two lines; rm -rf / && echo $HOME'",
	"oc-delegate \"a text\nof two lines; rm -rf / && echo \\$HOME \\`x\\` \\\"q\\\" \\\\ \\n\"",
	`oc-delegate 'it'\''s broken'`,
	`oc-delegate "it's broken"`,
	`oc-delegate 'a'\''$(touch x)'`,
	`oc-delegate 'a; touch x' -`,
	`oc-delegate 'a'"b"'c' `,
	`oc-delegate -- '--fix is broken, why?'`,
	`oc-delegate -- review`,
	`oc-delegate review`,
	`oc-delegate review --base main --adversarial --tier pro 'Can two of these run at once?'`,
	`oc-delegate review --dir src --max-wait 9m`,
	`oc-delegate review --staged`,
	`oc-delegate review --commit main 'Is it safe?'`,
	`oc-delegate review src README.md 'Is it safe?' -`,
	`oc-delegate review {project}/src/a.go`,
	`oc-delegate fix --help`,
	`oc-delegate --isolate --with-dirty --link src --expect-file a --forbid-path 'x/**' --max-diff 10 x`,
	`oc-delegate --ignore-quota --expect-schema src/a.go --no-preflight --verify-timeout 1m x`,
	`oc-delegate diagnose --max-wait 9m --log src/a.go 'Why does the build fail?'`,
	"oc-delegate diagnose 'Why?' - <<'EOF'\nerror: $(touch x)\nEOF",
	`oc-delegate diagnose --dir src 'undefined reference to f'`,
	`oc-delegate research --max-wait 9m 'Which codes may a cache store?'`,
	"oc-delegate research - <<'EOF'\nWhich codes; $(touch x)?\nEOF",
	`oc-delegate --dir src 'What is here?'`,
	`oc-delegate --dir={project}/src 'What is here?'`,
	`oc-delegate --dir src/../src 'What is here?'`,
	`oc-delegate --dir self 'a link that stays inside'`,
	`oc-delegate --dir 'my docs' 'What is here?'`,
	`oc-delegate -f README.md -f src/a.go 'Compare these'`,
	`oc-delegate -f {project}/src/up/../a.go 'the commands take .. away before they follow links'`,
	`oc-delegate --file={project}/README.md 'Read this'`,
	`oc-delegate -f .env.example 'What has to be set?'`,
	`oc-delegate --prompt-file brief.md`,
	`oc-delegate --prompt-file 'my docs/brief one.md' --digest`,
	`oc-delegate -c "And the tests?"`,
	`oc-delegate -s ses_abc123 --fork "And the tests?"`,
	`oc-delegate -m opencode-go/glm-5.2 --variant high --title 'look' 'Why?'`,
	`oc-delegate --tier-flash a/b --tier-code c/d --tier-pro e/f x`,
	`oc-delegate --timeout 30m --idle-timeout 2m --retry-limit 60s --grace 5s --max-cost 0.5 --max-wait 110s x`,
	`oc-delegate --profile read-only --progress none --digest-limit 2000 --digest x`,
	`oc-delegate --profile=minimal x`,
	`oc-delegate --explain`,
	`oc-delegate --print-command 'x'`,
	`oc-delegate --help`,
	`oc-delegate -h`,
	`oc-delegate --version`,
	`oc-delegate 'ein Überblick über 模块 – bitte 👩‍💻'`,
	`oc-delegate "wow! a ! b"`,
	`oc-job start --digest 'Summarise the docs'`,
	`oc-job start --name docs --reuse --after mine,mine2 --max-jobs 2 --max-jobs-per-model 1 --json 'x'`,
	"oc-job start --digest - <<'EOF'\nA long brief.\nEOF\n",
	`oc-job start --explain`,
	`oc-job list`,
	`oc-job list --all --mine --state running,failed --since 2h -n 5 --json`,
	`oc-job status`,
	`oc-job status 20261129-193015-0k7u2m --json`,
	`oc-job result mine`,
	`oc-job result --full theirs`,
	`oc-job result --events`,
	`oc-job result --diff mine`,
	`oc-job wait --timeout 110s mine`,
	`oc-job wait --any --progress mine mine2`,
	`oc-job wait --all`,
	`oc-job diff mine`,
	`oc-job diff --stat theirs`,
	`oc-job diff`,
	`oc-job quota`,
	`oc-job quota --json`,
	`oc-job report`,
	`oc-job report --since 7d --by tier --json`,
	`oc-job report --csv`,
	`oc-job logs mine`,
	`oc-job logs -f --raw mine`,
	`oc-job cancel mine`,
	`oc-job cancel mine mine2`,
	`oc-job continue asker 'And which not?'`,
	`oc-job retry asker`,
	`oc-job continue mine 'And the docs?'`,
	"oc-job continue mine - <<'EOF'\nAnd the docs?\nEOF\n",
	`oc-job continue mine --prompt-file brief.md --timeout 20m`,
	`oc-job retry`,
	`oc-job retry mine --tier pro --name again`,
	`oc-job retry -m a/b --json mine`,
	`oc-job recover mine`,
	`oc-job retry mine --after mine2`,
	`oc-job --help`,
	`oc-job --version`,
	`oc-job start --help`,
}

// writers are calls that the subagent may make where something may be written.
var writers = []string{
	`oc-delegate --write --digest "Add a --json flag to cmd/list, with a test"`,
	"oc-delegate --write --digest --timeout 30m - <<'EOF'\nImplement it. Acceptance: `make test` passes.\nEOF\n",
	`oc-delegate --write --dir src 'Fix the lint errors'`,
	`oc-delegate --write --profile standard 'x'`,
	`oc-delegate --write --profile=workspace-write 'x'`,
	`oc-delegate --write --allow-write src --allow-no-changes 'x'`,
	`oc-delegate --out answer.md 'x'`,
	`oc-delegate --out={project}/src/answer.md --digest 'x'`,
	`oc-delegate --write --dir .claude/worktrees/w1 --out .claude/worktrees/w1/answer.md 'x'`,
	`oc-job start --write --digest 'x'`,
	`oc-delegate --write --isolate --escalate code,pro --repair 2 --best-of 2 'x'`,
	`oc-delegate fix --from 20261129-193015-0k7u2m`,
	`oc-delegate fix --from mine --only F1,F3 --isolate --max-wait 9m 'Keep the names'`,
	`oc-delegate fix --explain --from mine`,
	`oc-delegate fix --from mine --isolate --with-dirty --copy src --escalate pro --max-diff 200 --max-cost 0.5`,
	`oc-delegate --write --isolate --copy 'my docs' --allow-no-changes 'x'`,
	`oc-job start --write --isolate --name copy --escalate pro --expect-file a --forbid-path '*.lock' 'x'`,
	"oc-job start --write --name big - <<'EOF'\nx\nEOF\n",
	`oc-job continue writer 'And the tests?'`,
	`oc-job retry writer --tier pro`,
	`oc-job recover writer`,
}

func legitimate() []string { return append(append([]string{}, readers...), writers...) }

func TestLegitimateCallsAreAllowed(t *testing.T) {
	g := newGround(t)
	if n := len(legitimate()); n < 40 {
		t.Errorf("%d calls, want at least 40", n)
	}
	for _, command := range legitimate() {
		if d := Decide(g.call(g.fill(command)), Policy{}, g.jobs); d.Verdict != Allow || d.Reason == "" {
			t.Errorf("%q: %v: %s", command, d.Verdict, d.Reason)
		}
	}
}

// TestWhoMayWriteWhen: the conductor's own calls that write are left to the host, and in a mode that is meant for looking nobody writes.
func TestWhoMayWriteWhen(t *testing.T) {
	g := newGround(t)
	for _, mode := range []string{"default", "acceptEdits", "auto", "bypassPermissions", "plan", "dontAsk", "a mode of tomorrow"} {
		writing := mode != "plan" && mode != "dontAsk" && mode != "a mode of tomorrow"
		for i, command := range legitimate() {
			reads := i < len(readers)
			sub, main := g.call(g.fill(command)), g.conductor(g.fill(command))
			sub.PermissionMode, main.PermissionMode = mode, mode

			want := Allow
			if !reads && !writing {
				want = Deny
			}
			if d := Decide(sub, Policy{}, g.jobs); d.Verdict != want {
				t.Errorf("%s, subagent, %q: %v, want %v: %s", mode, command, d.Verdict, want, d.Reason)
			}
			if want = Allow; !reads {
				want = None
			}
			if d := Decide(main, Policy{}, g.jobs); d.Verdict != want {
				t.Errorf("%s, conductor, %q: %v, want %v: %s", mode, command, d.Verdict, want, d.Reason)
			}
			if want = Allow; !reads && !writing {
				want = None
			}
			if d := Decide(main, Policy{ConductorWrite: true}, g.jobs); d.Verdict != want {
				t.Errorf("%s, conductor who may write, %q: %v, want %v: %s", mode, command, d.Verdict, want, d.Reason)
			}
		}
	}
}

// TestTheCorporaKnowEveryVerbAndFlag: what is allowed stands in a call that is, and what is refused in one that is not.
func TestTheCorporaKnowEveryVerbAndFlag(t *testing.T) {
	allowed, denied := map[string]bool{}, map[string]bool{}
	for _, command := range legitimate() {
		in := readOrNothing(command)
		allowed[in.verb.name] = allowed[in.verb.name] || !looks(in)
		for _, s := range in.settings {
			allowed["--"+s.flag.name] = true
		}
	}
	for _, b := range bypasses() {
		in := readOrNothing(b.command)
		denied[in.verb.name] = true
		for _, s := range in.settings {
			denied["--"+s.flag.name] = true
		}
	}
	for command, verbs := range commands {
		for _, v := range verbs {
			if shut := v.act == closed || v.act == landing; shut && !denied[v.name] || !shut && !allowed[v.name] {
				t.Errorf("no call of %s has the verb %q", command, v.name)
			}
			for _, f := range slices.Concat(v.flags...) {
				switch shut := v.act == closed || v.act == landing || f.use == refused; {
				case shut && v.act != closed && !denied["--"+f.name] && f.name != "help" && f.name != "version":
					t.Errorf("%s %s: no call that is refused has --%s", command, v.name, f.name)
				case !shut && !allowed["--"+f.name]:
					t.Errorf("%s %s: no call that is allowed has --%s", command, v.name, f.name)
				}
			}
		}
	}
}

// readOrNothing is what a command says, if it can be read.
func readOrNothing(command string) (in invocation) {
	if argv, err := Words(command); err == nil {
		if read, err := read(argv); err == nil {
			in = read
		}
	}
	return in
}
