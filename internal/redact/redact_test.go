package redact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
)

const (
	keyOpenAI    = "sk-proj-9XkQ2v7LmNpR4sTu8WyZ1bCdEfGh_JkLmNoPqRsTuVwX"
	keyDeep      = "sk-3f9a1c7be04d48a2b6c5d1e0f9a8b7c6"
	keyAnthropic = "sk-ant-api03-Zq8vK1mN4pR7sT0uW3xY6zA9bC2dE5fG8hJ-kLmNoPqRsTuVwXyZ"
	keyForge     = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
	keyLab       = "glpat-x7Yz_K2mQ9wErTyUiOpA"
	keySlack     = "xoxb-263594206564-2343594206574-FGqddMF8t08v8N7Oq4i57vs1"
	keyCloud     = "AKIAIOSFODNN7EXAMPLE"
	keyMaps      = "AIzaSyDaGmWKa4JsXZ-HjGw7ISLn_3namBGewQe"
	webTokenText = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
	pemBodyText  = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\nMzEfYyjiWA4R4/M2bS1GB4t7NXp98C3SC6dVMvDuictGeurT8jNbvJZHtCSuYEvu\nab=="
	pemText      = "-----BEGIN RSA PRIVATE KEY-----\n" + pemBodyText + "\n-----END RSA PRIVATE KEY-----"
)

func TestKeyShapesAreFound(t *testing.T) {
	s := New(nil)
	for _, tc := range []struct{ name, in, want string }{
		{"openai", "key=" + keyOpenAI + ".", "key=[redacted]."},
		{"hex after sk-", "key " + keyDeep + "\n", "key [redacted]\n"},
		{"anthropic", keyAnthropic, "[redacted]"},
		{"github", "token " + keyForge + " ok", "token [redacted] ok"},
		{"github oauth", "gho_16C7e42F292c6912E7710c838347Ae178B4a", "[redacted]"},
		{"github fine-grained", "github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz0123456789", "[redacted]"},
		{"gitlab", "t:" + keyLab, "t:[redacted]"},
		{"slack", keySlack + ",", "[redacted],"},
		{"aws", "(" + keyCloud + ")", "([redacted])"},
		{"google", keyMaps, "[redacted]"},
		{"jwt", "jwt " + webTokenText + " end", "jwt [redacted] end"},
		{"bearer", "Authorization: Bearer 0123456789abcdef0123456789abcdef\r\n", "Authorization: Bearer [redacted]\r\n"},
		{"bearer, escaped slash", `"bearer abcdef0123456789\/abcdef+/=="`, `"bearer [redacted]"`},
		{"bearer uuid", "Bearer 123e4567-e89b-12d3-a456-426614174000", "Bearer [redacted]"},
		{"url", "git clone https://me:hunter2@example.com/x.git", "git clone https://me:[redacted]@example.com/x.git"},
		{"url without user", "redis://:s3cr3t@localhost:6379/0", "redis://:[redacted]@localhost:6379/0"},
		{"url, escaped slashes", `"https:\/\/me:hunter2@example.com\/x"`, `"https:\/\/me:[redacted]@example.com\/x"`},
		{"url, escaped ampersand", `"https://me:a\u0026b@h"`, `"https://me:[redacted]@h"`},
		{"pem", "x\n" + pemText + "\ny", "x\n[redacted]\ny"},
		{"pem in json", `{"k":"` + strings.ReplaceAll(pemText, "\n", `\n`) + `\n"}`, `{"k":"[redacted]\n"}`},
		{"pem in json in json", strings.ReplaceAll(pemText, "\n", `\\n`), "[redacted]"},
		{"pem crlf", strings.ReplaceAll(pemText, "\n", "\r\n"), "[redacted]"},
		{"pem on one line", strings.ReplaceAll(pemText, "\n", " "), "[redacted]"},
		{"pem cut off", pemText[:120], "[redacted]"},
		{"pem cut off in a string", `"` + strings.ReplaceAll(pemText[:120], "\n", `\n`) + `","a":1`, `"[redacted]","a":1`},
		{"pem encrypted", "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A1B\n\n" + pemBodyText + "\n-----END EC PRIVATE KEY-----", "[redacted]"},
		{"after an escape", `{"a":"x\n` + keyForge + `\tsk-1"}`, `{"a":"x\n[redacted]\tsk-1"}`},
		{"after a doubled escape", `\\n` + keyForge, `\\n[redacted]`},
		{"after a unicode escape", `\u003d` + keyForge, `\u003d[redacted]`},
		{"what runs on is no key id", keySlack + " " + keyCloud + keyForge, "[redacted] AKIAIOSFODNN7EXAMPLEghp_16C7e42F292c6912E7710c838347Ae178B4a"},
	} {
		if got := s.String(tc.in); got != tc.want {
			t.Errorf("%s:\n got %q\nwant %q", tc.name, got, tc.want)
		}
		if !s.Found(tc.in) {
			t.Errorf("%s: not found", tc.name)
		}
	}
}

