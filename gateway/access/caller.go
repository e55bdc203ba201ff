package access

import (
	"net/http"

	"revtail/gateway/access/authentication"
	"revtail/gateway/http/request"
)

type callerKey struct{}

// Caller is an authenticated user, or the anonymous one, and the request that Authenticate has authorized for it.
type Caller struct {
	Identity   *authentication.Identity
	info       *request.Info
	address    string // of the client
	generation uint64 // of the credentials and the policy, when the request was authorized
}

// Account is the key that the caller's watches are counted under: the user name, and for anonymous users also the address.
func (c *Caller) Account() string {
	if c.Identity.Name == authentication.AnonymousName {
		return c.Identity.Name + " " + c.address
	}
	return c.Identity.Name
}

// AccountOf returns the Account of the caller of a request or, if there is none, the address of the client.
func AccountOf(r *http.Request) string {
	if c := CallerOf(r); c != nil {
		return c.Account()
	}
	return hostOf(r.RemoteAddr)
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
