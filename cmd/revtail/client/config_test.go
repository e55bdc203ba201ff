package client_test

import (
	"strings"
	"testing"

	"revtail/cmd/revtail/client"
)

func TestConfigRefuses(t *testing.T) {
	for want, c := range map[string]client.Config{
		"--server":       {},
		"--server \"x\"": {Servers: []string{"x"}},
		"as unix:///":    {Servers: []string{"unix://run/revtail.sock"}},
		"--cert and":     {Servers: []string{"https://a"}, Cert: "c"},
		"--cacert":       {Servers: []string{"https://a"}, CACert: "absent"},
		"cross":          {Servers: []string{"http://127.0.0.1:1", "http://example.com"}, TokenFile: "token"},
	} {
		if _, err := client.New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", c, err, want)
		}
	}
}
