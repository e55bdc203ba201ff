package access

import (
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/gateway/access/authentication"
	"revtail/gateway/access/authorization"
	"revtail/gateway/http/status"
	"revtail/gateway/resource"
)

type callerKey struct{}

// Caller is who makes a request, and what it is that they ask for.
type Caller struct {
	Identity   *authentication.Identity
	attributes authorization.Request
	address    string // of the client
	generation uint64 // the generation of rights as of which the request was let in
}

// Account is whose the caller's watches are: nobody is known by being unknown, but an address is.
func (c *Caller) Account() string {
	if c.Identity.Name == authentication.AnonymousName {
		return c.Identity.Name + " " + c.address
	}
	return c.Identity.Name
}

// CallerOf is nil in a gateway that asks nobody who they are.
func CallerOf(r *http.Request) *Caller {
	c, _ := r.Context().Value(callerKey{}).(*Caller)
	return c
}

// identityOf is who makes a request.
func identityOf(r *http.Request) *authentication.Identity {
	if c := CallerOf(r); c != nil {
		return c.Identity
	}
	return authentication.Anonymous()
}

// Matches tells whether what a request has been let in for is what it is about. They are found in two ways, which must not come
// to differ.
func (c *Caller) Matches(t resource.Ref, group, plural string) error {
	asked := c.attributes
	if plural == "namespaces" && t.Scope.Namespace == "" {
		asked.Namespace = ""
	}
	named := t.Scope.Name == "" || asked.Name == t.Scope.Name
	if asked.Group == group && asked.Resource == plural && asked.Subresource == t.Subresource && asked.Namespace == t.Scope.Namespace && named {
		return nil
	}
	return &apierrors.StatusError{ErrStatus: *status.New(http.StatusForbidden, metav1.StatusReasonForbidden,
		"forbidden: this URL can be read in more than one way")}
}
