package admission

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	apiserver "k8s.io/apiserver/pkg/admission"

	"revtail/gateway/api/kinds"
)

// builtin is an admission plugin of Kubernetes' own repository, which reads objects in their internal types.
type builtin struct{ apiserver.Interface }

// ValidateInitialization implements apiserver.InitializationValidator.
func (b builtin) ValidateInitialization() error { return apiserver.ValidateInitialization(b.Interface) }

// Handles implements apiserver.Interface. None of these plugins decides about a deletion.
func (b builtin) Handles(operation apiserver.Operation) bool {
	return operation != apiserver.Delete && b.Interface.Handles(operation)
}

// builtins are the builtins that look at a write. They share the conversion of its objects.
type builtins []builtin

// Handles implements apiserver.Interface.
func (bs builtins) Handles(operation apiserver.Operation) bool {
	for _, b := range bs {
		if b.Handles(operation) {
			return true
		}
	}
	return false
}

// Admit implements apiserver.MutationInterface.
func (bs builtins) Admit(ctx context.Context, a apiserver.Attributes, o apiserver.ObjectInterfaces) error {
	internal, err := newInternalAttributes(a)
	if err != nil {
		return err
	}
	for _, b := range bs {
		if m, ok := b.Interface.(apiserver.MutationInterface); ok && b.Handles(a.GetOperation()) {
			if err = m.Admit(ctx, internal, o); err != nil {
				return err
			}
		}
	}
	return kinds.SetInternal(a.GetObject(), internal.object)
}

// Validate implements apiserver.ValidationInterface.
func (bs builtins) Validate(ctx context.Context, a apiserver.Attributes, o apiserver.ObjectInterfaces) error {
	internal, err := newInternalAttributes(a)
	if err != nil {
		return err
	}
	for _, b := range bs {
		if v, ok := b.Interface.(apiserver.ValidationInterface); ok && b.Handles(a.GetOperation()) {
			if err = v.Validate(ctx, internal, o); err != nil {
				return err
			}
		}
	}
	return nil
}

// internalAttributes are those of a write of a builtin kind, with its objects in their internal types.
type internalAttributes struct {
	apiserver.Attributes
	object, old runtime.Object
}

func newInternalAttributes(a apiserver.Attributes) (out internalAttributes, err error) {
	out.Attributes = a
	if out.object, err = kinds.Internal(a.GetObject()); err != nil {
		return out, err
	}
	if out.old, err = kinds.Internal(a.GetOldObject()); err != nil { // another program has stored what is no object of the kind
		out.old, err = out.object.DeepCopyObject(), nil
	}
	return out, err
}

// GetObject implements apiserver.Attributes.
func (a internalAttributes) GetObject() runtime.Object { return a.object }

// GetOldObject implements apiserver.Attributes.
func (a internalAttributes) GetOldObject() runtime.Object { return a.old }
