package opencode

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// priceAge is how long prices are believed: opencode itself renews its list of models every hour, and prices change
// by the month.
const priceAge = 24 * time.Hour

// A Price is what opencode reckons with, in USD for a million tokens.
type Price struct {
	Input, Output, CacheRead, CacheWrite float64
}

// Known reports whether it is a price. opencode writes zeros for a model whose price it does not know, so a model that
// is free counts as one without a price too: no cap in USD can bind it.
func (p Price) Known() bool { return p.Input > 0 || p.Output > 0 }

type priceEntry struct {
	Schema int `json:"schema"`
	cacheKey
	Model string    `json:"model"`
	At    time.Time `json:"at"`
	Price Price     `json:"price"`
}

// ModelPrice returns the price of provider/model by `opencode models PROVIDER --verbose`, which takes about 2 s, or the
// one that was seen within 24 hours. ok is false for a model that opencode does not list. dir is as for [Query].
// cacheDir and its rules are those of [Probe].
func ModelPrice(ctx context.Context, run Runner, b Binary, dir, model, cacheDir string, now time.Time) (p Price, ok bool, err error) {
	provider, _, found := strings.Cut(model, "/")
	if !found || !plainWord(model) {
		return Price{}, false, nil
	}
	// Prices are a matter of the configuration too, which a project can bring: each directory has its own.
	sum := sha256.Sum256([]byte(b.Path + "\x00" + dir + "\x00" + model))
	file := filepath.Join(cacheDir, "price-"+hex.EncodeToString(sum[:8])+".json")
	key := cacheKey{Path: b.Path}
	var e priceEntry
	if readCache(cacheDir, file, &e) && e.Schema == cacheSchema && e.cacheKey == key && e.Model == model {
		if age := now.Sub(e.At); age >= 0 && age < priceAge && e.Price.Known() {
			return e.Price, true, nil
		}
	}
	reply, err := run(ctx, Query{Argv: []string{b.Path, "models", provider, "--verbose"}, Dir: dir})
	if err != nil {
		return Price{}, false, fmt.Errorf("price of %s: %w", model, err)
	}
	p, ok = parsePrice(string(reply.Stdout), model)
	if ok && p.Known() {
		writeCache(cacheDir, file, priceEntry{Schema: cacheSchema, cacheKey: key, Model: model, At: now, Price: p})
	}
	return p, ok, nil
}

// parsePrice finds a model in the verbose list: a line with its id, and its description as JSON below.
func parsePrice(list, model string) (Price, bool) {
	list = plain(list)
	at := -1
	if strings.HasPrefix(list, model+"\n") {
		at = len(model)
	} else if i := strings.Index(list, "\n"+model+"\n"); i >= 0 {
		at = i + 1 + len(model)
	}
	if at < 0 {
		return Price{}, false
	}
	var m struct {
		Cost struct {
			Input  float64 `json:"input"`
			Output float64 `json:"output"`
			Cache  struct {
				Read  float64 `json:"read"`
				Write float64 `json:"write"`
			} `json:"cache"`
		} `json:"cost"`
	}
	if err := json.NewDecoder(strings.NewReader(list[at:])).Decode(&m); err != nil {
		return Price{}, false
	}
	return Price{Input: m.Cost.Input, Output: m.Cost.Output, CacheRead: m.Cost.Cache.Read, CacheWrite: m.Cost.Cache.Write}, true
}
