package middleware

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"revtail/gateway/http/response"
	"revtail/gateway/http/status"
)

// A browser sends requests with the rights of its user, also for pages of other origins. The handlers of this file restrict such pages:
// RefuseForeignHosts refuses a Host that is not a name of this server, on loopback, RefuseCrossOriginWrites accepts writes only from pages of
// this server and of Chain.Origins, AllowOrigins lets only pages of Chain.Origins read responses, and RefuseCrossOrigin refuses even reads.

// CheckHost is RefuseForeignHosts if c.Anonymous is set. Otherwise it does nothing, because a foreign page needs a credential.
func (c *Chain) CheckHost(next http.Handler) http.Handler {
	if !c.Anonymous {
		return next
	}
	return c.RefuseForeignHosts(next)
}

// RefuseForeignHosts answers 403 to a request on a loopback address or a unix socket whose Host is neither localhost, a loopback address nor
// one of c.Hosts, because a foreign page can make its own name resolve to loopback (DNS rebinding), where a unix socket may be forwarded to. A
// request to another address may have any Host.
func (c *Chain) RefuseForeignHosts(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isLocal(r) && !c.knowsHost(r.Host) {
			c.Responder.Refused.WithLabelValues(status.RefusedHost).Inc()
			response.Forbidden(w, r, "the Host of the request is not a name of this server: if it is, say so with --allowed-hosts")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isLocal reports whether a request has come to an address that only this machine can reach.
func isLocal(r *http.Request) bool {
	switch local := r.Context().Value(http.LocalAddrContextKey).(type) {
	case *net.TCPAddr:
		return local.IP.IsLoopback()
	case *net.UnixAddr:
		return true
	}
	return false
}

// knowsHost reports whether a Host, with or without a port, is a name of this server. An empty Host is.
func (c *Chain) knowsHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	} else if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		host = host[1 : len(host)-1]
	}
	host = strings.ToLower(host)
	ip, err := netip.ParseAddr(host)
	return host == "" || host == "localhost" || err == nil && ip.IsLoopback() || slices.Contains(c.Hosts, host)
}

// exposedHeaders are the response headers that a page of another origin can read.
const exposedHeaders = "Age, Audit-Id, ETag, Location, Retry-After, Warning, " + response.RevisionHeader + ", " + response.TimeHeader

// AllowOrigins lets pages of c.Origins read responses (CORS). It answers a preflight request itself, with 204 and before authentication,
// because a browser sends no credential with it.
func (c *Chain) AllowOrigins(next http.Handler) http.Handler {
	if len(c.Origins) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Add("Vary", "Origin")
		origin := r.Header.Get("Origin")
		if !slices.Contains(c.Origins, origin) {
			next.ServeHTTP(w, r)
			return
		}
		h.Set("Access-Control-Allow-Origin", origin)
		if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
			h.Set("Access-Control-Expose-Headers", exposedHeaders)
			next.ServeHTTP(w, r)
			return
		}
		h.Set("Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, PATCH, DELETE")
		h.Set("Access-Control-Allow-Headers", "Accept, Authorization, Content-Type, If-Match, If-None-Match, Last-Event-ID, Traceparent, Tracestate")
		h.Set("Access-Control-Max-Age", "600")
		w.WriteHeader(http.StatusNoContent)
	})
}

// RefuseCrossOriginWrites answers 403 to a write that a browser sends for a page of another origin, unless c.Origins has the origin.
func (c *Chain) RefuseCrossOriginWrites(next http.Handler) http.Handler {
	protection := http.NewCrossOriginProtection()
	for _, origin := range c.Origins {
		_ = protection.AddTrustedOrigin(origin) // gateway.New has checked the origins
	}
	protection.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.Responder.Refused.WithLabelValues(status.RefusedOrigin).Inc()
		response.Forbidden(w, r, "a page of another origin cannot write here: name its origin with --cors-allowed-origins if it may")
	}))
	return protection.Handler(next)
}

// RefuseCrossOrigin answers 403 to any request that a browser sends for a page of another origin, also to a GET and whatever c.Origins says,
// because the requests of operators cost the server much.
func (c *Chain) RefuseCrossOrigin(next http.Handler) http.Handler {
	protection := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		write := *r
		write.Method = http.MethodPost // Check accepts every read
		if protection.Check(&write) != nil {
			c.Responder.Refused.WithLabelValues(status.RefusedOrigin).Inc()
			response.Forbidden(w, r, "a page or a link of another origin cannot send requests here: open the address itself")
			return
		}
		next.ServeHTTP(w, r)
	})
}
