package verify

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"opencode-delegate/internal/fault"
	"opencode-delegate/internal/plain"
)

// Limits of --expect-schema.
const (
	SchemaLimit = 1 << 20 // bytes of a schema
	answerLimit = 16 << 20
	jsonDepth   = 100 // of a schema and of an answer
	// schemaTime bounds the comparison: a schema that applies itself twice to what lies deeper takes time without end for an answer that is deep.
	schemaTime = 10 * time.Second
)

// A Schema is what the answer of a worker has to match.
type Schema struct{ resolved *jsonschema.Resolved }

// ParseSchema reads a JSON Schema, draft 2020-12 or draft-07. What cannot be used is a USAGE fault that names the file: no schema, another
// draft, an expression that RE2 does not know, a reference to anything outside of it, one that leads back to itself without looking deeper
// into the answer. Nothing is fetched. "format" is not looked at, as the drafts allow.
func ParseSchema(file string, data []byte) (*Schema, error) {
	bad := func(format string, args ...any) (*Schema, error) {
		return nil, fault.New(fault.Usage, "--expect-schema %s: "+format, append([]any{file}, args...)...)
	}
	if len(data) > SchemaLimit {
		return bad("it has more than %d bytes", SchemaLimit)
	}
	value, err := decode(data)
	if err != nil {
		return bad("%w", err)
	}
	if err := checkSchema(value); err != nil {
		return bad("%w", err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(data, &s); err != nil {
		return bad("%s", plain.Line(err.Error(), reasonLimit))
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		return bad("%s", plain.Line(err.Error(), reasonLimit))
	}
	return &Schema{resolved}, nil
}

// Expect checks a text: JSON, or one fenced block of JSON with nothing but white space around it. What is wrong with it comes as one phrase;
// empty means nothing.
func (s *Schema) Expect(text string) string {
	if len(text) > answerLimit {
		return fmt.Sprintf("the answer has more than %d bytes", answerLimit)
	}
	value, err := decode([]byte(unfence(text)))
	if err != nil {
		return "the answer is no JSON: " + plain.Line(err.Error(), reasonLimit/2)
	}
	checked := make(chan error, 1)
	go func() { checked <- s.resolved.Validate(value) }()
	select {
	case err = <-checked:
	case <-time.After(schemaTime):
		return fmt.Sprintf("the answer could not be compared with the schema within %s", schemaTime)
	}
	if err != nil {
		said := strings.ReplaceAll(err.Error(), "validating root: ", "")
		return "the answer does not match the schema: " + plain.Line(said, reasonLimit/2)
	}
	return ""
}

// unfence takes the fence of Markdown away where it holds all of the text.
func unfence(text string) string {
	text = strings.TrimSpace(text)
	body, ok := strings.CutPrefix(text, "```")
	if !ok {
		return text
	}
	if body, ok = strings.CutSuffix(body, "```"); !ok {
		return text
	}
	info, body, ok := strings.Cut(body, "\n")
	if info = strings.TrimSpace(info); !ok || info != "" && !strings.EqualFold(info, "json") {
		return text
	}
	return body
}

// decode reads exactly one JSON value of bounded depth.
func decode(data []byte) (any, error) {
	if err := shallow(data); err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	var value any
	if err := d.Decode(&value); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("there is nothing")
		}
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows after its end")
	}
	return value, nil
}

// shallow refuses what is nested too deep, before a recursive reader gets it.
func shallow(data []byte) error {
	depth, quoted := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > jsonDepth {
				return fmt.Errorf("it is nested more than %d deep", jsonDepth)
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}
