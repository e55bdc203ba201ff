//go:build !nootlp

package serve

import "testing"

func TestTracesURL(t *testing.T) {
	for endpoint, want := range map[string]string{
		"http://a:4318":                 "http://a:4318/v1/traces",
		"http://a:4318/":                "http://a:4318/v1/traces",
		"https://a/otlp":                "https://a/otlp/v1/traces",
		"https://a/otlp/v1/traces":      "https://a/otlp/v1/traces",
		"https://a/v1/traces/":          "https://a/v1/traces",
		"https://a/other/than/v1traces": "https://a/other/than/v1traces/v1/traces",
	} {
		if got := tracesURL(endpoint); got != want {
			t.Errorf("%s: %s, want %s", endpoint, got, want)
		}
	}
}
