package plain

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestJSONHidesNothingAndActsOnNothing(t *testing.T) {
	value := "a\x7fb\u009b31m\u202egnp\u2066x\u2069é日𝄞\x1b[0m"
	data, err := json.Marshal(map[string]string{"path": value})
	if err != nil {
		t.Fatal(err)
	}
	got := JSON(data)
	if s := string(got); strings.ContainsAny(s, "\x7f\u009b\u202e\u2066\u2069\x1b") || !strings.Contains(s, `\u202e`) || !strings.Contains(s, "é日𝄞") {
		t.Errorf("%q", s)
	}
	var back map[string]string
	if err := json.Unmarshal(got, &back); err != nil || back["path"] != value {
		t.Errorf("%q, %v", back, err)
	}
	if plain := []byte(`{"a":"é"}`); &JSON(plain)[0] != &plain[0] {
		t.Error("a clean text was copied")
	}
}
