package customresource

import (
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Status is the status that a definition should have, given what Accept decided. now stamps the conditions that change; where
// nothing does, the result equals the status that the definition has.
func (d *Definition) Status(conflict Conflict, now time.Time) apiextensionsv1.CustomResourceDefinitionStatus {
	status := *d.V1.Status.DeepCopy()
	set := func(kind apiextensionsv1.CustomResourceDefinitionConditionType, is bool, reason, message string) {
		status.Conditions = setCondition(status.Conditions, apiextensionsv1.CustomResourceDefinitionCondition{
			Type: kind, Status: conditionStatus(is), Reason: reason, Message: message, LastTransitionTime: metav1.Time{Time: now.Truncate(time.Second)}})
	}
	if conflict == (Conflict{}) {
		status.AcceptedNames = d.V1.Spec.Names
		set(apiextensionsv1.NamesAccepted, true, "NoConflicts", "no conflicts found")
		set(apiextensionsv1.Established, true, "InitialNamesAccepted", "the initial names have been accepted")
	} else {
		set(apiextensionsv1.NamesAccepted, false, conflict.Reason, conflict.Message)
		if !isTrue(status.Conditions, apiextensionsv1.Established) {
			set(apiextensionsv1.Established, false, "NotAccepted", "not all names are accepted")
		}
	}
	if d.V1.DeletionTimestamp != nil {
		set(apiextensionsv1.Terminating, true, "InstanceDeletionInProgress", "the objects of the resource are being deleted")
	}
	if storage := d.storageVersion(); storage != "" && !slices.Contains(status.StoredVersions, storage) {
		status.StoredVersions = append(status.StoredVersions, storage)
	}
	return status
}

func conditionStatus(is bool) apiextensionsv1.ConditionStatus {
	if is {
		return apiextensionsv1.ConditionTrue
	}
	return apiextensionsv1.ConditionFalse
}

// setCondition replaces the condition of the same type. One that says the same already stays as it is, with its time.
func setCondition(conditions []apiextensionsv1.CustomResourceDefinitionCondition, c apiextensionsv1.CustomResourceDefinitionCondition) []apiextensionsv1.CustomResourceDefinitionCondition {
	i := slices.IndexFunc(conditions, func(held apiextensionsv1.CustomResourceDefinitionCondition) bool { return held.Type == c.Type })
	if i < 0 {
		return append(conditions, c)
	}
	if held := conditions[i]; held.Status == c.Status {
		c.LastTransitionTime = held.LastTransitionTime
	}
	conditions[i] = c
	return conditions
}

func isTrue(conditions []apiextensionsv1.CustomResourceDefinitionCondition, kind apiextensionsv1.CustomResourceDefinitionConditionType) bool {
	return slices.ContainsFunc(conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
		return c.Type == kind && c.Status == apiextensionsv1.ConditionTrue
	})
}

// Established tells whether a definition's status says that its versions are served.
func (d *Definition) Established() bool {
	return isTrue(d.V1.Status.Conditions, apiextensionsv1.Established)
}

// Serves tells whether a definition has a version that is served.
func (d *Definition) Serves(version string) bool {
	return slices.ContainsFunc(d.V1.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return v.Name == version && v.Served
	})
}
