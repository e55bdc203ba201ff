package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"revtail/cmd/revtail/client"
)

// streamDuration is the duration of the watch that shows whether a proxy buffers it.
const streamDuration = 3 * time.Second

// checkStream opens a watch that has an event at its beginning and one 2 s before its end.
func (d *doctor) checkStream(ctx context.Context, c *client.Client, query client.Query) {
	t, err := c.TimeStream(ctx, query, streamDuration)
	hint := "turn buffering off in the proxy before the gateway: " + d.proxy.buffering
	switch {
	case client.HasCode(err, http.StatusGatewayTimeout):
		d.report(failed, "stream", "a proxy buffers streams: it waited for the end of the watch, until its timeout", hint)
	case err != nil && t.First == 0:
		d.report(failed, "stream", "a watch fails: "+err.Error(), "")
	case t.First > streamDuration/2:
		d.report(failed, "stream", fmt.Sprintf("the first event of a watch took %v: a proxy before the gateway buffers streams", t.First.Round(time.Millisecond)), hint)
	case err != nil || t.End < streamDuration/2:
		d.reportCut("stream", t.End, err)
	case t.Bookmark == 0:
		d.report(failed, "stream", "no event of a watch arrived in the 2 s before its end, where one was sent: a proxy before the gateway buffers streams", hint)
	default:
		d.report(ok, "stream", fmt.Sprintf("the first event of a watch arrives after %v, and the others when they happen", t.First.Round(time.Millisecond)), "")
		d.checkIdle(ctx, c, query)
	}
}

// checkIdle finds out whether a proxy closes an idle watch.
func (d *doctor) checkIdle(ctx context.Context, c *client.Client, query client.Query) {
	if d.idle == 0 {
		d.report(skipped, "idle", "--idle 2m finds out whether idle watches are cut", "")
		return
	}
	t, err := c.TimeStream(ctx, query, d.idle)
	if err != nil || t.End < d.idle-time.Second {
		d.reportCut("idle", t.End, err)
		return
	}
	d.report(ok, "idle", fmt.Sprintf("a watch with nothing but bookmarks is not cut within %v", d.idle), "")
}

func (d *doctor) reportCut(check string, lasted time.Duration, err error) {
	if err == nil {
		err = errors.New("it ended without an error")
	}
	d.report(failed, check, fmt.Sprintf("an idle watch was cut after %v (%v)", lasted.Round(100*time.Millisecond), err),
		"let the proxy before the gateway wait longer than the 45 s between two bookmarks; 2h suits watches without them too: "+d.proxy.timeouts)
}

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
