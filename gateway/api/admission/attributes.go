package admission

import (
	apiserver "k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/apis/audit"
)

// attributes are those of a write, whose annotations go to the audit log.
type attributes struct {
	apiserver.Attributes
	client Client
}

// AddAnnotation implements apiserver.Attributes.
func (a attributes) AddAnnotation(key, value string) error {
	return a.AddAnnotationWithLevel(key, value, audit.LevelMetadata)
}

// AddAnnotationWithLevel implements apiserver.Attributes. Annotations of a higher level have contents of objects, which the audit log has not.
func (a attributes) AddAnnotationWithLevel(key, value string, level audit.Level) error {
	err := a.Attributes.AddAnnotationWithLevel(key, value, level) // which checks the key
	if err == nil && level == audit.LevelMetadata {
		a.client.Annotate(key, value)
	}
	return err
}
