package access

import (
	"context"
	"errors"
	"fmt"
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
	"revtail/gateway/netio/stranger"
)

// Control authenticates, authorizes and audits requests.
type Control struct {
	responder     *response.Responder
	logger        *slog.Logger
	Authenticator *authentication.Authenticator       // without a configured one, every request is anonymous
	policy        *reload.File[*authorization.Policy] // nil: authenticated requests may do everything, unless delegate is set
	delegate      Delegate                            // decides instead of policy; nil: policy does
	audit         *audit.Log                          // nil: no audit log
	unrestricted  bool                                // authentication, authorization and auditing are all off
}

// NewControl returns a Control. A nil authenticator makes every request anonymous, a nil policy allows everything to authenticated
// requests unless a delegate decides, and a nil log turns auditing off.
func NewControl(responder *response.Responder, logger *slog.Logger, authenticator *authentication.Authenticator, policy *reload.File[*authorization.Policy], delegate Delegate, log *audit.Log) *Control {
	c := &Control{responder: responder, logger: logger, Authenticator: authenticator, policy: policy, delegate: delegate, audit: log,
		unrestricted: authenticator == nil && policy == nil && delegate == nil && log == nil}
	if c.Authenticator == nil {
		c.Authenticator = authentication.New(authentication.Sources{Anonymous: true})
	}
	return c
}

// Unrestricted reports whether authentication, authorization and auditing are all off.
func (c *Control) Unrestricted() bool { return c.unrestricted }

// HealthPaths need no credentials, because container runtimes and load balancers have none.
var HealthPaths = []string{"/livez", "/readyz", "/healthz"}

// isPublic reports whether a request needs no credentials: a health check, or a file of the console, which holds no stored data.
func isPublic(r *http.Request) bool {
	path := r.URL.Path
	if path == "/" {
		return response.WantsHTML(r)
	}
	return slices.Contains(HealthPaths, path) || strings.HasPrefix(path+"/", console.Path) || path == console.IconPath
}

// Authenticate authenticates and authorizes requests. It runs before routing, so that 403 does not reveal whether a resource exists. It marks
// the connection of an authenticated request as known; if authentication, authorization and auditing are all off, that of every request.
func (c *Control) Authenticate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c.Unrestricted() && !impersonates(r) {
			stranger.FromContext(r.Context()).Known()
			next.ServeHTTP(w, r)
			return
		}
		if isPublic(r) {
			next.ServeHTTP(w, r)
			return
		}
		generation := c.Generation() // before the credentials and the policy are used
		identity, err := c.Authenticator.Authenticate(r)
		if err != nil {
			c.refuseCredential(w, r, err)
			return
		}
		stranger.FromContext(r.Context()).Known()
		caller := &Caller{Identity: identity, Real: identity, info: request.ParseInfo(r), address: hostOf(r.RemoteAddr), generation: generation}
		if l := RequestLogOf(r); l != nil {
			l.caller = caller
		}
		if impersonates(r) {
			err = c.impersonate(caller, r.Header)
		}
		if err == nil {
			err = c.Authorize(caller.Identity, caller.info.Attributes)
		}
		if err != nil {
			if apierrors.IsForbidden(err) {
				c.responder.Refused.WithLabelValues(status.RefusedForbidden).Inc()
			}
			writeRefusal(w, r, err)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, caller)))
	})
}

// refuseCredential answers a request whose user is not known.
func (c *Control) refuseCredential(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, authentication.ErrUnavailable) {
		response.WriteError(w, r, ErrUndecided)
		return
	}
	c.responder.Refused.WithLabelValues(status.RefusedUnauthenticated).Inc()
	w.Header().Set("WWW-Authenticate", "Bearer")
	if r.ProtoMajor > 1 {
		w.Header().Set("Connection", "close") // it ends a connection of HTTP/2, which could bring many such requests
	}
	response.WriteError(w, r, errUnauthorized)
}

// writeRefusal answers with a Status, but to the discovery of client-go with its message as text: client-go decodes no Status there, and kubectl
// would say "unknown".
func writeRefusal(w http.ResponseWriter, r *http.Request, err error) {
	if path := r.URL.Path; path != "/api" && path != "/apis" || !strings.Contains(r.Header.Get("Accept"), "g=apidiscovery.k8s.io") {
		response.WriteError(w, r, err)
		return
	}
	refusal := status.Of(err)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(int(refusal.Code))
	_, _ = fmt.Fprintln(w, refusal.Message) // the client may have gone away
}

// Authorize returns a Status, 403, unless a user may make a request, or 503 if that cannot be decided.
func (c *Control) Authorize(identity *authentication.Identity, attributes authorization.Attributes) error {
	if c.delegate != nil {
		return c.delegate.Authorize(identity, attributes)
	}
	if c.policy == nil {
		return nil
	}
	if _, ok := c.policy.Get().Allows(identity.Name, identity.Groups, attributes); ok {
		return nil
	}
	return attributes.Forbidden(identity.Name)
}

// AuthorizeVerb authorizes the request of a caller for a further verb, such as the create of a PUT to a missing object.
func (c *Control) AuthorizeVerb(caller *Caller, verb string) error {
	if caller == nil {
		return nil
	}
	attributes := caller.info.Attributes
	attributes.Verb = verb
	return c.Authorize(caller.Identity, attributes)
}

// RevalidateChanged is Revalidate if credentials or the policy have changed since Authenticate. A stream calls it when it is registered,
// because the revalidation of the registered streams has missed it.
func (c *Control) RevalidateChanged(caller *Caller) error {
	if caller == nil || caller.generation == c.Generation() {
		return nil
	}
	return c.Revalidate(caller, time.Now())
}

// MayHaveEnded reports whether an open stream of a caller must be revalidated although Generation has not changed.
func (c *Control) MayHaveEnded(caller *Caller, now time.Time) bool {
	return c.delegate != nil || caller.Identity.MayHaveEnded(now)
}

// Revalidate returns a Status, 401 or 403, if an open stream of a caller must end, or 503 if nobody can decide that any more.
func (c *Control) Revalidate(caller *Caller, now time.Time) error {
	if !caller.Identity.Holds(now) {
		return errUnauthorized
	}
	if err := c.authorizeImpersonation(caller); err != nil {
		return err
	}
	return c.Authorize(caller.Identity, caller.info.Attributes)
}

// Generation returns a number that changes when credentials or the policy may have changed.
func (c *Control) Generation() (n uint64) {
	if c.policy != nil {
		n = c.policy.Generation()
	}
	return n + c.Authenticator.Generation()
}

var errUnauthorized = apierrors.NewUnauthorized(authentication.ErrRefused.Error())
