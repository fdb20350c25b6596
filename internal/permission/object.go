package permission

import (
	"bytes"
	"encoding/json"
)

// An object is a JSON object that keeps the order of its members.
type object struct {
	members []member
}

type member struct {
	key   string
	value json.RawMessage
}

// raw sets a member. One that is there already loses its place: the new one stands last.
func (o *object) raw(key string, value []byte) {
	for i, m := range o.members {
		if m.key == key {
			o.members = append(o.members[:i], o.members[i+1:]...)
			break
		}
	}
	o.members = append(o.members, member{key, value})
}

func (o *object) set(key, value string) { o.raw(key, quote(value)) }

func (o *object) get(key string) (json.RawMessage, bool) {
	for _, m := range o.members {
		if m.key == key {
			return m.value, true
		}
	}
	return nil, false
}

func (o *object) bytes() []byte {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o.members {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(quote(m.key))
		b.WriteByte(':')
		b.Write(m.value)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// quote makes a JSON string without the HTML escapes of encoding/json, which would only be noise in a listing.
func quote(s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil { // a string always encodes
		panic(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
