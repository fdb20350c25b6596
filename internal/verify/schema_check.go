package verify

import (
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// expansion is how many schemas may apply to one place of an answer. Schemas that apply others twice, which apply others twice, are as many
// as the grains on the chessboard.
const expansion = 10_000

// drafts are the values of $schema that are understood, without scheme and empty fragment.
var drafts = []string{"json-schema.org/draft/2020-12/schema", "json-schema.org/draft-07/schema"}

var typeNames = []string{"array", "boolean", "integer", "null", "number", "object", "string"}

// A schemaCheck looks at what the library takes on trust: the draft, the names of types, and whether a reference leads
// back to itself at the same place of the answer, on which it would recurse until the process dies.
type schemaCheck struct {
	root    any
	anchors map[string]string
	weights map[string]int // by the pointer of a schema; -1 while it is being weighed
}

func checkSchema(root any) error {
	c := &schemaCheck{root: root, anchors: map[string]string{}, weights: map[string]int{}}
	switch root.(type) {
	case bool:
		return nil
	case map[string]any:
	default:
		return errors.New("it is no JSON object")
	}
	if err := c.every(root, "", c.alone); err != nil {
		return err
	}
	return c.every(root, "", func(at string) error {
		_, err := c.weigh(at)
		return err
	})
}

// every calls do with the pointer of each object that may be a schema. What is data in a schema is passed over.
func (c *schemaCheck) every(value any, at string, do func(at string) error) error {
	switch value := value.(type) {
	case map[string]any:
		if err := do(at); err != nil {
			return err
		}
		for name, v := range value {
			if slices.Contains([]string{"enum", "const", "default", "examples"}, name) {
				continue
			}
			if err := c.every(v, at+"/"+escapePointer(name), do); err != nil {
				return err
			}
		}
	case []any:
		for i, v := range value {
			if err := c.every(v, at+"/"+strconv.Itoa(i), do); err != nil {
				return err
			}
		}
	}
	return nil
}

// alone checks what can be checked of a schema by itself, and notes its anchors.
func (c *schemaCheck) alone(at string) error {
	value, _ := c.at(at)
	schema, _ := value.(map[string]any)
	if text, ok := schema["$schema"].(string); ok {
		_, text, _ = strings.Cut(strings.TrimSuffix(text, "#"), "://")
		if !slices.Contains(drafts, text) {
			return fmt.Errorf("$schema is %q, and draft 2020-12 and draft-07 are understood", schema["$schema"])
		}
	}
	if _, ok := schema["$id"].(string); ok && at != "" {
		return fmt.Errorf("#%s has an $id of its own; one file holds one schema", at)
	}
	for _, name := range []string{"$anchor", "$dynamicAnchor"} {
		if anchor, ok := schema[name].(string); ok {
			if _, twice := c.anchors[anchor]; twice {
				return fmt.Errorf("the anchor %q is there twice", anchor)
			}
			c.anchors[anchor] = at
		}
	}
	for name, value := range schema {
		if inexact(name, value) {
			return fmt.Errorf("%s at #%s is %v, which is not compared exactly; use whole numbers below 2^53", name, at, value)
		}
	}
	names, _ := schema["type"].([]any)
	if name, ok := schema["type"].(string); ok {
		names = []any{name}
	}
	for _, n := range names {
		if name, ok := n.(string); !ok || !slices.Contains(typeNames, name) {
			return fmt.Errorf("the type %v at #%s is none of %s", n, at, strings.Join(typeNames, ", "))
		}
	}
	return nil
}

// inexact reports whether a keyword about numbers has a value that the library does not compare as it is written: it divides binary fractions, in which 19.99
// is no multiple of 0.01, and of whole numbers beyond 2^53 it knows the nearest even ones.
func inexact(keyword string, value any) bool {
	n, ok := value.(float64)
	if !ok {
		return false
	}
	switch keyword {
	case "multipleOf":
		return n != math.Trunc(n) || n < 1 || n >= 1<<53
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		return math.Abs(n) >= 1<<53 && n == math.Trunc(n)
	}
	return false
}

// weigh counts the schemas that apply to the same place of the answer as the one at a pointer.
func (c *schemaCheck) weigh(at string) (int, error) {
	if w := c.weights[at]; w > 0 {
		return w, nil
	} else if w < 0 {
		return 0, fmt.Errorf("the reference to #%s leads back to itself", at)
	}
	c.weights[at] = -1
	next, err := c.applied(at)
	if err != nil {
		return 0, err
	}
	sum := 1
	for _, n := range next {
		w, err := c.weigh(n)
		if err != nil {
			return 0, err
		}
		if sum += w; sum > expansion {
			return 0, fmt.Errorf("#%s applies more than %d schemas at one place", at, expansion)
		}
	}
	c.weights[at] = sum
	return sum, nil
}

// applied lists the pointers of the schemas that one applies to the very place to which it applies itself.
func (c *schemaCheck) applied(at string) ([]string, error) {
	value, _ := c.at(at)
	schema, _ := value.(map[string]any)
	var next []string
	for _, name := range []string{"$ref", "$dynamicRef"} {
		if ref, ok := schema[name].(string); ok {
			target, err := c.target(ref)
			if err != nil {
				return nil, err
			}
			next = append(next, target)
		}
	}
	for _, name := range []string{"not", "if", "then", "else"} {
		if _, ok := schema[name]; ok {
			next = append(next, at+"/"+name)
		}
	}
	for _, name := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := schema[name].([]any)
		for i := range list {
			next = append(next, at+"/"+name+"/"+strconv.Itoa(i))
		}
	}
	for _, name := range []string{"dependentSchemas", "dependencies"} {
		object, _ := schema[name].(map[string]any)
		for key := range object {
			next = append(next, at+"/"+name+"/"+escapePointer(key))
		}
	}
	return next, nil
}

// target is the pointer that a reference means.
func (c *schemaCheck) target(ref string) (string, error) {
	fragment, local := strings.CutPrefix(ref, "#")
	if !local {
		return "", fmt.Errorf("the reference %q leads out of the file; nothing is fetched", ref)
	}
	pointer, err := url.PathUnescape(fragment)
	if err != nil {
		return "", fmt.Errorf("the reference %q: %w", ref, err)
	}
	if at, ok := c.anchors[pointer]; ok && pointer != "" {
		return at, nil
	}
	if _, ok := c.at(pointer); !ok {
		return "", fmt.Errorf("the reference %q leads to nothing", ref)
	}
	return pointer, nil
}

// at is the value at a JSON pointer.
func (c *schemaCheck) at(pointer string) (any, bool) {
	value := c.root
	if pointer == "" {
		return value, true
	}
	if pointer[0] != '/' {
		return nil, false
	}
	for part := range strings.SplitSeq(pointer[1:], "/") {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		switch v := value.(type) {
		case map[string]any:
			var ok bool
			if value, ok = v[part]; !ok {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(v) {
				return nil, false
			}
			value = v[i]
		default:
			return nil, false
		}
	}
	return value, true
}

func escapePointer(s string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(s) }
