package doctor

import (
	"context"
	"slices"
	"strings"

	"opencode-delegate/internal/call"
	"opencode-delegate/internal/opencode"
	"opencode-delegate/internal/tiers"
)

// A choice is a model that a call may use, by the name of its tier or as the default.
type choice struct{ name, model, source string }

// choices are the models of the tiers, and the default when it is none of them.
func (x *examination) choices() (list []choice) {
	for _, tier := range tiers.Names() {
		c, _ := call.Resolve(call.Flags{ModelFlags: call.ModelFlags{Tier: call.Once{Text: string(tier), Set: true}}}, x.environment())
		if c.Request.Model != "" { // else the configuration is wrong, which has been told
			list = append(list, choice{"tier " + string(tier), c.Request.Model, c.Request.ModelSource})
		}
	}
	if req := x.call.Request; req.Tier == "" && req.Model != "" {
		list = append(list, choice{"default model", req.Model, req.ModelSource})
	}
	return list
}

// models is whether opencode has the models that calls use. Project is where providers of a project are looked for; empty = nowhere.
func (x *examination) models(ctx context.Context, ask opencode.Runner, b opencode.Binary, project string) (list []Finding) {
	have, err := opencode.Models(ctx, ask, b, "", "")
	if err != nil {
		return []Finding{of("models", Fail, err, "see yourself: "+b.Path+" models")}
	}
	choices := x.choices()
	missing := func() bool {
		return slices.ContainsFunc(choices, func(c choice) bool { return !slices.Contains(have, c.model) })
	}
	if missing() && project != "" { // a project may have providers of its own
		if more, err := opencode.Models(ctx, ask, b, project, ""); err == nil {
			have = append(have, slices.DeleteFunc(more, func(m string) bool { return slices.Contains(have, m) })...)
		}
	}
	bad := Fail // unless one of them is there
	for _, c := range choices {
		if slices.Contains(have, c.model) {
			bad = Warn
		}
	}
	for _, c := range choices {
		f := Finding{Name: c.name, Level: OK, What: c.model}
		if !slices.Contains(have, c.model) {
			f.Level, f.What, f.Remedy = bad, "opencode has no model "+c.model+" ("+c.source+")", remedy(c, have)
		}
		list = append(list, f)
	}
	return list
}

// remedy is how a call gets a model that opencode has.
func remedy(c choice, have []string) string {
	provider, _, _ := strings.Cut(c.model, "/")
	var ways []string
	if !slices.ContainsFunc(have, func(m string) bool { return strings.HasPrefix(m, provider+"/") }) {
		ways = append(ways, "opencode auth login sets up the provider "+provider)
	}
	setting := "OC_DELEGATE_MODEL"
	if tier, ok := strings.CutPrefix(c.name, "tier "); ok {
		setting = "OC_TIER_" + strings.ToUpper(tier)
	}
	way := setting + "=PROVIDER/MODEL names another"
	if near := opencode.Near(c.model, have); len(near) > 0 {
		way += ", such as " + strings.Join(near, ", ")
	}
	return strings.Join(append(ways, way), "; ")
}
