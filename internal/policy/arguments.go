package policy

import (
	"slices"
	"strings"
)

// A setting is a flag that was given.
type setting struct {
	flag  flag
	value string // empty for one that takes none
}

// An invocation is what the words of a command line mean, as far as the policy has to know it.
type invocation struct {
	verb     verb
	settings []setting
	args     []string // the words that are no flags
}

// read understands the words of a call, the command's name first. What it takes, the commands' own grammar takes in the same way;
// of the forms that the grammar has besides (several short flags in one word, a value behind a short flag in the same word,
// --flag=true) it takes none.
func read(argv []string) (invocation, error) {
	var in invocation
	verbs, ok := commands[argv[0]]
	if !ok {
		return in, refuse("%.40q is neither oc-delegate nor oc-job", argv[0])
	}
	words := argv[1:]
	if len(words) == 0 {
		return in, refuse("%s needs words: the task, or a verb", argv[0])
	}
	in.verb = verbs[0]
	switch v, named := verbNamed(argv[0], words[0]); {
	case named:
		in.verb, words = v, words[1:]
	case argv[0] == Delegate:
	case len(words) == 1 && slices.Contains([]string{"--help", "-h", "--version"}, words[0]):
		in.verb = verb{name: "help", act: look, flags: [][]flag{commonFlags}}
	default:
		return in, refuse("oc-job: %.40q is no verb that is known here; the verb comes first", words[0])
	}
	for i := 0; i < len(words); i++ {
		w := words[i]
		switch {
		case w == "--":
			in.args = append(in.args, words[i+1:]...)
			return in, nil
		case w == "-" || !strings.HasPrefix(w, "-"):
			if err := in.verb.mistaken(w); argv[0] == Delegate && err != nil {
				return in, err
			}
			in.args = append(in.args, w)
			continue
		}
		s, used, err := in.verb.setting(w, words[i+1:])
		if err != nil {
			return in, err
		}
		i += used
		if s.flag.value && !s.flag.many && slices.ContainsFunc(in.settings, func(o setting) bool { return o.flag.name == s.flag.name }) {
			return in, refuse("--%s is given twice; give it once", s.flag.name)
		}
		in.settings = append(in.settings, s)
	}
	return in, nil
}

// setting reads the flag in w, with its value from the words behind it, of which it uses so many.
func (v verb) setting(w string, behind []string) (s setting, used int, err error) {
	name, value, attached := strings.Cut(w, "=")
	var known bool
	if long, ok := strings.CutPrefix(name, "--"); ok {
		s.flag, known = v.long(long)
	} else if len(w) == 2 {
		s.flag, known = v.short(w[1])
	}
	switch {
	case !known && !strings.HasPrefix(w, "--") && len(w) > 2:
		return s, 0, refuse("%.40q: give each short flag alone, and its value as the next word; a task that begins with a dash goes after --", w)
	case !known:
		return s, 0, refuse("%.40q is no flag that is known here; a task that begins with a dash goes after --", name)
	case !s.flag.value && attached:
		return s, 0, refuse("--%s takes no value; give it alone or leave it out", s.flag.name)
	case !s.flag.value:
		return s, 0, nil
	case attached:
		s.value = value
	case len(behind) == 0:
		return s, 0, refuse("%s needs a value", name)
	case behind[0] != "-" && strings.HasPrefix(behind[0], "-"):
		return s, 0, refuse("%s needs a value, but %.40q follows", name, behind[0])
	default:
		s.value, used = behind[0], 1
	}
	return s, used, nil
}

// mistaken refuses a word of an ordinary delegation that is or will be a verb.
func (v verb) mistaken(w string) error {
	if v.name != "" {
		return nil
	}
	if _, is := verbNamed(Delegate, w); is {
		return refuse("oc-delegate: %q is a verb, and a verb comes first; a task of that name goes after --", w)
	}
	if slices.Contains(reserved, w) {
		return refuse("oc-delegate: %q is kept for a verb; a task of that name goes after --", w)
	}
	return nil
}
