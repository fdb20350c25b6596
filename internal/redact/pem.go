package redact

import "bytes"

const (
	pemBegin = "-----BEGIN "
	pemEnd   = "-----END "
	pemLabel = 64      // bytes of a label, at most
	pemRun   = 16      // base64 characters that no word has
	pemField = 200     // bytes of a header field such as DEK-Info, at most
	pemHead  = 1 << 10 // bytes of all of them, at most
)

// privateKey is a PEM block of a private key, with real or escaped newlines or on one line, ended or cut. The opening
// line alone, as documents quote it, is none.
func privateKey(b []byte, at int, final bool) (match, bool) {
	end, st := pemLine(b[at:], pemBegin, final)
	switch st {
	case unsure:
		return match{}, true
	case no:
		return match{}, false
	}
	p := &pemBody{probing: true}
	head := b[at+end : min(len(b), at+end+pemHead)]
	n, done := p.eat(head, final || len(head) == pemHead)
	p.probing = false
	if !p.sure {
		return match{}, !done
	}
	return match{start: at, end: at + end + n, rest: p}, false
}

type answer int

const (
	no answer = iota
	yes
	unsure
)

// pemLine recognizes the line that begins or ends a private key, without what follows it.
func pemLine(b []byte, start string, final bool) (n int, _ answer) {
	if len(b) < len(start) {
		if !final && start[:len(b)] == string(b) {
			return 0, unsure
		}
		return 0, no
	}
	if string(b[:len(start)]) != start {
		return 0, no
	}
	label := b[len(start):min(len(b), len(start)+pemLabel)]
	dash := bytes.IndexByte(label, '-')
	if dash < 0 {
		if len(label) < pemLabel && !final {
			return 0, unsure
		}
		return 0, no
	}
	name := label[:dash]
	if !bytes.HasSuffix(name, []byte("PRIVATE KEY")) && !bytes.HasSuffix(name, []byte("PRIVATE KEY BLOCK")) {
		return 0, no
	}
	rest := b[len(start)+dash:]
	const dashes = "-----"
	if len(rest) < len(dashes) {
		if !final && dashes[:len(rest)] == string(rest) {
			return 0, unsure
		}
		return 0, no
	}
	if string(rest[:len(dashes)]) != dashes {
		return 0, no
	}
	return len(start) + dash + len(dashes), yes
}

// pemBody eats what follows the opening line.
type pemBody struct {
	inRun   bool // the last byte was base64: more of it belongs to the key
	sure    bool // base64 was seen: header fields are over
	probing bool // to stop as soon as it is sure
}

func (p *pemBody) eat(b []byte, final bool) (n int, done bool) {
	for {
		if p.inRun {
			k, _ := base64.eat(b[n:], true)
			n += k
			if n == len(b) {
				return n, final
			}
			p.inRun = false
		}
		k, ok := separators(b[n:], final)
		if !ok {
			return n, false
		}
		k += n
		end, st := pemLine(b[k:], pemEnd, final)
		if st == unsure {
			return n, false
		}
		if st == yes {
			return k + end, true
		}
		size := base64Run(b[k:])
		if size == pemRun {
			n, p.inRun, p.sure = k+size, true, true
			if p.probing {
				return n, true
			}
			continue
		}
		if k+size == len(b) && !final {
			return n, false
		}
		if !p.sure {
			f, st := pemHeader(b[k:], final)
			if st == unsure {
				return n, false
			}
			if st == yes {
				n = k + f
				continue
			}
		}
		// A last line may be short; a short word that no end follows is text.
		k += size
		s, ok := separators(b[k:], final)
		if !ok {
			return n, false
		}
		end, st = pemLine(b[k+s:], pemEnd, final)
		if st == unsure {
			return n, false
		}
		if st == yes && (size > 0 || s > 0) {
			return k + s + end, true
		}
		return n, true
	}
}

// base64Run counts the base64 characters at the beginning of b, up to pemRun.
func base64Run(b []byte) int {
	n := 0
	for n < len(b) && n < pemRun && base64[b[n]] {
		n++
	}
	return n
}

// pemHeader is a field of an encrypted or armoured key, such as "Proc-Type: 4,ENCRYPTED".
func pemHeader(b []byte, final bool) (n int, _ answer) {
	for n < len(b) && n < 32 && (alnum[b[n]] || b[n] == '-') {
		n++
	}
	if n == len(b) && !final {
		return 0, unsure
	}
	if n == 0 || n == len(b) || b[n] != ':' {
		return 0, no
	}
	for n < len(b) && n < pemField {
		if b[n] == '"' || b[n] == '\\' || b[n] < ' ' {
			return n, yes
		}
		n++
	}
	if n == len(b) && !final {
		return 0, unsure
	}
	return 0, no
}

// separators is the length of the white space at the beginning of b, also where it is escaped; at most 64 of them count.
// It is not known while b ends inside one.
func separators(b []byte, final bool) (n int, known bool) {
	for range 64 {
		if n == len(b) {
			return n, final
		}
		switch b[n] {
		case ' ', '\t', '\r', '\n':
			n++
			continue
		case '\\':
		default:
			return n, true
		}
		k := n
		for k < len(b) && b[k] == '\\' && k < n+4 {
			k++
		}
		if k == len(b) {
			return n, final
		}
		switch b[k] {
		case 'n', 'r', 't', '\n':
			n = k + 1
			continue
		case 'u':
			size, needsMore := unicodeEscape(b[n:], final)
			if needsMore {
				return n, false
			}
			if size > 0 && (string(b[k:k+4]) == "u000" && bytes.IndexByte([]byte("9aAdD"), b[k+4]) >= 0) {
				n += size
				continue
			}
		}
		return n, true
	}
	return n, true
}
