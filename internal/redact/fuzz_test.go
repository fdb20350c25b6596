package redact

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// FuzzSecretNeverRemains puts a secret into a JSON line and a text, in one piece and in small writes.
func FuzzSecretNeverRemains(f *testing.F) {
	f.Add("correct7horse", "before ", " after", uint8(3))
	f.Add("p\"q\\r\ns<t>/&é\u2028😀1", "\\", "\"", uint8(1))
	f.Add("nabcdefg1", "\n", "\\n", uint8(7))
	f.Add("abcdefg1\\", "x", "\"", uint8(2))
	f.Add("00e9abcd-x", "\u00e9", "u00", uint8(5))
	f.Add(keyForge, "Bearer ", "@example.com", uint8(4))
	f.Add(pemText, "https://me:", "@h", uint8(9))
	f.Fuzz(func(t *testing.T, secret, before, after string, size uint8) {
		if len(secret) < minValue || len(secret) > 1000 || len(before)+len(after) > 4000 || strings.ContainsAny(secret, "[]") {
			return
		}
		s := New([]string{"MY_KEY=" + secret})
		if len(secrets([]string{"MY_KEY=" + secret})) == 0 {
			return
		}
		text := before + secret + after
		plain := s.String(text)
		if strings.Contains(plain, secret) {
			t.Errorf("%q remains in %q", secret, plain)
		}
		line, err := json.Marshal(map[string]string{"a": text})
		if err != nil {
			t.Fatal(err)
		}
		redacted := s.JSON().Bytes(line)
		var v map[string]string
		if err := json.Unmarshal(redacted, &v); err != nil {
			t.Errorf("%s became %s: %v", line, redacted, err)
		}
		if clean := strings.ToValidUTF8(secret, "\ufffd"); clean == secret && !structural().MatchString(secret) && strings.Contains(v["a"], secret) {
			t.Errorf("%q remains in %q", secret, v["a"])
		}
		for _, c := range []struct {
			set  *Set
			text []byte
			want []byte
		}{{s, []byte(text), []byte(plain)}, {s.JSON(), line, redacted}} {
			if got := inWrites(c.set, c.text, int(size)+1); !bytes.Equal(got, c.want) {
				t.Errorf("in writes of %d:\n got %q\nwant %q", size+1, got, c.want)
			}
		}
	})
}

// FuzzJSONStaysValid redacts JSON of any kind by the shapes and by values that were chosen to break it.
func FuzzJSONStaysValid(f *testing.F) {
	f.Add([]byte(`{"a":"-----BEGIN RSA PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0\nab\"c"}`), uint8(3))
	f.Add([]byte(`["Bearer 0123456789abcdef0123456789abcdef\\","sk-3f9a1c7be04d48a2b6c5d1e0f9a8b7c6\u0041"]`), uint8(1))
	f.Add([]byte(`{"u":"https:\/\/me:a\u0026b@h\"","n":[null,null],"b":"\bcdefgh1"}`), uint8(2))
	f.Add([]byte(`{"a":"\nabcdefg1\\","type":"\u00e9abcd-x","b":123456789}`), uint8(5))
	s := New([]string{`A_KEY=nabcdefg1`, `B_KEY=00e9abcd-x`, `C_KEY=abcdefg1\`, `D_KEY=","type":"`, `E_KEY=123456789}`, `F_KEY=\bcdefgh1`, `G_KEY=x"yabcdef`, `H_KEY=null,null`}).JSON()
	f.Fuzz(func(t *testing.T, line []byte, size uint8) {
		if !json.Valid(line) || len(line) > 8000 {
			return
		}
		got := s.Bytes(line)
		if !json.Valid(got) {
			t.Errorf("%s became %s", line, got)
		}
		if streamed := inWrites(s, line, int(size)+1); !bytes.Equal(streamed, got) {
			t.Errorf("in writes of %d:\n got %s\nwant %s", size+1, streamed, got)
		}
	})
}

func inWrites(s *Set, text []byte, size int) []byte {
	var b bytes.Buffer
	w := s.Writer(&b)
	for len(text) > 0 {
		n := min(size, len(text))
		w.Write(text[:n])
		text = text[n:]
	}
	w.Flush()
	return b.Bytes()
}
