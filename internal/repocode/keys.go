package repocode

import (
	"strings"

	"opencode-delegate/internal/lazyregexp"

	"opencode-delegate/internal/gitconfig"
)

// rule says which variables of one section are code. Where git itself looks for programs in a section, the table names the
// ordinary variables and everything else is code, so that a variable of a later git is guarded before this table knows it.
type rule struct {
	code     bool   // variables that the lists do not name are code
	ordinary string // names separated by spaces
	guarded  string // names separated by spaces; code although the section is ordinary
}

// sections holds the sections of git 2.39 to 2.54 in which a variable can make git run a program, read a file of
// the writer's choice, talk to another place than its user asked for, or drop a protection. A section that is not here is ordinary but for names
// that suggest a program or a file (see namesProgram): git runs nothing of a section that it does not know, other tools may.
var sections = map[string]rule{
	"alias":       {code: true},
	"browser":     {code: true},
	"credential":  {code: true, ordinary: "username usehttppath"},
	"difftool":    {code: true, ordinary: "prompt trustexitcode"},
	"filter":      {code: true, ordinary: "required"},
	"guitool":     {code: true, ordinary: "title prompt argprompt revprompt revunmerged needsfile noconsole norescan confirm"},
	"hook":        {code: true},
	"imap":        {code: true, ordinary: "folder"},
	"include":     {code: true},
	"includeif":   {code: true},
	"instaweb":    {code: true, ordinary: "local port"},
	"man":         {code: true},
	"mergetool":   {code: true, ordinary: "prompt trustexitcode hideresolved keepbackup keeptemporaries writetotemp layout hasoutput useautomerge"},
	"pager":       {code: true},
	"safe":        {code: true},
	"sendemail":   {code: true},
	"sequence":    {code: true},
	"ssh":         {code: true},
	"url":         {code: true},
	"web":         {code: true},
	"help":        {code: true, ordinary: "format"},
	"gpg":         {code: true, ordinary: "format mintrustlevel"},
	"protocol":    {code: true, ordinary: "version"},
	"fsmonitor":   {code: true},
	"interactive": {code: true, ordinary: "singlekey"},
	"init":        {code: true, ordinary: "defaultbranch defaultobjectformat defaultrefformat"},
	"tar":         {code: true, ordinary: "umask"},
	"uploadpack":  {code: true, ordinary: "hiderefs allowtipsha1inwant allowreachablesha1inwant allowanysha1inwant keepalive allowfilter allowrefinwant"},
	"trailer":     {code: true, ordinary: "separators where ifexists ifmissing key"},
	"commit":      {guarded: "template"},
	"gc":          {guarded: "recentobjectshook"},
	"branch":      {},
	"submodule":   {ordinary: "path"},
	"remote":      {guarded: "uploadpack receivepack proxy vcs proxyauthmethod"},
	"blame":       {guarded: "ignorerevsfile"},
	"mailmap":     {guarded: "file"},
	"format":      {guarded: "signaturefile outputdirectory"},
	"receive":     {guarded: "procreceiverefs certnonceseed skiplist"},
	"fsck":        {guarded: "skiplist"},
	"fetch":       {guarded: "skiplist bundleuri"},
	"lfs": {guarded: "url pushurl standalonetransferagent customtransfer gitprotocol sshtransfer storage",
		ordinary: "repositoryformatversion access locksverify"},
	"http": {code: true, ordinary: "postbuffer version lowspeedlimit lowspeedtime maxrequests minsessions useragent noepsv extraheader maxretries retryafter maxretrytime"},
	"core": {code: true, ordinary: "abbrev alternaterefsprefixes autocrlf bare bigfilethreshold checkroundtripencoding checkstat " +
		"commentchar commentstring commitgraph compression createobject deltabasecachelimit eol filemode " +
		"filesreflocktimeout fscache fsmonitorhookversion fsync fsyncmethod fsyncobjectfiles hidedotfiles ignorecase ignorestat " +
		"logallrefupdates longpaths loosecompression maxtreedepth multipackindex notesref packedgitlimit packedgitwindowsize " +
		"packedrefstimeout precomposeunicode prefersymlinkrefs preloadindex quotepath repositoryformatversion safecrlf " +
		"sharedrepository sparsecheckout sparsecheckoutcone splitindex symlinks trustctime untrackedcache usereplacerefs " +
		"warnambiguousrefs whitespace"},
	"diff": {code: true, ordinary: "algorithm autorefreshindex binary cachetextconv colormoved colormovedws context dirstat " +
		"dstprefix ignoresubmodules indentheuristic interhunkcontext mnemonicprefix noprefix relative renamelimit renames " +
		"srcprefix statgraphwidth statnamewidth submodule suppressblankempty wordregex wserrorhighlight xfuncname"},
	"merge": {code: true, ordinary: "autostash branchdesc conflictstyle defaulttoupstream directoryrenames ff log name recursive " +
		"renamelimit renames renormalize stacksize stat suppressdest verbosity verifysignatures"},
}

// namesProgram matches a variable that, by its name, holds a program or a file, in sections that git does not know.
var namesProgram = lazyregexp.New(`(command|cmd|program|helper|path|paths|driver|textconv|editor|pager|browser|hook|hooks|` +
	`file|proxy|tunnel|clean|smudge|process|askpass|exec|shell|script|external|interpreter|agent|template|templatedir)$`)

// transport matches an address that git gives to a remote helper, a program git-remote-<name>; ext and fd run anything.
var transport = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9+.-]*::`)

// isCode reports whether a key with one value makes git, or a tool that reads git's configuration, run a program, read a
// file, or trust another place. core.worktree is decided by its value elsewhere.
func isCode(key, value string) bool {
	section, _, variable := gitconfig.Split(key)
	value = strings.TrimSpace(value)
	switch {
	case strings.HasPrefix(value, "ext::"), strings.HasPrefix(value, "fd::"):
		return true
	case section == "submodule" && strings.HasPrefix(value, "!"): // submodule.<name>.update
		return true
	case listed("url pushurl remote pushremote pushdefault", variable) && (transport().MatchString(value) || strings.HasPrefix(value, "-")):
		return true
	}
	r, known := sections[section]
	switch {
	case listed(r.ordinary, variable):
		return false
	case listed(r.guarded, variable):
		return true
	case known && r.code:
		return true
	}
	return namesProgram().MatchString(variable)
}

// RunsCode reports whether a key of git's configuration, with this value, can make git run a program, read a file of the writer's
// choice, or trust another place. core.worktree counts.
func RunsCode(key, value string) bool { return isCode(key, "") || isCode(key, value) }

func listed(names, name string) bool {
	for n := range strings.FieldsSeq(names) {
		if n == name {
			return true
		}
	}
	return false
}