func TestOrdinaryTextIsKept(t *testing.T) {
	s := New([]string{"SHORT_KEY=abc123", "WORD_TOKEN=production", "NUMBER_SECRET=20241129.120000", "SSH_KEY=/home/me/.ssh/id_ed25519", "HOME=/home/me-9", "MONKEY=b4n4n4-b4n4n4", "KEY=k3yk3yk3yk3y"})
	for _, text := range []string{
		"sk-learn-is-a-library-for-machine-learning", "scikit: sk-2024-11-29-report-of-the-week", "task-3f9a1c7be04d48a2b6c5d1e0f9a8b7c6",
		"Incorrect API key provided: sk-xxxx. You can find", "sk-internationalization-of-things",
		"ses_dd7fe2f15ffeTwx8uNFHVumxV0 msg_22801dadc001rtER2XEAbceswT prt_22801e5b5001Yke0fM8Ly9Fos1 call_mock_0_0",
		"5972912c6f0b05d6981bd5169716c17d9fcd00ce", "123e4567-e89b-12d3-a456-426614174000",
		"sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==",
		"Bearer authentication is described in RFC 6750", "the bearer path/to/file/v1/authentication.go", "Bearer <token>", "Bearer ${TOKEN_WITH_A_LONG_NAME}",
		"http://localhost:8080/a?b=c@d https://example.com/a:b@c", "see https://example.com: mail me@example.com",
		"http://me:${PASSWORD}@host", "http://me:%s@host/", "ssh://git@github.com/o/r", "http://[::1]:80/x@y",
		"grep -r -- '-----BEGIN RSA PRIVATE KEY-----' .", "-----BEGIN PRIVATE KEY-----\nfollowed by prose", "-----BEGIN CERTIFICATE-----\n" + pemBodyText + "\n-----END CERTIFICATE-----",
		"-----BEGIN PUBLIC KEY-----\n" + pemBodyText, "------------------------------------------------------------",
		"AKIA is the prefix, AKIATHISISLOWERcase", "ASIANDEVELOPMENTBANKS", "AIza", "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9 alone", "eyJhbGciOiJIUzI1NiJ9.", "npm_config_registry_of_the_organization_and_more",
		"ghp_short", "github_pat_x", "glpat-x", "xoxb-", "gitignore ghost html",
		"abc123 production 20241129.120000 /home/me/.ssh/id_ed25519 /home/me-9 b4n4n4-b4n4n4 k3yk3yk3yk3y",
	} {
		if got := s.String(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestValuesOfTheEnvironment(t *testing.T) {
	s := New([]string{
		"MY_API_KEY=correct7horse", "lower_token=tok-en/with+slash=", "A_SECRET=/wJalrXUtnFEMI7K7MDENG/bPxRfiCYEXAMPLE9KEY",
		"B_PASSWORD=p\"q\\r\ns<t>&é\u2028😀", "QUOTED_KEY='in-quotes-1'\n", "EMPTY_KEY=", "NOVALUE_KEY",
	})
	for _, secret := range []string{"correct7horse", "tok-en/with+slash=", "/wJalrXUtnFEMI7K7MDENG/bPxRfiCYEXAMPLE9KEY", "p\"q\\r\ns<t>&é\u2028😀", "in-quotes-1"} {
		if got, want := s.String("<"+secret+">"), "<[redacted]>"; got != want {
			t.Errorf("raw %q: got %q", secret, got)
		}
		for name, line := range spellings(t, secret) {
			got := s.JSON().Bytes(line)
			var v map[string]string
			if err := json.Unmarshal(got, &v); err != nil {
				t.Errorf("%s of %q: %s: %v", name, secret, got, err)
			} else if v["a"] != "x[redacted]y" {
				t.Errorf("%s of %q: %s", name, secret, got)
			}
		}
	}
}

// spellings writes secret inside a JSON object as encoders do: Go's two ways, JavaScript's, and those that escape more.
func spellings(t *testing.T, secret string) map[string][]byte {
	t.Helper()
	var html, plain bytes.Buffer
	value := map[string]string{"a": "x" + secret + "y"}
	for b, escape := range map[*bytes.Buffer]bool{&html: true, &plain: false} {
		enc := json.NewEncoder(b)
		enc.SetEscapeHTML(escape)
		if err := enc.Encode(value); err != nil {
			t.Fatal(err)
		}
	}
	js := bytes.ReplaceAll(plain.Bytes(), []byte(`\u2028`), []byte("\u2028"))
	var lower, upper bytes.Buffer
	for _, r := range string(js) {
		if r < 0x7f {
			lower.WriteRune(r)
			upper.WriteRune(r)
			continue
		}
		units := []rune{r}
		if r > 0xFFFF {
			units = []rune{0xD800 + (r-0x10000)>>10, 0xDC00 + (r-0x10000)&0x3FF}
		}
		for _, u := range units {
			fmt.Fprintf(&lower, `\u%04x`, u)
			fmt.Fprintf(&upper, `\u%04X`, u)
		}
	}
	return map[string][]byte{
		"go": html.Bytes(), "go plain": plain.Bytes(), "javascript": js, "ascii": lower.Bytes(), "ASCII": upper.Bytes(),
		"slashes": bytes.ReplaceAll(js, []byte("/"), []byte(`\/`)),
	}
}

func TestJSONInsideJSON(t *testing.T) {
	s := New([]string{"B_PASSWORD=p\"q\\r/s<t>"})
	inner, _ := json.Marshal(map[string]string{"token": "p\"q\\r/s<t>"})
	outer, _ := json.Marshal(map[string]string{"responseBody": string(inner)})
	got := string(s.JSON().Bytes(outer))
	if want := `{"responseBody":"{\"token\":\"[redacted]\"}"}`; got != want {
		t.Errorf("got %s", got)
	}
}

func TestOnlyWhatStandsBetweenStringsIsSpared(t *testing.T) {
	for value, want := range map[string]bool{
		"null,null": true, "ull,null}": true, `true, "x`: false, "[1,2,[3]]": true, "e],false": true, "1e5, tru": true, "{}{}{}{}": true, " : [[[ 1": true, ",-1.5e+10,nul": true, "0e123456": true,
		"1234 5678 9012": false, "true false": false, "rue,abcde": false, "nullify,1": false, "1.2.3.4:x": false, "a[1,2,3]": false,
	} {
		if got := structural().MatchString(value); got != want {
			t.Errorf("%q: %v", value, got)
		}
	}
}

func TestRedactedJSONStaysValid(t *testing.T) {
	s := New([]string{`A_KEY=nabcdefg1`, `B_KEY=00e9abcd-x`, `C_KEY=abcdefg1\`, `D_KEY=","type":"`, `E_KEY=123456789}`, `F_KEY=\bcdefgh1`, `G_KEY=x"yabcdef`, `H_KEY=null,null`})
	for _, line := range []string{
		`{"a":"\nabcdefg1"}`, `{"a":"\\nabcdefg1"}`, `{"a":"\u00e9abcd-x"}`, `{"a":"abcdefg1\""}`, `{"a":"abcdefg1\\"}`, `{"a":"abcdefg1\\\""}`,
		`{"x":"y","type":"z","n":123456789}`, `{"a":"\bcdefgh1"}`, `{"a":"\\bcdefgh1"}`, `{"x":"yabcdef"}`, `{"a":[null,null]}`, `{"a":"` + strings.ReplaceAll(pemText[:100], "\n", `\n`) + `\"b"}`,
	} {
		got := s.JSON().Bytes([]byte(line))
		if !json.Valid(got) {
			t.Errorf("%s became %s", line, got)
		}
		for size := 1; size < 12; size++ {
			if streamed := inWrites(s.JSON(), []byte(line), size); !bytes.Equal(streamed, got) {
				t.Errorf("in writes of %d %s became %s", size, line, streamed)
			}
		}
	}
	if got := s.JSON().Bytes([]byte(`{"x":"y","type":"z","n":123456789}`)); !bytes.Contains(got, []byte(`"type":"z"`)) {
		t.Errorf("structure was replaced: %s", got)
	}
}

func TestBytesReturnsItsArgumentWhenNothingIsFound(t *testing.T) {
	in := []byte("nothing to hide here")
	if out := New(nil).Bytes(in); &out[0] != &in[0] {
		t.Error("a copy was made")
	}
	var none *Set
	if got := none.String(keyForge); got != keyForge || none.Found(keyForge) || none.JSON() != nil || string(none.Bytes([]byte("x"))) != "x" {
		t.Error("a nil set found something")
	}
	var b strings.Builder
	w := none.Writer(&b)
	if _, err := io.WriteString(w, keyForge); err != nil || w.Flush() != nil || b.String() != keyForge {
		t.Errorf("a nil set's writer wrote %q, %v", b.String(), err)
	}
}

func TestWriterFindsSecretsAcrossWrites(t *testing.T) {
	s := New([]string{"MY_KEY=correct7horse\\", "B_PASSWORD=p\"q\\r\nz12345"})
	text := "head correct7horse\\\" and " + keyOpenAI + "\\n" + keyForge + " " + webTokenText + "\nhttps://me:hunter2@example.com Bearer 0123456789abcdef0123 " +
		pemText + "\n" + strings.ReplaceAll(pemText, "\n", `\n`) + ` "p\"q\\r\nz12345" -----BEGIN RSA PRIVATE KEY----- tail sk-`
	want := s.String(text)
	for _, size := range []int{1, 2, 3, 5, 7, 16, 64, 100, 1000} {
		var b strings.Builder
		w := s.Writer(&b)
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			if k, err := io.WriteString(w, rest[:n]); k != n || err != nil {
				t.Fatalf("wrote %d of %d: %v", k, n, err)
			}
			rest = rest[n:]
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if b.String() != want {
			t.Errorf("in writes of %d:\n got %q\nwant %q", size, b.String(), want)
		}
	}
	if strings.Count(want, Mark) != 9 {
		t.Errorf("%d secrets were found in %q", strings.Count(want, Mark), want)
	}
}

func TestWriterIsBounded(t *testing.T) {
	s := New([]string{"MY_KEY=correct7horse"})
	for name, unit := range map[string]string{
		"token without end": "a1B2", "headers without end": "Proc-Type: 4\n", "backslashes": `\`, "spaces": " ", "prose": "some words and ",
	} {
		var n counter
		w := s.Writer(&n)
		io.WriteString(w, "Bearer sk-ant-api03-0")
		if strings.HasSuffix(unit, "\n") {
			io.WriteString(w, "\n-----BEGIN PRIVATE KEY-----\n")
		}
		block := strings.Repeat(unit, piece/len(unit))
		for range 64 {
			io.WriteString(w, block)
		}
		if cap(w.buf) > 4*piece {
			t.Errorf("%s: holds %d bytes", name, cap(w.buf))
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
}

type counter int

func (c *counter) Write(p []byte) (int, error) { *c += counter(len(p)); return len(p), nil }

func TestWriterKeepsTheFirstError(t *testing.T) {
	w := New(nil).Writer(failing{})
	if _, err := w.Write(bytes.Repeat([]byte("x"), 100)); err != io.ErrShortWrite {
		t.Errorf("Write: %v", err)
	}
	if err := w.Flush(); err != io.ErrShortWrite {
		t.Errorf("Flush: %v", err)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestEachLineOfAValueIsASecret(t *testing.T) {
	s := New([]string{"G_TOKEN=line1abc9\nline2def8\r\nshort1\nproduction", "PEM_KEY=" + pemText})
	body, _, _ := strings.Cut(pemBodyText, "\n")
	for in, want := range map[string]string{
		"line1abc9 line2def8":                  "[redacted] [redacted]",
		"line1abc9\nline2def8":                 "[redacted]\n[redacted]",
		"only line2def8":                       "only [redacted]",
		"short1 and production":                "short1 and production",
		"see " + body + " there":               "see [redacted] there",
		"grep -----BEGIN RSA PRIVATE KEY-----": "grep -----BEGIN RSA PRIVATE KEY-----",
	} {
		if got := s.String(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
		if got := s.JSON().String(in); got != want {
			t.Errorf("JSON: %q: %q, want %q", in, got, want)
		}
	}
}
