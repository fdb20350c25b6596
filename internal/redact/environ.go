package redact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"

	"opencode-delegate/internal/lazyregexp"
)

// minValue is the number of bytes from which the value of a variable counts as a secret.
const minValue = 8

// lineLimit is the number of lines of one value that count by themselves: 512 are a chain of ten certificates.
const lineLimit = 512

var secretNames = []string{"_KEY", "_TOKEN", "_SECRET", "_PASSWORD"}

// secrets returns the values in environ that must not be shown, without duplicates.
func secrets(environ []string) []string {
	var values []string
	add := func(v string) {
		if len(v) >= minValue && !ordinary(v) && !strings.Contains(Mark, v) && !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	for _, entry := range environ {
		name, value, ok := strings.Cut(entry, "=")
		if !ok || !secretName(name) {
			continue
		}
		add(value)
		// A value that was read from a file or pasted with its quotes is used, and shown, without them.
		add(strings.Trim(value, " \t\r\n\"'"))
		// What is shown of several lines may be one of them, or all of them with blanks between. The frame of a PEM block
		// is no secret.
		if strings.ContainsAny(value, "\r\n") {
			for i, line := range strings.FieldsFunc(value, func(r rune) bool { return r == '\n' || r == '\r' }) {
				if line = strings.Trim(line, " \t\"'"); i < lineLimit && !strings.HasPrefix(line, "-----") {
					add(line)
				}
			}
		}
	}
	return values
}

func secretName(name string) bool {
	upper := strings.ToUpper(name)
	return slices.ContainsFunc(secretNames, func(suffix string) bool { return strings.HasSuffix(upper, suffix) })
}

var (
	number    = lazyregexp.New(`^[0-9.,:_+\-]+$`)
	pathStart = lazyregexp.New(`^(/|~/|\.{1,2}/|[A-Za-z]:[\\/])`)
)

// structural is what can stand outside the strings of a JSON text: words and numbers, the first and the last perhaps in
// part, with punctuation between them.
var structural = lazyregexp.New(func() string {
	const (
		numeral = `[0-9eE+.\-]+`
		tail    = `(?:(?:(?:t?r)?u)?e|(?:(?:(?:f?a)?l)?s)?e|(?:(?:n?u)?l)?l|` + numeral + `)`
		front   = `(?:t(?:r(?:ue?)?)?|f(?:a(?:l(?:se?)?)?)?|n(?:u(?:ll?)?)?|` + numeral + `)`
		whole   = `(?:true|false|null|` + numeral + `)`
		between = `\s*[{}\[\]:,][{}\[\]:,\s]*`
	)
	return `^\s*` + tail + `?(?:` + between + whole + `)*(?:` + between + front + `?)?\s*$`
}())

// ordinary reports whether a value is a word, a number or a path: to replace those everywhere would ruin the text
// and hide nothing.
func ordinary(v string) bool {
	if !strings.ContainsFunc(v, func(r rune) bool { return !unicode.IsLetter(r) }) {
		return true
	}
	if number().MatchString(v) {
		return true
	}
	return pathStart().MatchString(v) && !slices.ContainsFunc(strings.FieldsFunc(v, isSlash), mixed)
}

func isSlash(r rune) bool { return r == '/' || r == '\\' }

// mixed reports whether a path element looks drawn at random: base64 may begin with a slash.
func mixed(element string) bool {
	return len(element) >= 16 && strings.ContainsFunc(element, unicode.IsUpper) &&
		strings.ContainsFunc(element, unicode.IsLower) && strings.ContainsFunc(element, unicode.IsDigit)
}

// literals returns every spelling of the values that is searched for.
func literals(values []string, inJSON bool) []string {
	var all []string
	for _, v := range values {
		for _, form := range forms(v) {
			if inJSON && (strings.Contains(unescaped(form), `"`) || structural().MatchString(form)) {
				continue // between strings, where a mark would break the syntax
			}
			all = append(all, form)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// unescaped is form without its pairs of a backslash and what follows it.
func unescaped(form string) string {
	var b strings.Builder
	for i := 0; i < len(form); i++ {
		if form[i] == '\\' {
			i++
			continue
		}
		b.WriteByte(form[i])
	}
	return b.String()
}

// forms returns v as it stands, as JSON encoders write it inside a string, the same once more (JSON inside JSON:
// responses of providers inside an event), and as URLs carry it.
func forms(v string) []string {
	all := []string{v}
	level := []string{v}
	for range 2 {
		var next []string
		for _, f := range level {
			for _, encode := range encoders {
				if e := encode(f); !slices.Contains(next, e) {
					next = append(next, e)
				}
			}
		}
		all = append(all, next...)
		level = next
	}
	all = append(all, url.QueryEscape(v), url.PathEscape(v))
	return all
}

// encoders write the inside of a JSON string: Go with and without its HTML escapes, JavaScript, those that escape the
// slash, and those that write ASCII only, in small or capital hex.
var encoders = []func(string) string{
	func(s string) string { return goString(s, true) },
	func(s string) string { return goString(s, false) },
	jsString,
	func(s string) string { return strings.ReplaceAll(jsString(s), "/", `\/`) },
	func(s string) string { return asciiString(jsString(s), `\u%04x`) },
	func(s string) string { return asciiString(jsString(s), `\u%04X`) },
}

func goString(s string, html bool) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(html)
	if err := enc.Encode(s); err != nil {
		return s
	}
	return strings.TrimSuffix(b.String()[1:], "\"\n")
}

// jsString is what JSON.stringify gives: it leaves U+2028 and U+2029 as they are, unlike Go.
func jsString(s string) string {
	s = goString(s, false)
	s = strings.ReplaceAll(s, `\u2028`, "\u2028")
	return strings.ReplaceAll(s, `\u2029`, "\u2029")
}

func asciiString(s, format string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r < unicode.MaxASCII:
			b.WriteRune(r)
		case r > 0xFFFF:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(&b, format+format, hi, lo)
		default:
			fmt.Fprintf(&b, format, r)
		}
	}
	return b.String()
}
