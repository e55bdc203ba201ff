package health

import (
	"testing"

	"revtail/gateway/config"
)

func TestGatewayURL(t *testing.T) {
	tests := []struct{ listen, want string }{
		{"127.0.0.1:8080", "http://127.0.0.1:8080"},
		{"0.0.0.0:8080", "http://127.0.0.1:8080"},
		{":8080", "http://127.0.0.1:8080"},
		{"[::]:8080", "http://[::1]:8080"},
		{"10.0.0.1:80", "http://10.0.0.1:80"},
		{"localhost:80", "http://localhost:80"},
		{"unix:///run/revtail.sock", "unix:///run/revtail.sock"},
	}
	for _, test := range tests {
		if got, err := gatewayURL(config.Config{Listen: []string{test.listen}}); err != nil || got != test.want {
			t.Errorf("gatewayURL(%q) = %q, %v; want %q", test.listen, got, err, test.want)
		}
	}
	withTLS := config.Config{Listen: []string{"[::]:8443", "127.0.0.1:1"}, TLSCertFile: "cert.pem"}
	if got, err := gatewayURL(withTLS); err != nil || got != "https://[::1]:8443" {
		t.Errorf("gatewayURL with TLS = %q, %v; want https://[::1]:8443", got, err)
	}
	for _, listen := range []string{"127.0.0.1:0", "127.0.0.1"} {
		if got, err := gatewayURL(config.Config{Listen: []string{listen}}); err == nil {
			t.Errorf("gatewayURL(%q) = %q, want an error", listen, got)
		}
	}
}
