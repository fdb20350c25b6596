package tiers

import (
	"strings"
	"testing"
)

func TestPrecedence(t *testing.T) {
	model, tier := Value{"a/flag", "flag --model"}, Value{"pro", "flag --tier"}
	defModel, defTier := Value{"a/env", "environment M"}, Value{"code", "environment T"}
	for _, c := range []struct {
		name         string
		in           Inputs
		model, where string
		tier         Name
	}{
		{"model first", Inputs{Model: model, Tier: tier, DefaultModel: defModel, DefaultTier: defTier}, "a/flag", "flag --model", ""},
		{"tier before default model", Inputs{Tier: tier, DefaultModel: defModel, DefaultTier: defTier}, "opencode-go/glm-5.2", "built in", Pro},
		{"default model before default tier", Inputs{DefaultModel: defModel, DefaultTier: defTier}, "a/env", "environment M", ""},
		{"default tier", Inputs{DefaultTier: defTier}, "opencode-go/kimi-k2.7-code", "built in", Code},
		{"nothing", Inputs{}, "opencode-go/deepseek-v4-flash", "built in", Flash},
		{"remapped", Inputs{Tier: tier, Remap: map[Name]Value{Pro: {"x/y/z", "config file"}}}, "x/y/z", "config file", Pro},
		{"remap of another tier", Inputs{Tier: tier, Remap: map[Name]Value{Code: {"x/y", "config file"}}}, "opencode-go/glm-5.2", "built in", Pro},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Resolve(c.in)
			if err != nil || got.Model != c.model || got.Source != c.where || got.Tier != c.tier {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

func TestBadValuesAreNamed(t *testing.T) {
	for _, c := range []struct {
		in   Inputs
		want string
	}{
		{Inputs{Tier: Value{"turbo", "flag --tier"}}, `flag --tier: unknown tier "turbo"; one of flash, code, pro`},
		{Inputs{Model: Value{"noslash", "flag --model"}}, `flag --model: bad model "noslash"`},
		{Inputs{Model: Value{"/x", "flag --model"}}, "bad model"},
		{Inputs{Model: Value{"-p/x", "flag --model"}}, "bad model"},
		{Inputs{Model: Value{"p/x y", "flag --model"}}, "bad model"},
		{Inputs{Model: Value{"p/x\n", "flag --model"}}, "bad model"},
		{Inputs{Tier: Value{"pro", "f"}, Remap: map[Name]Value{Pro: {"bad", "environment OC_TIER_PRO"}}}, "environment OC_TIER_PRO: bad model"},
	} {
		if _, err := Resolve(c.in); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.in, err, c.want)
		}
	}
}
