package storage

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/etcdstore"
	"revtail/gateway/api/catalog"
	"revtail/gateway/api/garbage"
	"revtail/gateway/api/object"
	"revtail/gateway/http/status"
	"revtail/gateway/resource"
)

// deleteNamespace deletes an empty namespace. It sets the deletionTimestamp of another namespace, which the garbage collector or another program
// then empties, and returns it. No object can be created in a terminating namespace.
func (s *Store) deleteNamespace(ctx context.Context, t catalog.Target, a *updateAttempt, dryRun bool) ([]byte, error) {
	old, object := a.old, a.object
	if slices.Contains(s.systemNamespaces(), t.Scope.Name) && t.Scope.Name != corev1.NamespaceNodeLease && !s.Claim.State().IsForeign() { // as in a cluster
		return nil, apierrors.NewForbidden(t.GroupResource(), t.Scope.Name, errors.New("this namespace may not be deleted"))
	}
	if old.GetDeletionTimestamp() != nil {
		return object.JSON, nil
	}
	if !dryRun && !s.CollectedElsewhere {
		removed, err := s.Collector.RemoveEmpty(ctx, &garbage.Object{Name: t.Scope.Name, Revision: object.Revision, JSON: object.JSON})
		if removed || err != nil {
			return nil, err
		}
	}
	if err := s.checkDeletable(t.Ref); err != nil {
		return nil, err
	}
	marked := old.Copy()
	marked.Metadata()["deletionTimestamp"] = time.Now().UTC().Format(time.RFC3339)
	status, ok := marked.Object["status"].(map[string]any)
	if !ok {
		status = map[string]any{}
		marked.Object["status"] = status
	}
	status["phase"] = string(corev1.NamespaceTerminating)
	if s.CollectedElsewhere && len(marked.SpecFinalizers()) == 0 { // the other program empties what has its finalizer, and removes that at the end
		marked.Object["spec"] = map[string]any{"finalizers": []any{string(corev1.FinalizerKubernetes)}}
	}
	done, err := s.replace(ctx, &Request{Target: t, Options: Options{DryRun: dryRun}}, marked, a)
	if err != nil {
		return nil, err
	}
	// The client's next create must fail. If the cache lags behind for too long, the garbage collector deletes the created object.
	_ = t.Cache.WaitUntil(ctx, done.revision)
	return done.Object(t)
}

// isFinalized reports whether a request removes the last finalizer from the spec of a terminating Namespace, which deletes it, whatever is
// in it.
func (wr *Request) isFinalized(next object.Object) bool {
	return wr.Subresource == resource.FinalizeSubresource && len(next.SpecFinalizers()) == 0
}

// checkNamespace refuses to create an object in a terminating namespace. The Namespace need not exist.
func (s *Store) checkNamespace(ctx context.Context, ref resource.Ref, name string) error {
	if ref.Scope.Namespace == "" {
		return nil
	}
	namespace, err := s.namespaces.Get(ctx, ref.Scope.Namespace, 0)
	if err != nil || namespace == nil || !namespace.Terminating() {
		return err
	}
	return object.NamespaceTerminating(ref, name)
}

// RequireNamespace refuses to create something in a namespace without a Namespace, if these are required. It reads etcd before it does, because
// another replica may have created the Namespace a moment ago. Those of the system come with the object.
func (s *Store) RequireNamespace(ctx context.Context, ref resource.Ref) error {
	name := ref.Scope.Namespace
	if !s.RequireNamespaces || name == "" || ref.Resource.Mount != nil || s.namespaces.Peek(name) != nil ||
		slices.Contains(s.systemNamespaces(), name) && !s.Claim.State().IsForeign() {
		return nil
	}
	_, _, err := s.Etcd.Get(ctx, s.namespacesOf().Key(s.Prefix, resource.Scope{Name: name}))
	if errors.Is(err, etcdstore.ErrNotFound) {
		return apierrors.NewNotFound(corev1.Resource("namespaces"), name)
	}
	return err
}

// checkDeletable refuses to delete an object with other objects in it if the data is not revtail's own, because revtail then deletes no
// object without a client's request.
func (s *Store) checkDeletable(ref resource.Ref) error {
	if !s.Claim.State().IsForeign() {
		return nil
	}
	return status.Error(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed, fmt.Sprintf(
		"%s %q holds other objects, and revtail deletes nothing without a client's request under %s, whose data is not its own: delete what it holds first, or start revtail with --adopt",
		ref.Resource.QualifiedName(), ref.Scope.Name, s.Prefix))
}
