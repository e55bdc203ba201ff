package access

import (
	"net/http"

	"revtail/gateway/access/authentication"
	"revtail/gateway/access/authorization"
	"revtail/gateway/http/request"
)

type callerKey struct{}

// Caller is an authenticated user, or the anonymous one, and the request that Authenticate has authorized for it.
type Caller struct {
	Identity *authentication.Identity // whose rights the request has
	Real     *authentication.Identity // who has made it; another than Identity if it impersonates
	info     *request.Info

	ByCertificate bool // Identify has found Identity in a certificate

	impersonating []authorization.Attributes // the rights for that; nil: it does not

	address    string // of the client
	generation uint64 // of the credentials and the policy, when the request was authorized
}

// AccountOf returns whom a request counts for, in packages cputime and flowcontrol: the name of the user, for anonymous users followed by the
// address, and without authentication the address alone. A request that impersonates counts for the user who has made it.
func AccountOf(r *http.Request) string {
	c := CallerOf(r)
	switch {
	case c == nil:
		return hostOf(r.RemoteAddr)
	case c.Real.Name == authentication.AnonymousName:
		return c.Real.Name + " " + c.address
	}
	return c.Real.Name
}

// CallerOf returns the caller of a request; nil: authentication, authorization and auditing are off, or the path is public.
func CallerOf(r *http.Request) *Caller {
	c, _ := r.Context().Value(callerKey{}).(*Caller)
	return c
}

// InfoOf returns what a request asks for: the same as Authenticate has authorized.
func InfoOf(r *http.Request) *request.Info {
	if c := CallerOf(r); c != nil {
		return c.info
	}
	return request.ParseInfo(r)
}

// identityOf returns the user that makes a request.
func identityOf(r *http.Request) *authentication.Identity {
	if c := CallerOf(r); c != nil {
		return c.Identity
	}
	return authentication.Anonymous()
}
