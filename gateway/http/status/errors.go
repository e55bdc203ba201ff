package status

import (
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/gateway/resource"
)

// ErrDraining is the cause by which a stream ends when the server shuts down.
var ErrDraining = errors.New("the gateway is shutting down")

// ErrInternal is answered in place of a panic.
var ErrInternal = errors.New("internal error")

// ErrNoKeysPath answers a path below /v1 that has no handler.
var ErrNoKeysPath = Error(http.StatusNotFound, metav1.StatusReasonNotFound,
	"there is nothing here: the keys API is at /v1/keys and /v1/txn, and described at /v1/openapi.json")

var errModified = errors.New("the object has been modified; please apply your changes to the latest version and try again")

// ObjectNotFound answers a request for an object that does not exist.
func ObjectNotFound(ref resource.Ref) error {
	return apierrors.NewNotFound(ref.GroupResource(), ref.Scope.Name)
}

// ObjectModified answers a write that is based on an older state of the object.
func ObjectModified(ref resource.Ref) error {
	return apierrors.NewConflict(ref.GroupResource(), ref.Scope.Name, errModified)
}

// NoSubresource answers a request for a subresource that the resource does not have.
func NoSubresource(ref resource.Ref) error {
	err := Error(http.StatusNotFound, metav1.StatusReasonNotFound,
		fmt.Sprintf("%s %q has no subresource %q", ref.Resource.QualifiedName(), ref.Scope.Name, ref.Subresource))
	err.ErrStatus.Details = &metav1.StatusDetails{Name: ref.Scope.Name, Group: ref.Resource.Group, Kind: ref.Resource.Plural}
	return err
}
