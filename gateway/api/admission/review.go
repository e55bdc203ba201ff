package admission

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiserver "k8s.io/apiserver/pkg/admission"
	genericrequest "k8s.io/apiserver/pkg/endpoints/request"

	"revtail/gateway/resource"
)

// Review is the decision about a write of a client.
type Review struct {
	ref     resource.Ref
	kind    schema.GroupVersionKind
	objects *objects
	client  Client
	mutate  []apiserver.MutationInterface
	confirm []apiserver.ValidationInterface
}

func newReview(ctx context.Context, c *Chain, ref resource.Ref, active []apiserver.Interface) *Review {
	view := ref.ViewKind()
	r := &Review{
		ref: ref, kind: schema.GroupVersionKind{Group: view.Group, Version: view.Version, Kind: view.Kind},
		objects: newObjects(view, c.Catalog.Current().Registry), client: clientOf(ctx),
	}
	for _, handler := range joined(active) {
		if m, ok := handler.(apiserver.MutationInterface); ok {
			r.mutate = append(r.mutate, m)
		}
		if v, ok := handler.(apiserver.ValidationInterface); ok {
			r.confirm = append(r.confirm, v)
		}
	}
	return r
}

// joined returns handlers with the builtins, which are the first ones, as one.
func joined(active []apiserver.Interface) []apiserver.Interface {
	var first builtins
	for _, handler := range active {
		if b, ok := handler.(builtin); ok {
			first = append(first, b)
		}
	}
	if first == nil {
		return active
	}
	return append([]apiserver.Interface{first}, active[len(first):]...)
}

// handles reports whether any of some handlers decides about an operation.
func handles[T apiserver.Interface](handlers []T, operation apiserver.Operation) bool {
	return slices.ContainsFunc(handlers, func(handler T) bool { return handler.Handles(operation) })
}

// change lets policies and webhooks change the new object of a write, and returns it; nil: none does. The error is a Status.
func (r *Review) change(ctx context.Context, w write) (map[string]any, error) {
	if !handles(r.mutate, w.operation) {
		return nil, nil
	}
	a, err := r.attributes(ctx, w)
	if err != nil {
		return nil, err
	}
	var before runtime.Object
	if a.GetObject() != nil {
		before = a.GetObject().DeepCopyObject()
	}
	err = r.admit(ctx, a)
	if again := a.GetReinvocationContext(); err == nil && again.ShouldReinvoke() {
		again.SetIsReinvoke()
		err = r.admit(ctx, a)
	}
	if err != nil || before == nil || equality.Semantic.DeepEqual(before, a.GetObject()) {
		return nil, err
	}
	return content(a.GetObject())
}

func (r *Review) admit(ctx context.Context, a apiserver.Attributes) error {
	for _, m := range r.mutate {
		if !m.Handles(a.GetOperation()) {
			continue
		}
		if err := m.Admit(ctx, a, r.objects); err != nil {
			return err
		}
	}
	return nil
}

// validate refuses a write that a policy or a webhook refuses. The error is a Status.
func (r *Review) validate(ctx context.Context, w write) error {
	if !handles(r.confirm, w.operation) {
		return nil
	}
	a, err := r.attributes(ctx, w)
	if err != nil {
		return err
	}
	for _, v := range r.confirm {
		if !v.Handles(a.GetOperation()) {
			continue
		}
		if err := v.Validate(ctx, a, r.objects); err != nil {
			return err
		}
	}
	return nil
}

func (r *Review) attributes(ctx context.Context, w write) (apiserver.Attributes, error) {
	next, err := r.objects.typed(w.next)
	if err != nil {
		return nil, err
	}
	old, err := r.objects.typed(w.old)
	if err != nil { // another program has stored what is no object of the kind; it can be replaced and deleted
		old = untyped(w.old, r.kind)
	}
	user, _ := genericrequest.UserFrom(ctx)
	record := apiserver.NewAttributesRecord(next, old, r.kind, w.namespace, w.name,
		schema.GroupVersionResource{Group: r.ref.Resource.Group, Version: r.ref.Resource.Version, Resource: r.ref.Resource.Plural}, r.ref.Subresource,
		w.operation, w.options, w.dryRun, user)
	return attributes{record, r.client}, nil
}
