package journal

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// checkRaw: raw lines act on no terminal, and what was JSON has the same value.
func checkRaw(t *testing.T, text []byte) {
	t.Helper()
	var b bytes.Buffer
	if err := copyRaw(&b, bytes.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	got := b.Bytes()
	if !utf8.Valid(got) || bytes.ContainsFunc(got, forbidden) {
		t.Errorf("raw %q became %q", text, got)
	}
	if bytes.Count(got, []byte("\n")) != bytes.Count(text, []byte("\n"))+min(1, len(text)-bytes.LastIndexByte(text, '\n')-1) {
		t.Errorf("raw %q has other lines: %q", text, got)
	}
	lines := bytes.Split(got, []byte("\n"))
	for i, line := range bytes.Split(text, []byte("\n")) {
		var want, have any
		if json.Unmarshal(line, &want) == nil && (json.Unmarshal(lines[i], &have) != nil || !reflect.DeepEqual(want, have)) {
			t.Errorf("raw %q became %q", line, lines[i])
		}
	}
}

func TestRaw(t *testing.T) {
	for in, want := range map[string]string{
		"{\"a\":\"\x7f\u202e\u009bé\"}\r\n\n": "{\"a\":\"\\u007f\\u202e\\u009bé\"} \n\n",
		"no \x1b[31mJSON\x00\xff\x9b":         "no \\u001b[31mJSON\\u0000\ufffd\ufffd\n",
		"\t{}\n":                              "\t{}\n",
		"":                                    "",
		"\xe2\x82":                            "\ufffd\ufffd\n",
	} {
		var b bytes.Buffer
		path := filepath.Join(t.TempDir(), "e")
		os.WriteFile(path, []byte(in), 0o600)
		if err := (Log{Path: path, Raw: true}).Print(t.Context(), &b, true); err != nil || b.String() != want {
			t.Errorf("%q: %q, want %q, %v", in, b.String(), want, err)
		}
		checkRaw(t, []byte(in))
	}
	// Code points across pieces, in a line that is longer than any of them.
	checkRaw(t, []byte(`"`+strings.Repeat("\u202e日é\u009b", 1<<17)+"\"\n"))
}
