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

	"opencode-delegate/internal/tiers"
)

// A Config is config.json: the user's defaults. An unknown key is an error, since a slip would be silent otherwise.
type Config struct {
	Model       string                `json:"model"`
	Tier        string                `json:"tier"`
	Tiers       map[string]TierConfig `json:"tiers"`
	Timeout     string                `json:"timeout"`
	IdleTimeout string                `json:"idle_timeout"`
	RetryLimit  string                `json:"retry_limit"`
	Grace       string                `json:"grace"`
	DigestLimit json.Number           `json:"digest_limit"`
	MaxCost     json.Number           `json:"max_cost"`
	MaxTokens   json.Number           `json:"max_tokens"`
	WarnChars   json.Number           `json:"warn_chars"`
	Opencode    string                `json:"opencode"`
	UsageLog    string                `json:"usage_log"`

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
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) && !exists(path) {
		return c, nil
	}
	if err != nil {
		return c, fmt.Errorf("configuration: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, configLimit+1))
	if err == nil && len(data) > configLimit {
		err = errors.New("larger than 1 MiB")
	}
	if err == nil {
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.DisallowUnknownFields()
		err = dec.Decode(&c)
		if err == nil && dec.More() {
			err = errors.New("more than one JSON value")
		}
	}
	if err != nil {
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

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// value is a setting of the file with its source.
func (c Config) value(text string) tiers.Value {
	return tiers.Value{Text: text, Source: "config file " + c.path}
}
