// Package tiers resolves a capability level (flash, code, pro) or an explicit id to the model that a run uses, and
// says where the choice came from. It is pure: the caller reads flags, environment and files.
package tiers

import (
	"fmt"
	"slices"
	"strings"
)

// A Name is a capability level.
type Name string

const (
	Flash Name = "flash" // quick and cheap: summaries, searches, small edits
	Code  Name = "code"  // a coding model: implementations, repairs
	Pro   Name = "pro"   // the strongest of the three: reviews, designs
)

// Names lists the tiers from the cheapest up.
func Names() []Name { return []Name{Flash, Code, Pro} }

// builtin is the table that holds when nothing remaps it: models of the OpenCode Go subscription.
var builtin = map[Name]string{
	Flash: "opencode-go/deepseek-v4-flash",
	Code:  "opencode-go/kimi-k2.7-code",
	Pro:   "opencode-go/glm-5.2",
}

// A Value is a setting with the place that it came from, such as "flag --tier" or "environment OC_DELEGATE_MODEL".
// The zero Value is "not set".
type Value struct{ Text, Source string }

// Set reports whether the value was given. An empty text counts as not given.
func (v Value) Set() bool { return v.Text != "" }

// First returns the first value that is set, the strongest first.
func First(vs ...Value) Value {
	for _, v := range vs {
		if v.Set() {
			return v
		}
	}
	return Value{}
}

// Inputs are the values that decide a model, each the strongest of its kind.
type Inputs struct {
	Model        Value // --model
	Tier         Value // --tier
	DefaultModel Value // environment or configuration
	DefaultTier  Value // environment or configuration
	Fallback     Value // what holds when nobody has said anything; not set = flash
	Remap        map[Name]Value
	RemapVariant map[Name]string
}

// A Choice is the model of a run.
type Choice struct {
	Tier    Name   // empty when a model was named directly
	Model   string // provider/model
	Variant string // of the tier; empty = the provider's default
	Source  string // where the model id came from
	Why     string // what made it the choice: the model itself, or the value that selected the tier
}

// Resolve applies the precedence: model, tier, default model, default tier, and the fallback when nothing is said.
// The error names the bad value and what would be right.
func Resolve(in Inputs) (Choice, error) {
	switch {
	case in.Model.Set():
		return direct(in.Model)
	case in.Tier.Set():
		return in.tier(in.Tier)
	case in.DefaultModel.Set():
		return direct(in.DefaultModel)
	case in.DefaultTier.Set():
		return in.tier(in.DefaultTier)
	}
	return in.tier(First(in.Fallback, Value{string(Flash), "built in"}))
}

// Table is what each tier resolves to, for explanations. A bad remap, which only a call that uses the tier meets, is shown
// in place of the model.
func (in Inputs) Table() []Choice {
	var out []Choice
	for _, n := range Names() {
		c, err := in.tier(Value{string(n), ""})
		if err != nil {
			c = Choice{Tier: n, Model: err.Error(), Source: in.Remap[n].Source}
		}
		out = append(out, c)
	}
	return out
}

func direct(v Value) (Choice, error) {
	if err := CheckModel(v.Text); err != nil {
		return Choice{}, fmt.Errorf("%s: %w", v.Source, err)
	}
	return Choice{Model: v.Text, Source: v.Source, Why: v.Source}, nil
}

func (in Inputs) tier(v Value) (Choice, error) {
	n := Name(v.Text)
	if !slices.Contains(Names(), n) {
		return Choice{}, fmt.Errorf("%s: unknown tier %q; one of flash, code, pro", v.Source, v.Text)
	}
	model := in.Remap[n]
	if !model.Set() {
		model = Value{builtin[n], "built in"}
	}
	if err := CheckModel(model.Text); err != nil {
		return Choice{}, fmt.Errorf("%s: %w", model.Source, err)
	}
	return Choice{Tier: n, Model: model.Text, Variant: in.RemapVariant[n], Source: model.Source, Why: v.Source}, nil
}

// CheckModel reports whether id has the form provider/model. A model may hold further slashes.
func CheckModel(id string) error {
	provider, model, ok := strings.Cut(id, "/")
	if !ok || provider == "" || model == "" || strings.HasPrefix(id, "-") || strings.ContainsFunc(id, unprintable) || len(id) > 256 {
		return fmt.Errorf("bad model %q; it has the form provider/model, such as %s", clip(id), builtin[Flash])
	}
	return nil
}

func unprintable(r rune) bool { return r <= ' ' || r == 0x7f || r == 0xfffd || r >= 0x80 && r < 0xa0 }

func clip(s string) string {
	if len(s) > 80 {
		return s[:80] + "…"
	}
	return s
}
