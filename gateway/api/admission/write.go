package admission

import (
	"context"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apiserver "k8s.io/apiserver/pkg/admission"

	"revtail/gateway/api/object"
	"revtail/gateway/resource"
)

// write is one attempt of a write. Its objects are in the representation of the URL.
type write struct {
	operation       apiserver.Operation
	namespace, name string // no name: the server makes it, or the request is for a collection
	next, old       map[string]any
	options         runtime.Object // of the operation
	dryRun          bool
}

// Options are those of a create or an update, as the client has sent them.
type Options = metav1.UpdateOptions

// Admit lets policies and webhooks change a new object, in place, before it is completed and validated; old is the zero Object for a create. Before
// they do, it sets the defaults of the object and calls record, which records the fields of the client's manager: as in kube-apiserver, what
// they change has no manager. It reports whether it has called record. A nil Review admits everything, and so do the methods below.
func (r *Review) Admit(ctx context.Context, options Options, next, old object.Object, record func()) (recorded bool, err error) {
	if r == nil || len(r.mutate) == 0 {
		return false, nil
	}
	sent := maps.Clone(next.Object)
	delete(sent, "metadata") // nothing shows what is empty there
	if err = r.setDefaults(next); err != nil {
		return false, object.CannotHandle(r.ref.Resource, err)
	}
	record()
	w, err := r.writeOf(options, next, old)
	if err != nil {
		return true, err
	}
	changed, err := r.change(ctx, w)
	if err != nil {
		return true, err
	}
	defer func() {
		if r.objects.view.GoType != nil && r.ref.Subresource != resource.ScaleSubresource {
			keepEmpties(sent, next.Object)
		}
	}()
	if changed == nil {
		return true, nil
	}
	if r.ref.Subresource == resource.ScaleSubresource {
		scaled, err := object.ApplyView(r.ref, next, object.New(changed))
		if err == nil {
			maps.Copy(next.Object, scaled.Object)
		}
		return true, err
	}
	managed := next.Metadata()["managedFields"]
	clear(next.Object)
	maps.Copy(next.Object, changed)
	if next.DeleteMetadata("managedFields"); managed != nil {
		next.Metadata()["managedFields"] = managed
	}
	return true, nil
}

// setDefaults sets the defaults of an object of a built-in kind. Custom resources have theirs.
func (r *Review) setDefaults(next object.Object) error {
	if r.objects.view.GoType == nil || r.ref.Subresource == resource.ScaleSubresource {
		return nil
	}
	typed, err := r.objects.typed(next.Object)
	if err != nil {
		return err
	}
	defaulted, err := content(typed)
	if err == nil {
		clear(next.Object)
		maps.Copy(next.Object, defaulted)
	}
	return err
}

// Confirm refuses a completed object that a policy or a webhook refuses; old is the zero Object for a create. The error is a Status.
func (r *Review) Confirm(ctx context.Context, options Options, next, old object.Object) error {
	if r == nil {
		return nil
	}
	w, err := r.writeOf(options, next, old)
	if err != nil {
		return err
	}
	return r.validate(ctx, w)
}

// ConfirmDelete refuses a deletion that a policy or a webhook refuses. named is the name in the request, empty for a collection.
func (r *Review) ConfirmDelete(ctx context.Context, options *metav1.DeleteOptions, named string, old object.Object) error {
	if r == nil {
		return nil
	}
	sent := options.DeepCopy()
	sent.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("DeleteOptions"))
	w := write{
		operation: apiserver.Delete, namespace: old.GetNamespace(), name: named, old: old.Object, dryRun: len(options.DryRun) > 0, options: sent}
	if _, err := r.change(ctx, w); err != nil {
		return err
	}
	return r.validate(ctx, w)
}

// writeOf returns a create or an update, in the representation of the URL.
func (r *Review) writeOf(sent Options, next, old object.Object) (write, error) {
	w := write{namespace: r.ref.Scope.Namespace, name: next.GetName(), next: next.Object, dryRun: len(sent.DryRun) > 0}
	if old.Unstructured == nil {
		options := &metav1.CreateOptions{DryRun: sent.DryRun, FieldManager: sent.FieldManager, FieldValidation: sent.FieldValidation}
		options.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("CreateOptions"))
		w.operation, w.options = apiserver.Create, options
		return w, nil
	}
	options := sent.DeepCopy()
	options.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("UpdateOptions"))
	w.operation, w.options, w.old = apiserver.Update, options, old.Object
	if r.ref.Subresource != resource.ScaleSubresource {
		return w, nil
	}
	after, err := object.CopyView(r.ref, next)
	if err != nil {
		return w, err
	}
	before, err := object.CopyView(r.ref, old)
	w.next, w.old = after.Object, before.Object
	return w, err
}
