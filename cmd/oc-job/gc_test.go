package main

import "testing"

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "1": 1, "123456": 123456, "1K": 1 << 10, "500M": 500 << 20, "2G": 2 << 30, "2g": 2 << 30, "3T": 3 << 40,
		"9223372036854775807": 1<<63 - 1, "8388607T": 8388607 << 40,
	} {
		if got, err := parseSize(text); got != want || err != nil {
			t.Errorf("%q: %d %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "K", "-1", "1.5G", "1 G", "2GB", "1P", "9223372036854775808", "8388608T", "1e3", "M1", "٣"} {
		if got, err := parseSize(text); err == nil {
			t.Errorf("%q: %d", text, got)
		}
	}
}

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1536: "1.5 KiB", 1<<20 - 1: "1.0 MiB", 1 << 20: "1.0 MiB", 5 << 30: "5.0 GiB", 1<<63 - 1: "8388608.0 TiB",
	} {
		if got := size(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
