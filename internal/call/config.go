package call

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"opencode-delegate/internal/tiers"
)

// A Config is config.json: the user's defaults. An unknown key is an error, since a slip would be silent otherwise.
type Config struct {
	Model         string                `json:"model"`
	Tier          string                `json:"tier"`
	Tiers         map[string]TierConfig `json:"tiers"`
	Timeout       string                `json:"timeout"`
	IdleTimeout   string                `json:"idle_timeout"`
	RetryLimit    string                `json:"retry_limit"`
	VerifyTimeout string                `json:"verify_timeout"`
	Grace         string                `json:"grace"`
	DigestLimit   number                `json:"digest_limit"`
	MaxCost       number                `json:"max_cost"`
	MaxTokens     number                `json:"max_tokens"`
	WarnChars     number                `json:"warn_chars"`
	Opencode      string                `json:"opencode"`
	UsageLog      string                `json:"usage_log"`
	Nudge         []string              `json:"nudge"` // phrases of prompts that are work for a worker; see package plugin

	Limits map[string]map[string]number `json:"limits"` // see [Limits]

	path string
}

// A TierConfig is the model of a tier: a text, or an object with a variant.
type TierConfig struct {
	Model   string `json:"model"`
	Variant string `json:"variant"`
}

func (t *TierConfig) UnmarshalJSON(b []byte) error {
	if json.Unmarshal(b, &t.Model) == nil {
		return nil
	}
	type plain TierConfig
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	return dec.Decode((*plain)(t))
}

// configLimit bounds the configuration file.
const configLimit = 1 << 20

// configPath is $XDG_CONFIG_HOME/opencode-delegate/config.json, or the same below ~/.config.
func configPath(env Environment) string {
	base := env.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(base) {
		if env.Home == "" {
			return ""
		}
		base = filepath.Join(env.Home, ".config")
	}
	return filepath.Join(base, "opencode-delegate", "config.json")
}

// readConfig reads the configuration file; a missing one is empty.
func readConfig(path string) (Config, error) {
	c := Config{path: path}
	if path == "" {
		return c, nil
	}
	fi, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return c, nil // a directory that is closed to this user holds no configuration of this user's
	}
	if err == nil && !fi.Mode().IsRegular() { // a pipe would be waited for
		err = errors.New("not a regular file")
	}
	if err != nil {
		return c, fmt.Errorf("configuration %s: %w", path, err)
	}
	f, err := os.Open(path)
	if err != nil {
		return c, fmt.Errorf("configuration: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, configLimit+1))
	if err == nil && len(data) > configLimit {
		err = errors.New("larger than 1 MiB")
	}
	if err == nil {
		err = decode(data, &c)
	}
	if err != nil {
		return c, fmt.Errorf("configuration %s: %w", path, err)
	}
	if _, err := c.limits(); err != nil {
		return c, fmt.Errorf("configuration %s: %w", path, err)
	}
	for name := range c.Tiers {
		switch tiers.Name(name) {
		case tiers.Flash, tiers.Code, tiers.Pro:
		default:
			return c, fmt.Errorf("configuration %s: unknown tier %q; one of flash, code, pro", path, clip(name))
		}
	}
	return c, nil
}

// Nudges are the user's own phrases of prompts that look like work for a worker; nil = the file names none.
func Nudges(env Environment) ([]string, error) {
	c, err := readConfig(configPath(env))
	return c.Nudge, err
}

// decode reads the file's one object. Its errors are for whoever wrote the file.
func decode(data []byte, c *Config) error {
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // some editors begin a file with it
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	err := dec.Decode(c)
	if err == nil && dec.More() {
		return errors.New("holds more than one JSON value; write one object")
	}
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.EOF):
		return errors.New("is empty; write an object, such as {\"tier\": \"code\"}, or remove the file")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("ends too early; a bracket or a quote is missing")
	case errors.As(err, &syntax):
		return fmt.Errorf("line %d is no JSON: %w", 1+bytes.Count(data[:min(int(syntax.Offset), len(data))], []byte("\n")), err)
	case errors.As(err, &kind) && kind.Field == "":
		return fmt.Errorf("is a JSON %s; write an object, such as {\"tier\": \"code\"}", kind.Value)
	case errors.As(err, &kind):
		return fmt.Errorf("line %d: %s cannot be a %s; write a text in quotes, such as \"10m\" or \"code\"",
			1+bytes.Count(data[:min(int(kind.Offset), len(data))], []byte("\n")), kind.Field, kind.Value)
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return fmt.Errorf("unknown key %s; the keys are %s", name, strings.Join(keys(), ", "))
	}
	return err
}

// keys lists what the file may hold.
func keys() []string {
	var names []string
	for f := range reflect.TypeFor[Config]().Fields() {
		if name := f.Tag.Get("json"); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// A number is a JSON number as it was written; one in quotes is an error, as for every other kind.
type number string

func (n *number) UnmarshalJSON(b []byte) error {
	var v json.Number
	if b[0] == '"' || json.Unmarshal(b, &v) != nil {
		return fmt.Errorf("%s is no number; write it without quotes", clip(string(b)))
	}
	*n = number(v)
	return nil
}

// value is a setting of the file with its source.
func (c Config) value(text string) tiers.Value {
	return tiers.Value{Text: text, Source: "config file " + c.path}
}
