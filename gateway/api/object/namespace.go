package object

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/gateway/resource"
)

// NamespaceTerminating returns the refusal of a new object in a Namespace that is being deleted.
func NamespaceTerminating(ref resource.Ref, name string) error {
	refusal := apierrors.NewForbidden(ref.GroupResource(), name, fmt.Errorf(
		"unable to create new content in namespace %s because it is being terminated", ref.Scope.Namespace))
	refusal.ErrStatus.Details.Causes = append(refusal.ErrStatus.Details.Causes, metav1.StatusCause{
		Type:    corev1.NamespaceTerminatingCause,
		Message: fmt.Sprintf("namespace %s is being terminated", ref.Scope.Namespace),
		Field:   "metadata.namespace",
	})
	return refusal
}
