package resource

import "context"

// Strategy completes and validates the objects of a kind before they are stored, as the strategies of kube-apiserver do: it sets defaults
// and generation, drops what a request cannot change, and checks the whole object. It is safe for concurrent use.
type Strategy interface {
	// Zero returns an object of the kind without a value in any field, as its Go type encodes it: the state before a create. The
	// caller does not change it.
	Zero() map[string]any
	// Create completes a new object, in place, which has its uid, creationTimestamp, name and namespace. It returns warnings for the
	// client, also with an error, which is a *apierrors.StatusError or says that a field has the wrong type.
	Create(ctx context.Context, object map[string]any) (warnings []string, err error)
	// Update completes the object that replaces old, in place, as a write of a subresource if that is not empty. It does not change old.
	Update(ctx context.Context, subresource string, object, old map[string]any) (warnings []string, err error)
}
