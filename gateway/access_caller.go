package gateway

import (
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/gateway/access/authentication"
	"revtail/gateway/access/authorization"
	"revtail/gateway/resource"
)

type callerKey struct{}

// caller is who makes a request, and what it is that they ask for.
type caller struct {
	identity *authentication.Identity
	asks     authorization.Request
	address  string // of the client
	as       uint64 // the generation of rights as of which the request was let in
}

// account is whose the caller's watches are: nobody is known by being unknown, but an address is.
func (c *caller) account() string {
	if c.identity.Name == authentication.AnonymousName {
		return c.identity.Name + " " + c.address
	}
	return c.identity.Name
}

// callerOf is nil in a gateway that asks nobody who they are.
func callerOf(r *http.Request) *caller {
	c, _ := r.Context().Value(callerKey{}).(*caller)
	return c
}

// identityOf is who makes a request.
func identityOf(r *http.Request) *authentication.Identity {
	if c := callerOf(r); c != nil {
		return c.identity
	}
	return authentication.Anonymous()
}

// covers tells whether what a request has been let in for is what it is about. They are found in two ways, which must not come
// to differ.
func (c *caller) covers(t resource.Ref, group, plural string) error {
	asked := c.asks
	if plural == "namespaces" && t.Scope.Namespace == "" {
		asked.Namespace = ""
	}
	named := t.Scope.Name == "" || asked.Name == t.Scope.Name
	if asked.Group == group && asked.Resource == plural && asked.Subresource == t.Subresource && asked.Namespace == t.Scope.Namespace && named {
		return nil
	}
	return &apierrors.StatusError{ErrStatus: *newStatus(http.StatusForbidden, metav1.StatusReasonForbidden,
		"forbidden: this URL can be read in more than one way")}
}
