package repocode

import (
	"os/exec"
	"strings"
	"testing"
)

func TestIsCode(t *testing.T) {
	for _, key := range strings.Fields(`core.hookspath core.fsmonitor core.sshcommand core.gitproxy core.editor core.pager core.askpass
		core.attributesfile core.excludesfile core.alternaterefscommand core.protectntfs core.somethingnew sequence.editor
		diff.external diff.x.command diff.x.textconv diff.orderfile filter.x.clean filter.x.smudge filter.x.process merge.x.driver
		mergetool.x.cmd mergetool.x.path difftool.x.cmd difftool.x.path man.x.cmd browser.x.path pager.log alias.x include.path
		includeif.gitdir:/x.path credential.helper credential.https://h.helper gpg.program gpg.ssh.program gpg.ssh.defaultkeycommand
		gpg.ssh.allowedsignersfile uploadpack.packobjectshook remote.o.uploadpack remote.o.receivepack remote.o.proxy remote.o.vcs
		url.https://x.insteadof url.x.pushinsteadof protocol.allow protocol.ext.allow sendemail.smtpserver sendemail.x.tocmd instaweb.httpd
		web.browser help.browser init.templatedir commit.template trailer.x.command trailer.x.cmd interactive.difffilter receive.procreceiverefs
		imap.tunnel hook.x.command gc.recentobjectshook tar.x.command guitool.x.cmd http.proxy http.sslverify http.sslcert http.cookiefile
		ssh.variant safe.directory blame.ignorerevsfile mailmap.file fsck.skiplist lfs.customtransfer.x.path lfs.standalonetransferagent
		lfs.extension.x.clean annex.ssh-command delta.pager`) {
		if !isCode(key, "x") {
			t.Errorf("%s passes", key)
		}
	}
	for key, value := range map[string]string{
		"remote.o.url": "ext::sh -c x", "remote.o.pushurl": "fd::7", "branch.main.remote": "foo::bar", "submodule.x.update": "!sh",
		"submodule.x.url": "foo::x", "remote.pushdefault": "ext::x", "remote.p.url": "--upload-pack=x",
	} {
		if !isCode(key, value) {
			t.Errorf("%s = %s passes", key, value)
		}
	}
	for key, value := range map[string]string{
		"branch.main.remote": "origin", "branch.main.merge": "refs/heads/main", "branch.main.description": "!std::vector", "branch.main.rebase": "true",
		"remote.o.url": "ssh://[::1]/x", "remote.p.url": "git@h:x/y.git", "remote.q.url": "../x", "remote.o.fetch": "+refs/heads/*:refs/remotes/o/*",
		"remote.o.gh-resolved": "base", "submodule.x.url": "https://h/x", "submodule.x.active": "true", "submodule.x.update": "rebase",
		"user.name": "x", "user.email": "x", "user.signingkey": "key::ssh-ed25519 x", "core.bare": "false", "core.filemode": "true", "core.autocrlf": "input",
		"core.repositoryformatversion": "1", "core.sparsecheckout": "true", "extensions.worktreeconfig": "true", "extensions.objectformat": "sha256",
		"commit.gpgsign": "true", "pull.rebase": "true", "push.default": "x", "push.autosetupremote": "true", "merge.ff": "only", "merge.conflictstyle": "zdiff3",
		"diff.algorithm": "histogram", "rebase.autostash": "true", "gc.auto": "0", "lfs.repositoryformatversion": "0", "lfs.https://h.access": "basic",
		"rerere.enabled": "true", "gitflow.branch.master": "main", "advice.detachedhead": "false", "color.ui": "x", "index.version": "4",
		"init.defaultbranch": "main", "submodule.recurse": "true", "maintenance.strategy": "x", "http.postbuffer": "1", "filter.lfs.required": "true",
		"branch.main.vscode-merge-base": "origin/main", "fetch.prune": "true",
	} {
		if isCode(key, value) {
			t.Errorf("%s = %s is held for code", key, value)
		}
	}
}

// Every key that the installed git knows and that sounds like a program or a file must be decided on purpose.
func TestKeysOfTheInstalledGit(t *testing.T) {
	out, err := exec.Command("git", "help", "--config-for-completion").Output()
	if err != nil {
		t.Fatal(err)
	}
	harmless := map[string]bool{"core.quotepath": true, "credential.usehttppath": true} // booleans
	seen := 0
	for line := range strings.SplitSeq(strings.ToLower(string(out)), "\n") {
		key := strings.TrimSpace(line)
		sounds := strings.HasSuffix(key, "command") || strings.HasSuffix(key, "cmd") || strings.HasSuffix(key, "program") || strings.HasSuffix(key, "hook") ||
			strings.HasSuffix(key, "file") || strings.HasSuffix(key, "path") || strings.HasSuffix(key, "editor") || strings.HasSuffix(key, "pager") ||
			strings.HasSuffix(key, "driver") || strings.HasSuffix(key, "external") || strings.HasSuffix(key, "helper") || strings.HasSuffix(key, "template")
		if !sounds || harmless[key] {
			continue
		}
		seen++
		if !isCode(key, "x") {
			t.Errorf("%s passes", key)
		}
	}
	if seen < 15 {
		t.Errorf("only %d keys of git were looked at", seen)
	}
}
