package upstream

import (
	"context"
	"errors"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/gateway/access"
	"revtail/gateway/http/request"
	"revtail/gateway/http/response"
	"revtail/gateway/http/status"
)

// retryAfter is when a client may try again, in seconds.
const retryAfter = 5

// errGateway is the error of an answer that no kube-apiserver has given.
var errGateway = errors.New("a load balancer answers in the place of the kube-apiserver")

// The Statuses of requests that were not answered. They do not name addresses, which the log has.
var (
	errAway = status.RetryableError(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable,
		"the kube-apiserver does not answer, and this server answers only reads of resources without it: try again later; /readyz?verbose names the problem", retryAfter)
	errLost = status.Error(http.StatusBadGateway, metav1.StatusReasonInternalError,
		"the connection to the kube-apiserver broke after the request was sent: it may have been carried out; read the object before you try again")
	errLate = status.Error(http.StatusGatewayTimeout, metav1.StatusReasonTimeout,
		"the kube-apiserver has not answered in time: the request may have been carried out; read the object before you try again")
	errAt = status.Error(http.StatusNotImplemented, metav1.StatusReason("NotImplemented"),
		"the kube-apiserver answers this request, and does not know at=, which is for gets, lists and watches of stored objects that no webhook converts, by users with a credential")
	errEnding       = status.RetryableError(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, "the server is shutting down", 1)
	errNoFrontProxy = status.Error(http.StatusNotImplemented, metav1.StatusReason("NotImplemented"),
		"the kube-apiserver does not accept this server as a front proxy, so that requests with a client certificate cannot be forwarded: "+
			"use a token, or correct --proxy-client-cert-file; the server's log has the reason")
)

// refuseAt refuses a request for the past, which the kube-apiserver would answer with the present. A proxy request is passed on: its query is that of
// another server.
func refuseAt(r *http.Request) error {
	about := access.InfoOf(r).Attributes
	switch {
	case about.Resource == "", about.Subresource == "proxy", !request.Query(r).Has("at"):
		return nil
	case r.Method != http.MethodGet:
		return status.BadRequest("at= is for gets, lists and watches of stored objects: leave it out")
	}
	return errAt
}

// fail answers a request that the kube-apiserver has not answered.
func (p *Proxy) fail(w http.ResponseWriter, r *http.Request, e *exchange, err error) {
	p.count(0)
	switch cause := context.Cause(r.Context()); {
	case errors.Is(err, errFrontProxy):
		response.WriteError(w, r, errNoFrontProxy)
	case errors.Is(cause, errDraining):
		response.WriteError(w, r, errEnding)
	case errors.Is(cause, errNoHeader):
		p.Suspect()
		response.WriteError(w, r, errLate)
	case cause != nil: // the client went away, or has sent only a part of its body
		panic(http.ErrAbortHandler)
	case r.Method != http.MethodGet && e.sent.Load() && !errors.Is(err, errGateway):
		p.unanswered(r, err)
		response.WriteError(w, r, errLost) // without Retry-After, at which clients would send a write once more
	default:
		p.unanswered(r, err)
		if !p.serveKept(w, r) {
			response.WriteError(w, r, errAway)
		}
	}
}

func (p *Proxy) unanswered(r *http.Request, err error) {
	p.Suspect()
	p.Logger.Debug("the kube-apiserver has not answered", "method", r.Method, "path", r.URL.Path, "error", err)
}
