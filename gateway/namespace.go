package gateway

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/encoding"
	"revtail/gateway/api/garbage"
)

// deleteNamespace removes a namespace that is empty, and marks another one for the garbage collector to empty: it is then
// returned. From then on nothing can be created in it.
func (s *Server) deleteNamespace(ctx context.Context, t target, a *attempt, dryRun bool) ([]byte, error) {
	old, object := a.old, a.object
	if old.GetDeletionTimestamp() != nil {
		return object.JSON, nil
	}
	if !dryRun && len(old.GetFinalizers()) == 0 {
		removed, err := s.collector.RemoveEmpty(ctx, &garbage.Object{Key: s.key(t, t.Scope), Name: t.Scope.Name, Revision: object.Revision})
		if removed || err != nil {
			return nil, err
		}
	}
	if err := s.checkDeletable(t); err != nil {
		return nil, err
	}
	marked := old.copy()
	marked.metadata()["deletionTimestamp"] = time.Now().UTC().Format(time.RFC3339)
	status, ok := marked.Object["status"].(map[string]any)
	if !ok {
		status = map[string]any{}
		marked.Object["status"] = status
	}
	status["phase"] = string(corev1.NamespaceTerminating)
	done, err := s.replace(ctx, &write{target: t, writeParams: writeParams{dryRun: dryRun}}, marked, a)
	if err != nil {
		return nil, err
	}
	// The client's next create comes after this. If the cache does not hear of it in time, what is created is deleted with the
	// rest.
	_ = t.cache.WaitUntil(ctx, done.revision)
	return done.object(t)
}

// checkNamespace refuses to create an object in a namespace that is being deleted. A namespace of which there is no object is
// as good as any.
func (s *Server) checkNamespace(ctx context.Context, t target, name string) error {
	if t.Scope.Namespace == "" {
		return nil
	}
	namespace, err := s.namespaces.Get(ctx, t.Scope.Namespace, 0)
	if err != nil || namespace == nil {
		return err
	}
	if _, terminating := encoding.Lookup(namespace.JSON, []string{"metadata", "deletionTimestamp"}); !terminating {
		return nil
	}
	refusal := apierrors.NewForbidden(t.GroupResource(), name, fmt.Errorf(
		"unable to create new content in namespace %s because it is being terminated", t.Scope.Namespace))
	refusal.ErrStatus.Details.Causes = append(refusal.ErrStatus.Details.Causes, metav1.StatusCause{
		Type:    corev1.NamespaceTerminatingCause,
		Message: fmt.Sprintf("namespace %s is being terminated", t.Scope.Namespace),
		Field:   "metadata.namespace",
	})
	return refusal
}
