package watch

import (
	"slices"
	"strings"
	"testing"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
)

// awkward is what a terminal and a library may count differently.
const awkward = "a界e\u0301👍🏽👩‍👩‍👧‍👦🇩🇪❤️1️⃣नमस्तेดี한ｱß\u200b\u0301x"

// The renderer puts each character where width says that it is.
func TestWidthIsTheRenderers(t *testing.T) {
	for _, measure := range []ansi.Method{ansi.WcWidth, ansi.GraphemeWidth} {
		for text := awkward; text != ""; {
			cells := uv.NewStyledString(text).Lines(measure)[0]
			n := 0
			for _, c := range cells {
				n += c.Width
			}
			if got := width(measure, text); got != n {
				t.Errorf("method %d: %q has %d columns, the renderer takes %d", measure, text, got, n)
			}
			c, _ := ansi.FirstGraphemeCluster(text, measure)
			text = text[len(c):]
		}
	}
}

func TestPad(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		right bool
		want  string
	}{
		{"abc", 5, false, "abc  "}, {"abc", 5, true, "  abc"}, {"abcdef", 4, false, "abc…"}, {"界界界", 4, false, "界… "}, {"界界", 4, true, "界界"}, {"x", 0, false, ""},
	} {
		if got := pad(ansi.WcWidth, c.text, c.width, c.right); got != c.want {
			t.Errorf("%q in %d: %q, want %q", c.text, c.width, got, c.want)
		}
	}
}

func TestPadLeft(t *testing.T) {
	for text, want := range map[string]string{"abc": "abc  ", "abcdef": "…cdef", "界界界": "…界界", "a界界界": "…界界", "": "     "} {
		if got := padLeft(ansi.WcWidth, text, 5); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestPadIsExact(t *testing.T) {
	for _, measure := range []ansi.Method{ansi.WcWidth, ansi.GraphemeWidth} {
		for room := range 40 {
			for _, got := range []string{pad(measure, awkward, room, false), pad(measure, awkward, room, true), padLeft(measure, awkward, room)} {
				if n := width(measure, got); n != room {
					t.Errorf("method %d: %q has %d columns of %d", measure, got, n, room)
				}
			}
		}
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		text string
		room int
		want []string
	}{
		{"", 5, []string{""}}, {"abc", 5, []string{"abc"}}, {"abcde", 5, []string{"abcde"}}, {"abc def ghi", 7, []string{"abc def", "ghi"}},
		{"abc defgh", 5, []string{"abc", "defgh"}}, {"abcdefgh", 5, []string{"abcde", "fgh"}}, {"    indented", 8, []string{"    inde", "nted"}},
		{"  a bcd", 4, []string{"  a", "bcd"}}, {"界界界", 5, []string{"界界", "界"}}, {"界界", 1, []string{""}}, {"ab   ", 3, []string{"ab"}},
		{"abc", 0, []string{"abc"}}, {"ab    cd", 3, []string{"ab", "cd"}},
	} {
		if got := wrap(ansi.WcWidth, c.text, c.room); !slices.Equal(got, c.want) {
			t.Errorf("%q in %d: %q, want %q", c.text, c.room, got, c.want)
		}
	}
	for _, measure := range []ansi.Method{ansi.WcWidth, ansi.GraphemeWidth} {
		for room := 8; room < 60; room++ {
			rows := wrap(measure, strings.Repeat(awkward, 5), room)
			if strings.Join(rows, "") != strings.Repeat(awkward, 5) {
				t.Errorf("%d columns: something is lost", room)
			}
			for _, r := range rows {
				if n := width(measure, r); n > room {
					t.Errorf("%q has %d columns of %d", r, n, room)
				}
			}
		}
	}
}
