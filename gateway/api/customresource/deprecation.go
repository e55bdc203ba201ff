package customresource

import (
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/version"
)

// deprecation returns the warning for the clients of a version: the definition's or, if that has none, one that names the newest version.
// Empty: the version is not deprecated.
func (d *Definition) deprecation(deprecated *apiextensionsv1.CustomResourceDefinitionVersion) string {
	if !deprecated.Deprecated {
		return ""
	}
	if deprecated.DeprecationWarning != nil {
		return *deprecated.DeprecationWarning
	}
	group, kind, better := d.V1.Spec.Group, d.V1.Spec.Names.Kind, deprecated.Name
	for _, v := range d.V1.Spec.Versions {
		if v.Served && !v.Deprecated && version.CompareKubeAwareVersionStrings(v.Name, better) > 0 {
			better = v.Name
		}
	}
	warning := fmt.Sprintf("%s/%s %s is deprecated", group, deprecated.Name, kind)
	if better != deprecated.Name {
		warning += fmt.Sprintf("; use %s/%s %s", group, better, kind)
	}
	return warning
}
