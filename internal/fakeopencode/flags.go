package fakeopencode

import (
	"fmt"
	"slices"
	"strings"
)

// versions are the ones that it can be, newest first.
var versions = []string{"1.18.33", "1.2.27", "1.1.31", "1.0.0"}

// A flag of `run`. Oldest is the first version that has it.
type flag struct {
	name, short string
	value       bool
	oldest      string
	help        string
}

var runFlags = []flag{
	{"help", "h", false, "1.0.0", "show help  [boolean]"},
	{"version", "v", false, "1.0.0", "show version number  [boolean]"},
	{"print-logs", "", false, "1.0.0", "print logs to stderr  [boolean]"},
	{"log-level", "", true, "1.0.0", `log level  [string] [choices: "DEBUG", "INFO", "WARN", "ERROR"]`},
	{"pure", "", false, "1.18.33", "no external plugins  [boolean]"},
	{"command", "", true, "1.0.0", "a command, with the message as its arguments  [string]"},
	{"continue", "c", false, "1.0.0", "go on with the last session  [boolean]"},
	{"session", "s", true, "1.0.0", "id of a session to go on with  [string]"},
	{"fork", "", false, "1.2.27", "fork first (needs --continue or --session)  [boolean]"},
	{"share", "", false, "1.0.0", "share the session  [boolean]"},
	{"model", "m", true, "1.0.0", "provider/model  [string]"},
	{"agent", "", true, "1.0.0", "agent  [string]"},
	{"format", "", true, "1.0.0", `default or json (raw events)  [string] [choices: "default", "json"]`},
	{"file", "f", true, "1.0.0", "files to attach  [array]"},
	{"title", "", true, "1.0.0", "title of the session  [string]"},
	{"attach", "", true, "1.1.31", "URL of a running server  [string]"},
	{"password", "p", true, "1.2.27", "basic auth password  [string]"},
	{"username", "u", true, "1.18.33", "basic auth user name  [string]"},
	{"dir", "", true, "1.2.27", "directory to run in  [string]"},
	{"port", "", true, "1.1.31", "port of the local server  [number]"},
	{"variant", "", true, "1.1.31", "variant of the model  [string]"},
	{"thinking", "", false, "1.2.27", "show thinking  [boolean]"},
	{"interactive", "i", false, "1.18.33", "direct interactive mode  [boolean]"},
	{"auto", "", false, "1.18.33", "approve what is not explicitly denied  [boolean]"},
}

// flagsOf returns the flags of a version; an unknown version has those of the newest.
func flagsOf(version string) []flag {
	have := slices.Index(versions, version)
	var out []flag
	for _, f := range runFlags {
		if have <= slices.Index(versions, f.oldest) {
			out = append(out, f)
		}
	}
	return out
}

// options are the parsed arguments of `run`.
type options struct {
	value   map[string]string
	set     map[string]bool
	files   []string
	message []string
	help    bool
}

// parse reads the arguments of `run`. A problem is an argument that this version does not have.
func parse(args []string, version string) (o options, problem string) {
	o.value, o.set = map[string]string{}, map[string]bool{}
	known := flagsOf(version)
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a == "--" {
			o.message = append(o.message, args[i+1:]...)
			break
		}
		if !strings.HasPrefix(a, "-") || a == "-" {
			o.message = append(o.message, a)
			continue
		}
		name, value, inline := strings.Cut(strings.TrimLeft(a, "-"), "=")
		at := slices.IndexFunc(known, func(f flag) bool { return f.name == name || f.short != "" && f.short == name })
		if at < 0 {
			return o, "unknown argument " + a
		}
		f := known[at]
		o.set[f.name] = true
		if !f.value {
			o.help = o.help || f.name == "help"
			continue
		}
		if !inline {
			if i+1 == len(args) {
				return o, "no value for " + a
			}
			i++
			value = args[i]
		}
		o.value[f.name] = value
		if f.name == "file" {
			o.files = append(o.files, value)
			// yargs gives an array all that follows, up to the next flag.
			for !inline && i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
				i++
				o.files = append(o.files, args[i])
			}
		}
	}
	return o, ""
}

// usage is the help text, laid out as yargs lays it out.
func usage(version string) string {
	var b strings.Builder
	b.WriteString("opencode run [message..]\n\nrun opencode with a message\n\nOptions:\n")
	for _, f := range flagsOf(version) {
		short := "    "
		if f.short != "" {
			short = "-" + f.short + ", "
		}
		fmt.Fprintf(&b, "  %s--%-12s  %s\n", short, f.name, f.help)
	}
	return b.String()
}
