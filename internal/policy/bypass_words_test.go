package policy

import (
	"strings"
	"testing"
)

// wordBypasses are one plain call each: their words are the harm.
var wordBypasses = []bypass{
	{"oc-delegate --no-sandbox x", "passes --no-sandbox", "nothing is enforced"},
	{"oc-delegate --no-sandbox=true x", "passes --no-sandbox=true", "the same with a value"},
	{"oc-delegate --write --no-sandbox x", "plain", "nothing is enforced"},
	{"oc-delegate x --no-sandbox", "plain", "flags behind the task count"},
	{"oc-delegate --trust-project x", "plain", "plugins of the repository run"},
	{"oc-delegate --allow-read {outside} x", "plain", "credentials are opened"},
	{"oc-delegate --allow-read=. x", "plain", "credentials in the project are opened"},
	{"oc-delegate --allow-git-config --write x", "plain", "hooks stay"},
	{"oc-delegate --keep-env AWS_SECRET_ACCESS_KEY x", "plain", "a secret reaches the worker"},
	{"oc-delegate --keep-env=A x", "plain", "a variable reaches the worker"},
	{"oc-delegate --opencode ./evil x", "plain", "a program of the repository runs"},
	{"oc-delegate --opencode=/bin/sh x", "plain", "any program runs"},
	{"oc-delegate --agent build x", "plain", "an agent that the user configured for other purposes"},
	{"oc-delegate --profile full-trusted --write x", "plain", "every tool"},
	{"oc-delegate --profile=allow_all --write x", "plain", "every tool, by its other name"},
	{"oc-delegate --profile trusted-test --write x", "plain", "subagents"},
	{"oc-delegate --profile nonsense x", "plain", "a profile that is not known"},
	{"oc-delegate --verify 'rm -rf /' x", "plain", "a command that our tool would run"},
	{"oc-delegate --on-finish 'touch x' x", "plain", "a command that our tool would run"},
	{"oc-delegate --unknown x", "plain", "a flag of a later version"},
	{"oc-delegate --writ x", "plain", "an abbreviation"},
	{"oc-delegate --no-write x", "plain", "a negation"},
	{"oc-delegate --write=true x", "plain", "a switch with a value"},
	{"oc-delegate --digest=--no-sandbox x", "plain", "a switch with a value"},
	{"oc-delegate -x", "plain", "a short flag that is not known"},
	{"oc-delegate -cf README.md x", "plain", "two short flags in one word"},
	{"oc-delegate -f{outside}/secret.txt x", "plain", "a value in the word of a short flag"},
	{"oc-delegate -f={outside}/secret.txt x", "plain", "a value in the word of a short flag"},
	{"oc-delegate --file --no-sandbox x", "plain", "a flag in the place of a value"},
	{"oc-delegate --title --no-sandbox x", "plain", "a flag in the place of a value"},
	{"oc-delegate --dir", "plain", "a value is missing"},
	{"oc-delegate --dir= x", "plain", "an empty value"},
	{"oc-delegate --dir '' x", "plain", "an empty value"},
	{"oc-delegate --dir src --dir {outside} x", "plain", "the second one might win"},
	{"oc-delegate --profile standard --profile full-trusted --write x", "plain", "the second one might win"},
	{"oc-delegate --tier pro review", "plain", "a verb that does not come first"},
	{"oc-delegate review --write", "plain", "a flag that the verb does not have"},
	{"oc-delegate review --base=--output=/tmp/x", "plain", "an option of git"},
	{"oc-delegate review --base --output=/tmp/x", "plain", "an option of git"},
	{"oc-delegate review --base '--no-index /etc/passwd'", "plain", "an option of git"},
	{"oc-delegate review --base main --base=-x", "plain", "the second one might win"},
	{"oc-delegate review --no-sandbox", "plain", "a flag that the verb does not have"},
	{"oc-delegate review --allow-read /etc", "plain", "a flag that the verb does not have"},
	{"oc-delegate review -f {outside}/secret.txt", "plain", "a flag that the verb does not have"},
	{"oc-delegate review --prompt-file {outside}/secret.txt", "plain", "a flag that the verb does not have"},
	{"oc-delegate review -c", "plain", "a flag that the verb does not have"},
	{"oc-delegate review --dir .git", "plain", "a git directory"},
	{"oc-delegate review --dir /etc", "plain", "a directory outside"},
	{"oc-delegate review --out /tmp/x", "plain", "a file outside"},
	{"oc-delegate diagnose --log /etc/shadow", "plain", "a file outside"},
	{"oc-delegate diagnose --log ../outside/a.go why", "plain", "a file outside"},
	{"oc-delegate diagnose --log={outside}/a.go why", "plain", "a file outside"},
	{"oc-delegate diagnose --log secretlink", "plain", "a link leads out"},
	{"oc-delegate diagnose --log src/up/a.go", "plain", "a link leads out"},
	{"oc-delegate diagnose --log .env", "plain", "secrets that the worker may not read"},
	{"oc-delegate diagnose --log envlink", "plain", "the same by a link"},
	{"oc-delegate diagnose --log README.md --log .env", "plain", "the second one might win"},
	{"oc-delegate diagnose --write x", "plain", "a flag that the verb does not have"},
	{"oc-delegate diagnose --dir {outside} x", "plain", "a directory outside"},
	{"oc-delegate review --log README.md", "plain", "a flag of another verb"},
	{"oc-delegate research --dir src x", "plain", "a flag that the verb does not have"},
	{"oc-delegate research --profile research x", "plain", "a flag that the verb does not have"},
	{"oc-delegate --profile research x", "plain", "the web beside the project's files"},
	{"oc-delegate research --opencode ./evil x", "plain", "a program"},
	{"oc-delegate review {outside}/secret.txt", "plain", "a file outside"},
	{"oc-delegate review README.md ../outside", "plain", "a directory outside"},
	{"oc-delegate review /etc", "plain", "a directory outside"},
	{"oc-delegate review out", "plain", "a link leads out"},
	{"oc-delegate review secretlink", "plain", "a link leads out"},
	{"oc-delegate review dangling", "plain", "a link leads out, to nothing yet"},
	{"oc-delegate review -- .env", "plain", "secrets that the worker may not read"},
	{"oc-delegate review --commit=--output=/tmp/x", "plain", "an option of git"},
	{"oc-delegate review --commit main --commit=-x", "plain", "the second one might win"},
	{"oc-delegate fix --from mine --verify 'touch x'", "plain", "a command that our tool would run"},
	{"oc-delegate fix --from mine --no-sandbox", "plain", "nothing is enforced"},
	{"oc-delegate fix --from mine --dir {outside}", "plain", "a directory outside"},
	{"oc-delegate fix --from mine --allow-write {outside}", "plain", "the worker could write outside the project"},
	{"oc-delegate fix --from mine --profile full-trusted", "plain", "every tool"},
	{"oc-delegate fix --from mine --from theirs", "plain", "the second one might win"},
	{"oc-delegate fix --from mine -f {outside}/secret.txt", "plain", "a flag that the verb does not have"},
	{"oc-delegate --digest fix x", "plain", "a verb behind a flag"},
	{"oc-delegate --write --verify true x", "plain", "the one that is checked chooses the check"},
	{"oc-delegate --write --protect none x", "plain", "the one that is checked chooses what is guarded"},
	{"oc-delegate --write --allow-test-changes x", "plain", "changed tests would count"},
	{"oc-delegate --write --trust-deps x", "plain", "changed dependencies would count"},
	{"oc-delegate --write --allow-path '**' x", "plain", "the one that is checked chooses what may change"},
	{"oc-delegate --write --isolate --link {outside} x", "plain", "a directory outside"},
	{"oc-delegate --write --isolate --copy out x", "plain", "a link leads out"},
	{"oc-delegate --expect-schema {outside}/secret.txt x", "plain", "a file outside"},
	{"oc-job start --write --verify 'touch x' x", "plain", "a command that our tool would run"},
	{"oc-job retry checked", "plain", "it had a command that our tool would run"},
	{"oc-delegate", "plain", "no words"},

	{"oc-delegate --dir .. x", "plain", "above the project"},
	{"oc-delegate --dir {outside} x", "plain", "outside the project"},
	{"oc-delegate --dir={outside} x", "plain", "outside the project"},
	{"oc-delegate --dir src/../../outside x", "plain", "outside, by way of the project"},
	{"oc-delegate --dir out x", "plain", "a link leads out"},
	{"oc-delegate --dir src/up x", "plain", "a link leads out"},
	{"oc-delegate --dir {project}/../outside x", "plain", "outside, from the project's own path"},
	{"oc-delegate --dir {root}/project-2 x", "plain", "a name that begins as the project's does"},
	{"oc-delegate --dir / x", "plain", "everything"},
	{"oc-delegate --dir README.md x", "plain", "no directory"},
	{"oc-delegate --dir missing x", "plain", "not there yet: somebody could make a link of that name"},
	{"oc-delegate --dir .git --write x", "plain", "hooks would not be watched"},
	{"oc-delegate --dir gitlink --write x", "plain", "the same by a link"},
	{"oc-delegate --dir .git/hooks --write x", "plain", "hooks would not be watched"},
	{"oc-delegate -f {outside}/secret.txt x", "plain", "a file outside the project"},
	{"oc-delegate -f secretlink x", "plain", "a link leads out"},
	{"oc-delegate --file out/secret.txt x", "plain", "a link leads out"},
	{"oc-delegate --file=../outside/secret.txt x", "plain", "outside the project"},
	{"oc-delegate -f README.md -f /etc/passwd x", "plain", "the second of two"},
	{"oc-delegate -f {outside}/in/../a.go x", "plain", "the commands take .. away before they follow links"},
	{"oc-delegate -f dangling x", "plain", "a link that leads out, to nothing yet"},
	{"oc-delegate -f out/new.txt x", "plain", "a link leads out, to nothing yet"},
	{"oc-delegate -f missing/new.txt x", "plain", "nothing can be said of it"},
	{"oc-delegate -f .env x", "plain", "secrets that the worker may not read"},
	{"oc-delegate -f envlink x", "plain", "the same by a link"},
	{"oc-delegate --prompt-file {outside}/secret.txt", "plain", "a file outside the project goes to the model"},
	{"oc-delegate --prompt-file=/proc/self/environ", "plain", "the environment goes to the model"},
	{"oc-delegate --prompt-file /dev/stdin", "plain", "outside the project"},
	{"oc-delegate --prompt-file .env", "plain", "secrets go to the model"},
	{"oc-delegate --out {outside}/x y", "plain", "a file outside the project is written"},
	{"oc-delegate --out ../x y", "plain", "a file outside the project is written"},
	{"oc-delegate --out out/x y", "plain", "a link leads out"},
	{"oc-delegate --out=secretlink y", "plain", "a link leads out"},
	{"oc-delegate --out dangling y", "plain", "a link leads out, to nothing yet"},
	{"oc-delegate --out .git/hooks/pre-commit y", "plain", "git would run it"},
	{"oc-delegate --out .GIT/config y", "plain", "the same where case does not count"},
	{"oc-delegate --out gitlink/config y", "plain", "the same by a link"},
	{"oc-delegate --out .claude/settings.json y", "plain", "it would steer the host"},
	{"oc-delegate --out .claude/worktrees/w1/.claude/settings.json y", "plain", "it would steer the host"},
	{"oc-delegate --out .mcp.json y", "plain", "the host would run what it names"},
	{"oc-delegate --out opencode.json y", "plain", "opencode would run what it names"},
	{"oc-delegate --out src/.envrc y", "plain", "a shell would run it"},
	{"oc-delegate --write --allow-write {outside} x", "plain", "the worker could write outside the project"},
	{"oc-delegate --write --allow-write / x", "plain", "everything"},
	{"oc-delegate --write --allow-write out x", "plain", "a link leads out"},
	{"oc-delegate --write --allow-write .git x", "plain", "hooks of a repository that is not watched"},
	{"oc-delegate --write --allow-write src --allow-write .. x", "plain", "the second of two"},

	{"oc-job", "plain", "no verb"},
	{"oc-job gc", "plain", "it removes records"},
	{"oc-job gc --older 0s", "plain", "it removes records"},
	{"oc-job doctor --fix", "plain", "it ends processes"},
	{"oc-job notify", "plain", "it takes the notices away"},
	{"oc-job watch", "plain", "it waits for a key"},
	{"oc-job hook PreToolUse", "plain", "it is the host's"},
	{"oc-job supervise", "plain", "no verb"},
	{"oc-job --json start --no-sandbox x", "plain", "a flag before the verb"},
	{"oc-job --no-sandbox start x", "plain", "a flag before the verb"},
	{"oc-job -- start --no-sandbox", "plain", "a verb behind --"},
	{"oc-job star x", "plain", "an abbreviation"},
	{"oc-job START x", "plain", "no verb"},
	{"oc-job start --no-sandbox x", "plain", "nothing is enforced"},
	{"oc-job start --on-finish 'touch x' x", "plain", "a command runs at the end"},
	{"oc-job start --on-finish=x x", "plain", "a command runs at the end"},
	{"oc-job start --opencode ./evil x", "plain", "a program of the repository runs"},
	{"oc-job start --dir .. x", "plain", "above the project"},
	{"oc-job start --max-wait 1s x", "plain", "no flag of this verb"},
	{"oc-job list --write", "plain", "no flag of this verb"},
	{"oc-job status --fix", "plain", "no flag of this verb"},
	{"oc-job cancel theirs", "plain", "another caller's job"},
	{"oc-job cancel nobodys", "plain", "a job without a caller"},
	{"oc-job cancel mine theirs", "plain", "the second of two"},
	{"oc-job cancel --force theirs", "plain", "another caller's job"},
	{"oc-job cancel --force mine", "plain", "with force the name could come to mean another"},
	{"oc-job cancel -- theirs", "plain", "another caller's job behind --"},
	{"oc-job cancel nothing-of-that-name", "plain", "no such job"},
	{"oc-job continue theirs x", "plain", "another caller's job"},
	{"oc-job continue -- theirs x", "plain", "another caller's job behind --"},
	{"oc-job continue --json theirs x", "plain", "another caller's job behind a flag"},
	{"oc-job continue mine --on-finish 'touch x' x", "plain", "a command runs at the end"},
	{"oc-job continue mine --prompt-file {outside}/secret.txt", "plain", "a file outside the project goes to the model"},
	{"oc-job continue loose x", "plain", "its sandbox was off"},
	{"oc-job continue trusting x", "plain", "it trusted the repository"},
	{"oc-job continue peeking x", "plain", "it could read credentials"},
	{"oc-job continue wide x", "plain", "it had every tool"},
	{"oc-job continue else x", "plain", "it worked elsewhere"},
	{"oc-job continue nosy x", "plain", "the web, and a place of the user's"},
	{"oc-job continue program x", "plain", "it had a program of its own"},
	{"oc-job continue hooks x", "plain", "it could leave hooks"},
	{"oc-job continue agent x", "plain", "it had an agent"},
	{"oc-job continue env x", "plain", "it had variables"},
	{"oc-job continue spread x", "plain", "it could write elsewhere"},
	{"oc-job continue leak x", "plain", "it had a file from elsewhere"},
	{"oc-job retry loose", "plain", "its sandbox was off"},
	{"oc-job retry theirs", "plain", "another caller's job"},
	{"oc-job retry mine --no-sandbox", "plain", "no flag of this verb"},
	{"oc-job recover wide", "plain", "it had every tool"},
	{"oc-job recover theirs", "plain", "another caller's job"},
}

