package plain

import "testing"

func TestNoMentions(t *testing.T) {
	for in, want := range map[string]string{
		"":                         "",
		"nothing here":             "nothing here",
		"@/etc/hostname":           "＠/etc/hostname",
		"see @/etc/hostname, (@b)": "see ＠/etc/hostname, (＠b)",
		"\"@a\"\n@b\t@c":           "\"＠a\"\n＠b\t＠c",
		"me@example.org":           "me@example.org",
		"v1@2 A@b":                 "v1@2 A@b",
		"0@ 9@ a@ z@ A@ Z@":        "0@ 9@ a@ z@ A@ Z@",
		"/@ :@ `@ {@ @@ [@":        "/＠ :＠ `＠ {＠ ＠＠ [＠",
		"@@x":                      "＠＠x",
		"a@@x":                     "a@＠x",
		"é@x":                      "é＠x",
		"_@x -@x .@x":              "_＠x -＠x .＠x",
		"＠x":                       "＠x",
		"\xff@x":                   "\xff＠x",
		"end @":                    "end ＠",
	} {
		got := NoMentions(in)
		if got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
		if HasMention(in) != (in != want) || HasMention(got) || NoMentions(got) != got {
			t.Errorf("%q: %v, %q: %v", in, HasMention(in), got, HasMention(got))
		}
	}
}
