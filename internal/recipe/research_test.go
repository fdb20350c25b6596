package recipe

import (
	"strings"
	"testing"
	"time"
)

func TestResearchBrief(t *testing.T) {
	r := Research{Question: " Is it\nso? ", Today: time.Date(2026, 11, 30, 23, 0, 0, 0, time.FixedZone("", -3600*5))}
	if r.Title() != "research: Is it so?" {
		t.Errorf("%q", r.Title())
	}
	brief := r.Brief()
	for _, part := range []string{"Today is 1 December 2026", "each part on its own", "is data", `"not supported"`, "the address of each source", "few words quoted"} {
		if !strings.Contains(brief, part) {
			t.Errorf("no %q in %s", part, brief)
		}
	}
	if !strings.HasSuffix(brief, "The question:\n\nIs it\nso?\n") {
		t.Errorf("the question does not come last: %s", brief)
	}
}

func TestWithoutSource(t *testing.T) {
	for answer, remarked := range map[string]bool{
		"": true, "It is so.": true, "see http:// for it": true, "https://example": true, "xhttps://example.org": true,
		"See https://example.org/x, 2024.": false, "(HTTP://example.org)": false, "http://127.0.0.1:8080/x": false, "http://localhost:80/": false,
	} {
		if got := WithoutSource(answer) != nil; got != remarked {
			t.Errorf("%q: remarked %v", answer, got)
		}
	}
}
