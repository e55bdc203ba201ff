package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"revtail/cmd/revtail/client"
)

// proxy is a program that may stand between here and a gateway, and what it needs to be told about streams.
type proxy struct {
	name              string // as its answers have it, in lower case
	buffering, cutoff string // the settings that let events through at once, and that leave silence alone
}

// proxies are those that people use. HAProxy does not say its name.
var proxies = []proxy{
	{"nginx", "nginx: proxy_http_version 1.1, proxy_buffering off, gzip off", "nginx: proxy_read_timeout 2h"},
	{"haproxy", "HAProxy: no compression filter, no option http-buffer-request", "HAProxy: timeout client 2h, timeout server 2h"},
	{"envoy", "Envoy: no buffer and no compressor filter", "Envoy: timeout 0s of the route, stream_idle_timeout 7200s"},
	{"caddy", "Caddy: flush_interval -1, no encode", "Caddy: read_timeout 2h of transport http"},
}

// proxyOf finds the proxy by what it calls itself. One that is not known has the settings of all.
func proxyOf(name string) proxy {
	var all proxy
	for _, p := range proxies {
		if strings.Contains(strings.ToLower(name), p.name) {
			return p
		}
		all.buffering += "; " + p.buffering
		all.cutoff += "; " + p.cutoff
	}
	return proxy{"", strings.TrimPrefix(all.buffering, "; "), strings.TrimPrefix(all.cutoff, "; ")}
}

// streamTime is how long a watch lasts that shows whether it is held back.
const streamTime = 3 * time.Second

// checkStream opens a watch that says something at once, 2 s before its end, and nothing more.
func (d *doctor) checkStream(ctx context.Context, c *client.Client, query client.Query) {
	t, err := c.TimeStream(ctx, query, streamTime)
	through := "let events through in the proxy before the gateway: " + d.proxy.buffering
	switch {
	case client.HasCode(err, http.StatusGatewayTimeout):
		d.report(bad, "stream", "a proxy waits for the whole watch and gives up: it holds streams back", through)
	case err != nil && t.First == 0:
		d.report(bad, "stream", "a watch fails: "+err.Error(), "")
	case t.First > streamTime/2:
		d.report(bad, "stream", fmt.Sprintf("the first event of a watch took %v: something between here and the gateway holds streams back", t.First.Round(time.Millisecond)), through)
	case err != nil || t.End < streamTime/2:
		d.cut("stream", t.End, err)
	case t.Bookmark == 0:
		d.report(bad, "stream", "no event of a watch arrived in the 2 s before its end, where one was sent: something between here and the gateway holds streams back", through)
	default:
		d.report(fine, "stream", fmt.Sprintf("the first event of a watch arrives after %v, and the others when they happen", t.First.Round(time.Millisecond)), "")
		d.checkIdle(ctx, c, query)
	}
}

// checkIdle waits for somebody who cuts what is silent.
func (d *doctor) checkIdle(ctx context.Context, c *client.Client, query client.Query) {
	if d.idle == 0 {
		d.report(skipped, "idle", "whether silent watches are cut: --idle 2m waits to see", "")
		return
	}
	t, err := c.TimeStream(ctx, query, d.idle)
	if err != nil || t.End < d.idle-time.Second {
		d.cut("idle", t.End, err)
		return
	}
	d.report(fine, "idle", fmt.Sprintf("a watch with nothing but bookmarks is not cut within %v", d.idle), "")
}

func (d *doctor) cut(what string, lasted time.Duration, err error) {
	if err == nil {
		err = errors.New("it ended as if it were complete")
	}
	d.report(bad, what, fmt.Sprintf("a silent watch was cut after %v (%v)", lasted.Round(100*time.Millisecond), err),
		"let the proxy before the gateway wait longer than the 45 s between two bookmarks; 2h suits watches without them too: "+d.proxy.cutoff)
}
