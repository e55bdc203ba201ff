package doctor

import (
	"strings"
)

// proxy is a reverse proxy, and its settings for streams.
type proxy struct {
	name      string // in its Server or Via header, in lower case
	buffering string // settings that turn buffering off
	timeouts  string // settings that keep idle streams open
}

// proxies are the common ones. HAProxy does not set a Server header by default.
var proxies = []proxy{
	{"nginx", "nginx: proxy_http_version 1.1, proxy_buffering off, gzip off", "nginx: proxy_read_timeout 2h"},
	{"haproxy", "HAProxy: no compression filter, no option http-buffer-request", "HAProxy: timeout client 2h, timeout server 2h"},
	{"envoy", "Envoy: no buffer and no compressor filter", "Envoy: timeout 0s of the route, stream_idle_timeout 7200s"},
	{"caddy", "Caddy: flush_interval -1, no encode", "Caddy: read_timeout 2h of transport http"},
}

// proxyOf finds the proxy of a Server header. For an unknown one it returns the settings of all.
func proxyOf(header string) proxy {
	var all proxy
	for _, p := range proxies {
		if strings.Contains(strings.ToLower(header), p.name) {
			return p
		}
		all.buffering += "; " + p.buffering
		all.timeouts += "; " + p.timeouts
	}
	return proxy{"", strings.TrimPrefix(all.buffering, "; "), strings.TrimPrefix(all.timeouts, "; ")}
}
