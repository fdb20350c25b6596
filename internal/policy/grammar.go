package policy

import "slices"

// A Known is a flag of the tables, for the tests that hold them to the grammars of the commands.
type Known struct {
	Verb, Flag  string
	Short       byte // 0 = none
	Value, Many bool
}

// Verbs lists the verbs of a command that the tables know; an ordinary delegation has no name.
func Verbs(command string) (names []string) {
	for _, v := range commands[command] {
		names = append(names, v.name)
	}
	return names
}

// Flags lists the flags of a verb that the tables know.
func Flags(command, name string) (list []Known) {
	i := slices.IndexFunc(commands[command], func(v verb) bool { return v.name == name })
	if i < 0 {
		return nil
	}
	for _, flags := range commands[command][i].flags {
		for _, f := range flags {
			list = append(list, Known{name, f.name, f.short, f.value, f.many})
		}
	}
	return list
}

// A Reading is what the policy takes the words of a call to mean.
type Reading struct {
	Verb  string
	Flags map[string][]string // the values in their order; an empty text for a flag that takes none
	Args  []string
}

// ReadWords reads words as [Decide] does. An error means that such words are never allowed.
func ReadWords(argv []string) (Reading, error) {
	in, err := read(argv)
	if err != nil {
		return Reading{}, err
	}
	r := Reading{Verb: in.verb.name, Flags: map[string][]string{}, Args: in.args}
	for _, s := range in.settings {
		r.Flags[s.flag.name] = append(r.Flags[s.flag.name], s.value)
	}
	return r, nil
}
