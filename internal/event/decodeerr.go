package event

import "strings"

func (d *decoder) errMember(key string) (ok bool) {
	switch key {
	case "name":
		d.failure.Name, ok = d.str(wordLimit, "")
	case "message":
		var s string
		if s, ok = d.str(messageLimit, ""); d.failure.Message == "" {
			d.failure.Message = s
		}
	case "data":
		d.failure = Err{Name: d.failure.Name, Message: d.failure.Message}
		return d.in(d.dataMember)
	default:
		return d.skip()
	}
	return ok
}

func (d *decoder) dataMember(key string) (ok bool) {
	e := &d.failure
	switch key {
	case "message":
		e.Message, ok = d.str(messageLimit, "")
	case "responseBody":
		e.Body, ok = d.str(bodyLimit, "")
	case "ref":
		e.Ref, ok = d.str(wordLimit, "")
	case "statusCode":
		e.Status = 0
		var code float64
		var has bool
		if code, has, ok = d.float(); has && code >= 100 && code < 1000 {
			e.Status = int(code)
		}
	case "isRetryable":
		e.Retryable = nil
		switch d.peek() {
		case 't', 'f':
			yes := d.peek() == 't'
			e.Retryable = &yes
		}
		return d.skip()
	case "responseHeaders":
		e.Headers = nil
		return d.headers()
	default:
		return d.skip()
	}
	return ok
}

// headers reads an object whose keys are the sender's. A key that the lexer does not know comes out empty, so this
// one reads them itself.
func (d *decoder) headers() bool {
	if d.peek() != '{' {
		return d.skip()
	}
	d.take('{')
	if d.take('}') {
		return true
	}
	for {
		name, ok := d.str(wordLimit, "")
		if !ok || !d.take(':') {
			return false
		}
		if d.peek() != '"' {
			ok = d.skip()
		} else {
			var value string
			value, ok = d.str(lineLimit, "")
			if ok && name != "" && len(d.failure.Headers) < listLimit {
				if d.failure.Headers == nil {
					d.failure.Headers = map[string]string{}
				}
				d.failure.Headers[strings.ToLower(name)] = value
			}
		}
		if !ok {
			return false
		}
		if d.take(',') {
			if d.peek() != '"' {
				return false
			}
			continue
		}
		return d.take('}')
	}
}

// rejectedOne reads a permission that was rejected: its name, or an object that names it.
func (d *decoder) rejectedOne() bool {
	var name string
	ok := true
	switch d.peek() {
	case '"':
		name, ok = d.str(wordLimit, "")
	case '{':
		ok = d.in(func(key string) (ok bool) {
			switch key {
			case "permission", "type", "title":
				var s string
				if s, ok = d.str(wordLimit, ""); name == "" || key == "permission" {
					name = s
				}
				return ok
			}
			return d.skip()
		})
	default:
		return d.skip()
	}
	if len(d.rejected) < listLimit {
		d.rejected = append(d.rejected, name)
	}
	return ok
}
