package redact

import "bytes"

// password is that of a URL: scheme://user:password@host. User and host stay.
func password(b []byte, at int, final bool) (match, bool) {
	if at == 0 || !alnum[b[at-1]] {
		return match{}, false
	}
	i := at + 1
	for range 2 {
		for i < len(b) && b[i] == '\\' && i < at+9 {
			i++
		}
		if i == len(b) {
			return match{}, !final
		}
		if b[i] != '/' {
			return match{}, false
		}
		i++
	}
	colon, sign := -1, -1
	end := i
	for ; end < i+urlLook; end++ {
		if end == len(b) {
			if !final {
				return match{}, true
			}
			break
		}
		c := b[end]
		if c == '\\' {
			n, needsMore := unicodeEscape(b[end:], final)
			if needsMore {
				return match{}, true
			}
			if n == 0 {
				break
			}
			end += n - 1
			continue
		}
		if urlStop[c] || c < ' ' || c == 0x7f {
			break
		}
		if c == ':' && colon < 0 {
			colon = end
		}
		if c == '@' && colon >= 0 {
			sign = end
		}
	}
	if sign <= colon+1 || b[colon+1] == '$' || b[colon+1] == '{' || b[colon+1] == '%' && sign == colon+3 {
		return match{}, false // none, or a place that is yet to be filled
	}
	return match{start: colon + 1, end: sign}, false
}

// unicodeEscape is the length of \uXXXX at the beginning of b, after any number of backslashes up to four; 0 for none.
func unicodeEscape(b []byte, final bool) (n int, needsMore bool) {
	for n < len(b) && b[n] == '\\' && n < 4 {
		n++
	}
	if len(b) < n+5 {
		return 0, !final
	}
	if b[n] != 'u' || bytes.ContainsFunc(b[n+1:n+5], func(r rune) bool { return r > 0x7f || !hex[r] }) {
		return 0, false
	}
	return n + 5, false
}
