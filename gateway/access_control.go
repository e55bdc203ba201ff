package gateway

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
)

// control finds out who makes a request, lets it through for what its caller may do, and has written down what was done.
type control struct {
	responder      *responder
	logger         *slog.Logger
	authenticator  *authentication.Authenticator       // where nobody is asked who they are, everybody is anonymous
	policy         *reload.File[*authorization.Policy] // nil: everybody who is let in may do everything
	audit          *audit.Log                          // nil: nothing is written down
	authenticating bool                                // an authenticator is configured
}

// newControl returns a control. A nil authenticator lets everybody in as anonymous, a nil policy lets everybody who is let in do
// everything, and a nil log writes nothing down.
func newControl(responder *responder, logger *slog.Logger, authenticator *authentication.Authenticator, policy *reload.File[*authorization.Policy], log *audit.Log) *control {
	c := &control{responder: responder, logger: logger, authenticator: authenticator, policy: policy, audit: log, authenticating: authenticator != nil}
	if c.authenticator == nil {
		c.authenticator = authentication.New(authentication.Sources{Anonymous: true})
	}
	return c
}

// open tells whether everybody may do everything, and nobody wants to know who did.
func (a *control) open() bool {
	return !a.authenticating && a.policy == nil && a.audit == nil
}

// healthPaths are answered to everybody: who asks is a container runtime or a load balancer.
var healthPaths = []string{"/livez", "/readyz", "/healthz"}

// isPublic tells whether a request is answered to everybody: it is about health or the files of the console, which a browser asks
// for without a credential and which hold nothing of what is stored.
func isPublic(r *http.Request) bool {
	path := r.URL.Path
	if path == "/" {
		return wantsPage(r)
	}
	return slices.Contains(healthPaths, path) || strings.HasPrefix(path+"/", console.Path)
}

// admit lets requests through of those who are known, for what they may do. It stands before the routes: whether there is what
// a URL names is no business of others.
func (a *control) admit(next http.Handler) http.Handler {
	if a.open() {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isPublic(r) {
			next.ServeHTTP(w, r)
			return
		}
		as := a.generation()
		identity, err := a.authenticator.Authenticate(r)
		if err != nil {
			a.responder.refused.WithLabelValues(refusedUnauthenticated).Inc()
			unauthorized(w, r)
			return
		}
		c := &caller{identity: identity, asks: requestOf(r), address: hostOf(r.RemoteAddr), as: as}
		err = a.permit(c.identity, c.asks)
		requestLogOf(r).of(c)
		if err != nil {
			a.responder.refused.WithLabelValues(refusedForbidden).Inc()
			writeStatus(w, r, err)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, c)))
	})
}

// permit returns an error that is a Status where somebody may not do something.
func (a *control) permit(identity *authentication.Identity, asks authorization.Request) error {
	if a.policy == nil {
		return nil
	}
	if _, ok := a.policy.Get().Allows(identity.Name, identity.Groups, asks); ok {
		return nil
	}
	return asks.Forbidden(identity.Name)
}

// permitAlso checks what a request turns out to do besides.
func (a *control) permitAlso(c *caller, verb string) error {
	if c == nil {
		return nil
	}
	also := c.asks
	also.Verb = verb
	return a.permit(c.identity, also)
}

// judgeAgain is for a stream that recheck knows from now on: what has changed while it was opened may have passed it by.
func (a *control) judgeAgain(c *caller) error {
	if c == nil || c.as == a.generation() {
		return nil
	}
	return a.judge(c, time.Now())
}

// judge returns an error that is a Status when a stream must not go on.
func (a *control) judge(c *caller, now time.Time) error {
	if !c.identity.Holds(now) {
		return errUnauthorized
	}
	return a.permit(c.identity, c.asks)
}

// generation is another number when rights may have changed.
func (a *control) generation() (n uint64) {
	if a.policy != nil {
		n = a.policy.Generation()
	}
	return n + a.authenticator.Generation()
}

var errUnauthorized = apierrors.NewUnauthorized(authentication.ErrRefused.Error())

// unauthorized answers who is not known. A connection on which many such requests could come is ended.
func unauthorized(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("WWW-Authenticate", "Bearer")
	if r.ProtoMajor > 1 {
		w.Header().Set("Connection", "close")
	}
	writeStatus(w, r, errUnauthorized)
}
