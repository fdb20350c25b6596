package main

import (
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"opencode-delegate/internal/call"
	"opencode-delegate/internal/policy"
)

// TestPolicyKnowsEveryVerbAndFlag: a verb or a flag that the policy of the plugin has not decided about must not appear, and none that
// it knows may mean something else here.
func TestPolicyKnowsEveryVerbAndFlag(t *testing.T) {
	p, err := newParser(new(grammar), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var verbs []string
	for _, node := range p.Model.Children {
		verbs = append(verbs, node.Name)
		if len(node.Aliases) > 0 || len(node.Children) > 0 || node.Passthrough {
			t.Errorf("%s has forms that the policy does not know", node.Name)
		}
		var flags []policy.Known
		for _, f := range slices.Concat(p.Model.Flags, node.Flags) {
			flags = append(flags, flagOf(t, node.Name, f))
		}
		if want := policy.Flags(policy.Jobber, node.Name); !alike(flags, want) {
			t.Errorf("%s: the grammar has %v\n\tthe policy knows %v", node.Name, flags, want)
		}
	}
	want := policy.Verbs(policy.Jobber)
	slices.Sort(verbs)
	slices.Sort(want)
	if !slices.Equal(verbs, want) {
		t.Errorf("the grammar has the verbs %v, the policy knows %v", verbs, want)
	}
}

func flagOf(t *testing.T, verb string, f *kong.Flag) policy.Known {
	t.Helper()
	if len(f.Aliases) > 0 || f.Tag.Negatable != "" || len(f.Envs) > 0 || f.Short > 0x7f {
		t.Errorf("%s --%s has forms that the policy does not know", verb, f.Name)
	}
	return policy.Known{Verb: verb, Flag: f.Name, Short: byte(f.Short), Value: !f.IsBool(), Many: f.IsSlice()}
}

func alike(a, b []policy.Known) bool {
	order := func(x, y policy.Known) int { return strings.Compare(x.Flag, y.Flag) }
	a, b = slices.Clone(a), slices.Clone(b)
	slices.SortFunc(a, order)
	slices.SortFunc(b, order)
	return slices.Equal(a, b)
}

// TestPolicyReadsAsTheGrammarDoes: words that the policy may allow have to mean here what it took them to mean, or be an error.
func TestPolicyReadsAsTheGrammarDoes(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 1))
	p, err := newParser(new(grammar), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	both, refusedHere := 0, 0
	for range 30_000 {
		words := randomWords(r)
		read, err := policy.ReadWords(append([]string{policy.Jobber}, words...))
		if err != nil || read.Verb == "help" {
			continue
		}
		if _, help := read.Flags["help"]; help {
			continue
		}
		if _, version := read.Flags["version"]; version {
			continue
		}
		ctx, err := p.Parse(words) // which takes back what an earlier one has set
		if err != nil {
			refusedHere++
			continue
		}
		both++
		flags, args := meaning(t, ctx)
		if ctx.Selected().Name != read.Verb || !slices.Equal(args, read.Args) || !equal(flags, read.Flags) {
			t.Fatalf("%q\n\tgrammar: %s %v %q\n\tpolicy: %s %v %q", words, ctx.Selected().Name, flags, args, read.Verb, read.Flags, read.Args)
		}
	}
	t.Logf("%d calls read by both, %d more refused by the grammar", both, refusedHere)
	if both < 2000 {
		t.Errorf("only %d calls were compared", both)
	}
}

// meaning is what the grammar made of the words.
func meaning(t *testing.T, ctx *kong.Context) (flags map[string][]string, args []string) {
	t.Helper()
	flags = map[string][]string{}
	for _, step := range ctx.Path {
		switch {
		case step.Flag != nil:
			flags[step.Flag.Name] = texts(t, step.Flag.Target.Interface())
		case step.Positional != nil:
			args = append(args, texts(t, step.Positional.Target.Interface())...)
		}
	}
	return flags, args
}

func texts(t *testing.T, v any) []string {
	t.Helper()
	switch v := v.(type) {
	case bool:
		if !v {
			return []string{"false"}
		}
		return []string{""}
	case string:
		return []string{v}
	case []string:
		return v
	case call.Once:
		return []string{v.Text}
	case []call.Once:
		var all []string
		for _, o := range v {
			all = append(all, o.Text)
		}
		return all
	}
	t.Fatalf("a value of a kind that is not known: %T", v)
	return nil
}

// equal compares flags: how often a switch stands does not matter, and a list by commas is one word to the policy.
func equal(grammar, read map[string][]string) bool {
	if len(grammar) != len(read) {
		return false
	}
	for name, values := range read {
		have, ok := grammar[name]
		if !ok || strings.Join(have, ",") != strings.Join(values, ",") && !(strings.Trim(strings.Join(values, ""), ",") == "" && slices.Equal(have, []string{""})) {
			return false
		}
	}
	return true
}

// randomWords are words of a call: verbs, flags in every form, values that look like flags, and what a caller may slip.
func randomWords(r *rand.Rand) (words []string) {
	pick := func(list []string) string { return list[r.IntN(len(list))] }
	verbs := policy.Verbs(policy.Jobber)
	verb := pick(verbs)
	flags := policy.Flags(policy.Jobber, verb)
	values := []string{"x", "mine", "src", "-", "--", "", "-x", "--json", "--no-sandbox", "true", "a=b", "=", "=x", "a,b", "-1", "ü", " ", "--title=a", "list", "${HOME}", "@file", "a\nb", `a\,b`}
	if r.IntN(10) > 0 {
		words = append(words, verb)
	}
	for range r.IntN(6) {
		f := flags[r.IntN(len(flags))]
		if r.IntN(20) == 0 {
			other := policy.Flags(policy.Jobber, pick(verbs))
			f = other[r.IntN(len(other))]
		}
		switch r.IntN(12) {
		case 0:
			words = append(words, pick(values))
		case 1:
			words = append(words, "--"+f.Flag+"="+pick(values))
		case 2:
			words = append(words, "--"+f.Flag)
		case 3:
			words = append(words, "--no-"+f.Flag)
		case 4:
			words = append(words, "-"+pick([]string{"f", "m", "s", "c", "n", "h", "cf", "fc", "ms", "x"})+pick([]string{"", "", "x", "=x"}), pick(values))
		case 5:
			words = append(words, "--"+f.Flag[:1+r.IntN(len(f.Flag))])
		case 6:
			words = append(words, pick(verbs))
		default:
			words = append(words, "--"+f.Flag)
			if f.Value {
				words = append(words, pick(values))
			}
		}
	}
	for range r.IntN(3) {
		words = append(words, pick(values))
	}
	return words
}
