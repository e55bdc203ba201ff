package webserver

import (
	"net"
	"testing"
)

func TestListenHost(t *testing.T) {
	bound := &net.TCPAddr{IP: net.IPv6unspecified, Port: 1234}
	for given, want := range map[string]string{
		"127.0.0.1:0":  "127.0.0.1:1234",
		"localhost:0":  "localhost:1234",
		"0.0.0.0:1234": "0.0.0.0:1234",
		"[::1]:0":      "[::1]:1234",
		":0":           "[::]:1234",
	} {
		if got := listenHost(given, bound); got != want {
			t.Errorf("listenHost(%q) = %q, want %q", given, got, want)
		}
	}
}
