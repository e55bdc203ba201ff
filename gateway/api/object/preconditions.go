package object

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"revtail/gateway/resource"
)

// CheckPreconditions returns the conflict of a deletion whose preconditions an object with a uid and a resourceVersion does not meet.
func CheckPreconditions(ref resource.Ref, p *metav1.Preconditions, uid types.UID, version string) error {
	if p == nil {
		return nil
	}
	if p.UID != nil && *p.UID != uid {
		return apierrors.NewConflict(ref.KindAsResource(), ref.Scope.Name, fmt.Errorf(
			"the UID in the precondition (%s) does not match the UID in record (%s). The object might have been deleted and then recreated", *p.UID, uid))
	}
	if p.ResourceVersion != nil && *p.ResourceVersion != version {
		return apierrors.NewConflict(ref.KindAsResource(), ref.Scope.Name, fmt.Errorf(
			"the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s). The object might have been modified", *p.ResourceVersion, version))
	}
	return nil
}
