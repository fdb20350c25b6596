package redact

// webToken is a JSON web token: base64 of a JSON object, a dot, and more.
func webToken(b []byte, at int, final bool) (match, bool) {
	if !begins(b, at) {
		return match{}, false
	}
	head, needsMore := run(b[at:], wordy, tokenHead, final)
	if needsMore {
		return match{}, true
	}
	dot := at + len(head)
	if len(head) < 13 || len(head) == tokenHead {
		return match{}, false
	}
	if dot == len(b) {
		return match{}, !final
	}
	if b[dot] != '.' {
		return match{}, false
	}
	payload, needsMore := run(b[dot+1:], dotted, bodyLook, final)
	if needsMore {
		return match{}, true
	}
	if len(payload) < 10 {
		return match{}, false
	}
	return match{start: at, end: dot + 1 + len(payload), rest: dotted}, false
}

// bearer keeps the word and takes the token after it.
func bearer(word string) pattern {
	return func(b []byte, at int, final bool) (match, bool) {
		have := b[at:]
		if len(have) < len(word) {
			return match{}, !final && word[:len(have)] == string(have)
		}
		if string(have[:len(word)]) != word {
			return match{}, false
		}
		start := at + len(word)
		for start < len(b) && start < at+len(word)+4 && (b[start] == ' ' || b[start] == '\t') {
			start++
		}
		if start == len(b) {
			return match{}, !final
		}
		if start == at+len(word) {
			return match{}, false
		}
		var s slashed
		limit := min(len(b), start+bodyLook)
		n, done := s.eat(b[start:limit], final || limit == start+bodyLook)
		if !done && limit == len(b) && !final {
			return match{}, true
		}
		body := b[start : start+n]
		if len(body) < 16 || !random(body) && (len(body) < 20 || count(body, digits) < 4) {
			return match{}, false
		}
		return match{start: start, end: start + n, rest: s}, false
	}
}

// slashed eats a bearer token, whose slashes may be escaped.
type slashed struct{}

func (slashed) eat(b []byte, final bool) (n int, done bool) {
	for n < len(b) {
		if bearable[b[n]] {
			n++
			continue
		}
		k := n
		for k < len(b) && b[k] == '\\' && k < n+4 {
			k++
		}
		if k == len(b) && k > n {
			return n, final
		}
		if k == n || b[k] != '/' {
			return n, true
		}
		n = k + 1
	}
	return n, final
}