func bypasses() []bypass { return append(append([]bypass{}, shellBypasses...), wordBypasses...) }

func TestBypassesAreDenied(t *testing.T) {
	g := newGround(t)
	t.Logf("%d bypasses", len(bypasses()))
	if n := len(bypasses()); n < 150 {
		t.Errorf("%d bypasses, want at least 150", n)
	}
	seen := map[string]bool{}
	for _, b := range bypasses() {
		if seen[b.command] {
			t.Errorf("%q stands twice", b.command)
		}
		seen[b.command] = true
		for _, mode := range []string{"default", "plan", "bypassPermissions"} {
			c := g.call(g.fill(b.command))
			c.PermissionMode = mode
			d := Decide(c, Policy{}, g.jobs)
			if d.Verdict != Deny {
				t.Errorf("subagent, %s, %q (%s): %v", mode, b.command, b.why, d.Verdict)
			}
			if d.Reason == "" || len([]rune(d.Reason)) > reasonLimit || strings.ContainsAny(d.Reason, "\n\r\x1b") {
				t.Errorf("%q: reason %q", b.command, d.Reason)
			}
			c.AgentType = ""
			if d := Decide(c, Policy{}, g.jobs); d.Verdict != None || len([]rune(d.Reason)) > reasonLimit || strings.ContainsAny(d.Reason, "\n\r\x1b") {
				t.Errorf("conductor, %s, %q (%s): %v %q", mode, b.command, b.why, d.Verdict, d.Reason)
			}
			// What may be written without a question is no licence for anything else.
			if d := Decide(c, Policy{ConductorWrite: true}, g.jobs); d.Verdict != None {
				t.Errorf("conductor who may write, %s, %q (%s): %v", mode, b.command, b.why, d.Verdict)
			}
		}
	}
}
