package opencode

import (
	"slices"
	"strings"
)

// nearCount is how many ids a person is shown.
const nearCount = 3

// Near returns at most three of have, the most similar to want first: of the same provider before others, and none that
// is not similar at all.
func Near(want string, have []string) []string {
	provider, id, _ := strings.Cut(strings.ToLower(want), "/")
	if id == "" {
		provider, id = "", provider
	}
	type scored struct {
		id    string
		score float64
	}
	var close []scored
	for _, h := range have {
		if h == want {
			continue
		}
		p, m, _ := strings.Cut(strings.ToLower(h), "/")
		score := similarity(id, m)
		if p != provider && provider != "" {
			score *= 0.5 + 0.4*similarity(provider, p)
		}
		if score >= 0.45 {
			close = append(close, scored{h, score})
		}
	}
	slices.SortStableFunc(close, func(a, b scored) int {
		switch {
		case a.score > b.score:
			return -1
		case a.score < b.score:
			return 1
		}
		return strings.Compare(a.id, b.id)
	})
	var ids []string
	for _, c := range close[:min(len(close), nearCount)] {
		ids = append(ids, c.id)
	}
	return ids
}

// similarity is 1 for equal words and 0 for words that share nothing: one minus the edit distance for the length of the
// longer one, or the share that one has of the other when it is a part of it.
func similarity(a, b string) float64 {
	longer := max(len(a), len(b))
	if longer == 0 || longer > 256 {
		return 0
	}
	s := 1 - float64(distance(a, b))/float64(longer)
	if a != "" && b != "" && (strings.Contains(a, b) || strings.Contains(b, a)) {
		s = max(s, 0.5+0.5*float64(min(len(a), len(b)))/float64(longer))
	}
	return s
}

// distance is Levenshtein's.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
