package access

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"revtail/gateway/access/audit"
	"revtail/gateway/access/authentication"
	"revtail/gateway/access/authorization"
	"revtail/gateway/config/reload"
	"revtail/gateway/console"
	"revtail/gateway/http/request"
	"revtail/gateway/http/response"
	"revtail/gateway/http/status"
)

// Control finds out who makes a request, lets it through for what its caller may do, and has written down what was done.
type Control struct {
	responder      *response.Responder
	logger         *slog.Logger
	Authenticator  *authentication.Authenticator       // where nobody is asked who they are, everybody is anonymous
	policy         *reload.File[*authorization.Policy] // nil: everybody who is let in may do everything
	audit          *audit.Log                          // nil: nothing is written down
	authenticating bool                                // an authenticator is configured
}

// NewControl returns a control. A nil authenticator lets everybody in as anonymous, a nil policy lets everybody who is let in do
// everything, and a nil log writes nothing down.
func NewControl(responder *response.Responder, logger *slog.Logger, authenticator *authentication.Authenticator, policy *reload.File[*authorization.Policy], log *audit.Log) *Control {
	c := &Control{responder: responder, logger: logger, Authenticator: authenticator, policy: policy, audit: log, authenticating: authenticator != nil}
	if c.Authenticator == nil {
		c.Authenticator = authentication.New(authentication.Sources{Anonymous: true})
	}
	return c
}

// Unrestricted tells whether everybody may do everything, and nobody wants to know who did.
func (a *Control) Unrestricted() bool {
	return !a.authenticating && a.policy == nil && a.audit == nil
}

// HealthPaths are answered to everybody: who asks is a container runtime or a load balancer.
var HealthPaths = []string{"/livez", "/readyz", "/healthz"}

// isPublic tells whether a request is answered to everybody: it is about health or the files of the console, which a browser asks
// for without a credential and which hold nothing of what is stored.
func isPublic(r *http.Request) bool {
	path := r.URL.Path
	if path == "/" {
		return response.WantsHTML(r)
	}
	return slices.Contains(HealthPaths, path) || strings.HasPrefix(path+"/", console.Path)
}

// Authenticate lets requests through of those who are known, for what they may do. It stands before the routes: whether there is what
// a URL names is no business of others.
func (a *Control) Authenticate(next http.Handler) http.Handler {
	if a.Unrestricted() {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isPublic(r) {
			next.ServeHTTP(w, r)
			return
		}
		as := a.Generation()
		identity, err := a.Authenticator.Authenticate(r)
		if err != nil {
			a.responder.Refused.WithLabelValues(status.RefusedUnauthenticated).Inc()
			unauthorized(w, r)
			return
		}
		c := &Caller{Identity: identity, info: request.ParseInfo(r), address: hostOf(r.RemoteAddr), generation: as}
		err = a.Authorize(c.Identity, c.info.Attributes)
		RequestLogOf(r).setCaller(c)
		if err != nil {
			a.responder.Refused.WithLabelValues(status.RefusedForbidden).Inc()
			response.WriteError(w, r, err)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, c)))
	})
}

// Authorize returns an error that is a Status where somebody may not do something.
func (a *Control) Authorize(identity *authentication.Identity, asks authorization.Attributes) error {
	if a.policy == nil {
		return nil
	}
	if _, ok := a.policy.Get().Allows(identity.Name, identity.Groups, asks); ok {
		return nil
	}
	return asks.Forbidden(identity.Name)
}

// AuthorizeVerb checks what a request turns out to do besides.
func (a *Control) AuthorizeVerb(c *Caller, verb string) error {
	if c == nil {
		return nil
	}
	also := c.info.Attributes
	also.Verb = verb
	return a.Authorize(c.Identity, also)
}

// RevalidateChanged is for a stream that recheck knows from now on: what has changed while it was opened may have passed it by.
func (a *Control) RevalidateChanged(c *Caller) error {
	if c == nil || c.generation == a.Generation() {
		return nil
	}
	return a.Revalidate(c, time.Now())
}

// Revalidate returns an error that is a Status when a stream must not go on.
func (a *Control) Revalidate(c *Caller, now time.Time) error {
	if !c.Identity.Holds(now) {
		return errUnauthorized
	}
	return a.Authorize(c.Identity, c.info.Attributes)
}

// Generation is another number when rights may have changed.
func (a *Control) Generation() (n uint64) {
	if a.policy != nil {
		n = a.policy.Generation()
	}
	return n + a.Authenticator.Generation()
}

var errUnauthorized = apierrors.NewUnauthorized(authentication.ErrRefused.Error())

// unauthorized answers who is not known. A connection on which many such requests could come is ended.
func unauthorized(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("WWW-Authenticate", "Bearer")
	if r.ProtoMajor > 1 {
		w.Header().Set("Connection", "close")
	}
	response.WriteError(w, r, errUnauthorized)
}
