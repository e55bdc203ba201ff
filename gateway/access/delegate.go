package access

import (
	"context"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/gateway/access/authentication"
	"revtail/gateway/access/authorization"
	"revtail/gateway/http/request"
	"revtail/gateway/http/status"
	"revtail/gateway/netio/stranger"
)

// Delegate decides about requests instead of a policy, for example by asking another server.
type Delegate interface {
	// Authorize returns nil if a user may make a request, a Status with 403 if not, and ErrUndecided or another Status with 503 if the delegate cannot
	// decide that.
	Authorize(identity *authentication.Identity, attributes authorization.Attributes) error
	// Kept reports whether the delegate has allowed a request so recently that the request stays allowed while the delegate cannot decide. It does not wait
	// for a decision.
	Kept(identity *authentication.Identity, attributes authorization.Attributes) bool
}

// undecidedRetry is when a client may ask again, in seconds.
const undecidedRetry = 5

// ErrUndecided is the Status of a request of which nobody can say at this moment who makes it, or whether that user may.
var ErrUndecided error = status.RetryableError(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable,
	"the kube-apiserver, which decides who may make this request, does not answer, and no recent decision is known: try again later; "+
		"/readyz?verbose names the problem", undecidedRetry)

// Identify authenticates requests that another server authorizes and answers. It sets the caller, whose identity is the one that the client has
// shown: impersonation is the other server's too. A refused credential is 401 here already.
func (c *Control) Identify(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		identity, byCertificate, err := c.Authenticator.Identify(r)
		if err != nil {
			c.refuseCredential(w, r, err)
			return
		}
		if identity.Name != authentication.AnonymousName {
			stranger.FromContext(r.Context()).Known()
		}
		caller := &Caller{Identity: identity, Real: identity, ByCertificate: byCertificate, info: request.ParseInfo(r), address: hostOf(r.RemoteAddr)}
		if l := RequestLogOf(r); l != nil {
			l.caller = caller
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, caller)))
	})
}

// Impersonates reports whether a request has the headers of impersonation.
func Impersonates(r *http.Request) bool { return impersonates(r) }

// MayImpersonate reports whether the user of a request may act as the one whom its headers name, as far as the verb impersonate is concerned.
func (c *Control) MayImpersonate(r *http.Request) bool {
	identity, _, err := c.Authenticator.Identify(r)
	if err != nil {
		return true // Authenticate answers with the error
	}
	caller := &Caller{Identity: identity, Real: identity}
	return c.impersonate(caller, r.Header) == nil
}
