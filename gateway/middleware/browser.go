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

// What a browser may do is what the person in front of it may do, and pages of others run in it. Three things keep them off:
// names that are not this server's are not answered on loopback, writes have to come from its own pages, or from origins that
// are named, and so has whoever wants to read.

// CheckHost refuses names that lead to loopback by somebody else's doing (DNS rebinding), where requests are let in without a
// credential. A request that reaches another address may have any name.
func (c *Chain) CheckHost(next http.Handler) http.Handler {
	if !c.Anonymous {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isLoopback(r.Context().Value(http.LocalAddrContextKey)) && !c.knowsHost(r.Host) {
			c.Responder.Refused.WithLabelValues(status.RefusedHost).Inc()
			response.Forbidden(w, r, "the Host of the request is not a name of this server: if it is, say so with --allowed-hosts")
			return
		}
		next.ServeHTTP(w, r)
	})
}

func isLoopback(address any) bool {
	tcp, ok := address.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

func (c *Chain) knowsHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	ip, err := netip.ParseAddr(host)
	return host == "" || host == "localhost" || err == nil && ip.IsLoopback() || slices.Contains(c.Hosts, host)
}

// exposedHeaders are those of answers that a page of another origin gets to see.
const exposedHeaders = "Age, Audit-Id, ETag, Location, Retry-After, Warning, " + response.RevisionHeader + ", " + response.TimeHeader

// AllowOrigins lets pages of the origins that are named read answers (CORS). A browser asks before it makes such a request;
// it cannot send a credential with that.
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

// RefuseCrossOriginWrites refuses writes that a browser makes for a page of another origin, unless it is one that is named.
func (c *Chain) RefuseCrossOriginWrites(next http.Handler) http.Handler {
	protection := http.NewCrossOriginProtection()
	for _, origin := range c.Origins {
		_ = protection.AddTrustedOrigin(origin) // New has checked them
	}
	protection.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.Responder.Refused.WithLabelValues(status.RefusedOrigin).Inc()
		response.Forbidden(w, r, "a page of another origin cannot write here: name its origin with --cors-allowed-origins if it may")
	}))
	return protection.Handler(next)
}
