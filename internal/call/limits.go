package call

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"opencode-delegate/internal/ledger"
)

// Limits are the usage limits that config.json sets, by the name of a provider, or of one model of it, and the length of the window:
//
//	"limits": { "opencode-go": { "5h": 12, "week": 30, "month": 60 }, "opencode-go/glm-5.2": { "week": 10 } }
//
// in US dollars. An error is for whoever wrote the file.
func Limits(env Environment) ([]ledger.Limit, error) {
	c, err := readConfig(configPath(env))
	if err != nil {
		return nil, err
	}
	return c.limits()
}

func (c Config) limits() (all []ledger.Limit, err error) {
	for name, windows := range c.Limits {
		provider, model, found := strings.Cut(name, "/")
		if provider == "" || found && model == "" {
			return nil, fmt.Errorf("limits: %q is neither a provider nor provider/model", clip(name))
		}
		for word, amount := range windows {
			w := ledger.Window(word)
			if !slices.Contains(ledger.Windows(), w) {
				return nil, fmt.Errorf("limits: %s: %q is no window; one of 5h, week, month", clip(name), clip(word))
			}
			usd, err := parseCost(string(amount))
			limit, ok := ledger.FromFloat(usd)
			if err != nil || !ok || limit == 0 {
				return nil, fmt.Errorf("limits: %s: %s: %s is no limit; write US dollars, more than 0 and at most a million", clip(name), w, clip(string(amount)))
			}
			all = append(all, ledger.Limit{Provider: provider, Model: model, Window: w, USD: limit, Source: c.value("").Source})
		}
	}
	slices.SortFunc(all, func(a, b ledger.Limit) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Model, b.Model), cmp.Compare(a.Window, b.Window))
	})
	return all, nil
}
