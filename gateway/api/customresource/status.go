package customresource

import (
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Status returns the status that a definition should have with a conflict of Accept. A condition that does not change keeps its time, so
// that the result equals the definition's status if nothing changes.
func (d *Definition) Status(conflict Conflict) apiextensionsv1.CustomResourceDefinitionStatus {
	next := &apiextensionsv1.CustomResourceDefinition{Status: *d.V1.Status.DeepCopy()}
	set := func(kind apiextensionsv1.CustomResourceDefinitionConditionType, status apiextensionsv1.ConditionStatus, reason, message string) {
		apihelpers.SetCRDCondition(next, apiextensionsv1.CustomResourceDefinitionCondition{Type: kind, Status: status, Reason: reason, Message: message})
	}
	if conflict == (Conflict{}) {
		next.Status.AcceptedNames = d.V1.Spec.Names
		set(apiextensionsv1.NamesAccepted, apiextensionsv1.ConditionTrue, "NoConflicts", "no conflicts found")
		set(apiextensionsv1.Established, apiextensionsv1.ConditionTrue, "InitialNamesAccepted", "the initial names have been accepted")
	} else {
		set(apiextensionsv1.NamesAccepted, apiextensionsv1.ConditionFalse, conflict.Reason, conflict.Message)
		if !d.Established() {
			set(apiextensionsv1.Established, apiextensionsv1.ConditionFalse, "NotAccepted", "not all names are accepted")
		}
	}
	if d.V1.DeletionTimestamp != nil {
		set(apiextensionsv1.Terminating, apiextensionsv1.ConditionTrue, "InstanceDeletionInProgress", "the objects of the resource are being deleted")
	}
	if storage := d.storageVersion(); storage != "" && !slices.Contains(next.Status.StoredVersions, storage) {
		next.Status.StoredVersions = append(next.Status.StoredVersions, storage)
	}
	return next.Status
}

// Established reports whether the status of a definition says that its versions are served.
func (d *Definition) Established() bool {
	return apihelpers.IsCRDConditionTrue(d.V1, apiextensionsv1.Established)
}

// Serves reports whether a definition has a served version of this name.
func (d *Definition) Serves(version string) bool {
	return apihelpers.HasServedCRDVersion(d.V1, version)
}
