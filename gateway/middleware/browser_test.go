package middleware

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// FuzzHost checks that a Host is a name of this server only if a browser would have sent the request to localhost, to a loopback address or
// to one of Chain.Hosts, and that all of these are.
func FuzzHost(f *testing.F) {
	for _, seed := range []string{
		"localhost", "LocalHost:8080", "127.0.0.1:1", "[::1]", "[::1]:80", "::1", "127.1", "0x7f.1", "[::ffff:127.0.0.1]", "localhost.", "localhost.evil.example",
		"gateway.example:443", "evil.example:127.0.0.1", "localhost:80:80", "localhost@evil.example", "[::1%25eth0]", "[localhost]", "127.0.0.1.evil.example", "0.0.0.0", "",
	} {
		f.Add(seed)
	}
	c := &Chain{Hosts: []string{"gateway.example"}}
	f.Fuzz(func(t *testing.T, host string) {
		u, err := url.Parse("http://" + host + "/")
		if err != nil || u.Host != host || u.Path != "/" {
			return // no browser sends it
		}
		name := strings.ToLower(u.Hostname())
		ip, err := netip.ParseAddr(name)
		want := name == "" || name == "localhost" || slices.Contains(c.Hosts, name) || err == nil && ip.IsLoopback()
		if got := c.knowsHost(host); got != want {
			t.Errorf("the Host %q, of %q, is known: %v, want %v", host, name, got, want)
		}
	})
}
