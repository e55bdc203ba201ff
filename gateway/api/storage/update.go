package storage

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"revtail/etcdstore"
	"revtail/gateway/api/object"
	"revtail/gateway/http/request"
	"revtail/gateway/http/status"
	"revtail/gateway/resource"
)

// Update replaces an object, or a part of it, by the one in the body of a request.
func (s *Store) Update(ctx context.Context, wr *Request) (Result, error) {
	d, err := wr.Decode()
	if err == nil {
		err = wr.prepareUpdate(d)
	}
	if err != nil {
		return Result{}, err
	}
	replace := func(old object.Object) (object.Object, error) { return object.ApplyView(wr.Ref, old, d.ShallowCopy()) }
	if !wr.Resource.CreateOnUpdate || wr.Subresource != "" || d.GetResourceVersion() != "" {
		return s.Change(ctx, wr, replace)
	}
	return s.updateOrCreate(ctx, wr, replace, func() (object.Object, error) { return d.ShallowCopy(), nil })
}

// prepareUpdate checks that a new object has the name of the URL and a valid resourceVersion.
func (wr *Request) prepareUpdate(d object.Object) error {
	err := wr.checkName(d)
	if err == nil {
		_, _, err = request.ParseRevision(d.GetResourceVersion())
	}
	return err
}

func (wr *Request) checkName(d object.Object) error {
	switch d.GetName() {
	case wr.Scope.Name:
		return object.SetNamespace(d, wr.Ref)
	case "":
		return status.BadRequest("the name of the object (%s based on URL) was undeterminable: name must be provided", wr.Scope.Name)
	}
	return status.BadRequest("the name of the object (%s) does not match the name on the URL (%s)", d.GetName(), wr.Scope.Name)
}

// updateOrCreate updates an object or, if it does not exist, creates the one that first returns.
func (s *Store) updateOrCreate(ctx context.Context, wr *Request, change func(object.Object) (object.Object, error), first func() (object.Object, error)) (Result, error) {
	for ctx := range attempts(ctx) {
		done, err := s.Change(ctx, wr, change)
		if !apierrors.IsNotFound(err) {
			return done, err
		}
		if wr.Permit != nil {
			if err = wr.Permit("create"); err != nil {
				return Result{}, err
			}
		}
		d, err := first()
		if err != nil {
			return Result{}, err
		}
		done, err = s.createObject(ctx, wr, d)
		if !apierrors.IsAlreadyExists(err) {
			return done, err
		}
	}
	return Result{}, status.ObjectModified(wr.Ref)
}

// Change changes an object. change returns a new object for the stored one, which it must not modify; it is called again after a
// conflicting write. A new object with a resourceVersion replaces only that version.
func (s *Store) Change(ctx context.Context, wr *Request, change func(object.Object) (object.Object, error)) (done Result, err error) {
	warnings := len(wr.Warnings)
	if wr.review, err = s.Admission.Begin(ctx, wr.Ref); err != nil {
		return Result{}, err
	}
	wr.allocation = s.beginAllocation(wr)
	err = s.guaranteedUpdate(ctx, wr.Target, !wr.DryRun, func(a *updateAttempt) (failed error) {
		if !a.shown() {
			return status.ObjectNotFound(wr.Ref)
		}
		defer func() { wr.allocation.Finish(done.revision, failed) }()
		wr.Warnings = wr.Warnings[:warnings]
		next, failed := change(a.old)
		if failed == nil {
			failed = ctx.Err() // the client has left
		}
		if failed == nil {
			failed = wr.admit(ctx, next, a.old)
		}
		if failed == nil {
			failed = wr.prepareForUpdate(ctx, next, a.old)
		}
		if failed == nil {
			failed = wr.review.Confirm(ctx, wr.Sent, next, a.old)
		}
		if failed != nil {
			return failed
		}
		done, failed = s.replace(ctx, wr, next, a)
		return failed
	})
	return done, err
}

// prepareForUpdate sets the fields of a new object that the server owns, and validates the update.
func (wr *Request) prepareForUpdate(ctx context.Context, next, old object.Object) error {
	switch next.GetResourceVersion() {
	case old.GetResourceVersion():
	case "", "0":
		if !wr.Resource.UnconditionalUpdate && wr.Subresource != resource.ScaleSubresource {
			return apierrors.NewInvalid(wr.PluralAsKind(), wr.Scope.Name, field.ErrorList{ // the resource for the kind, as in kube-apiserver
				field.Invalid(field.NewPath("metadata", "resourceVersion"), 0, "must be specified for an update")})
		}
	default:
		return status.ObjectModified(wr.Ref)
	}
	if wr.recorded { // admission may have changed it
		if err := object.SetNamespace(next, wr.Ref); err != nil {
			return err
		}
	}
	if err := wr.checkUID(next, old); err != nil {
		return err
	}
	next.CopyMetadata(old, "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "resourceVersion")
	next.DeleteMetadata("selfLink")
	if err := object.CheckSize(next, old); err != nil {
		return err
	}
	if err := wr.allocation.Update(ctx, next.Object, old.Object); err != nil {
		return err
	}
	check := wr.checkUpdate
	if wr.Resource.Strategy != nil {
		check = wr.updateByStrategy
	}
	if err := check(ctx, next, old); err != nil {
		return err
	}
	wr.updateManagedFields(old, next)
	return nil
}

// checkUID refuses an update of an object with another uid. In a patch, which was applied to the stored object, a uid is a change of an
// immutable field.
func (wr *Request) checkUID(next, old object.Object) error {
	uid := next.GetUID()
	switch {
	case uid == "" || uid == old.GetUID():
		return nil
	case wr.PatchType != "":
		return apierrors.NewInvalid(wr.GroupKind(), wr.Scope.Name, field.ErrorList{
			field.Invalid(field.NewPath("metadata", "uid"), uid, "field is immutable")})
	}
	return apierrors.NewConflict(wr.GroupResource(), wr.Scope.Name, fmt.Errorf(
		"the UID in the object (%s) is not that of the stored one (%s): it has been deleted and created again", uid, old.GetUID()))
}

// checkUpdate completes and validates the object that replaces old, of a kind without a strategy.
func (wr *Request) checkUpdate(ctx context.Context, next, old object.Object) error {
	if !wr.Resource.Ungenerated && !next.SameSpec(old, !wr.Resource.Status) {
		next.Metadata()["generation"] = old.GetGeneration() + 1
	}
	var errs field.ErrorList
	if !next.KeepsMetadata(old) {
		var err error
		if errs, err = wr.checkMetadata(next, old); err != nil {
			return object.CannotHandle(wr.Resource, err)
		}
	}
	if wr.Subresource == resource.FinalizeSubresource {
		errs = append(errs, object.ValidateSpecFinalizers(next.SpecFinalizers())...)
	}
	if err := wr.validateSchema(ctx, &errs, next.Object, old.Object); err != nil {
		return err
	}
	if len(errs) > 0 {
		return apierrors.NewInvalid(wr.GroupKind(), wr.Scope.Name, errs)
	}
	return nil
}

// checkMetadata validates the metadata of a new object, and warns of new finalizers. The error names a field of a wrong type.
func (wr *Request) checkMetadata(next, old object.Object) (field.ErrorList, error) {
	meta, err := next.TypedMetadata()
	if err != nil {
		return nil, err
	}
	oldMeta, err := old.TypedMetadata()
	if err != nil {
		// Another program stored metadata of wrong types, which clients must be able to replace.
		oldMeta = &metav1.ObjectMeta{Name: meta.Name, Namespace: meta.Namespace, UID: meta.UID, ResourceVersion: meta.ResourceVersion,
			CreationTimestamp: meta.CreationTimestamp}
	}
	errs := validation.ValidateObjectMetaUpdate(meta, oldMeta, field.NewPath("metadata"))
	if added := object.NewFinalizers(oldMeta.Finalizers, meta.Finalizers); len(added) > 0 {
		errs = append(errs, validation.ValidateFinalizers(meta.Finalizers, field.NewPath("metadata", "finalizers"))...)
		wr.Warnings.AddFinalizers(added)
	}
	return errs, nil
}

// replace stores a new object. It writes nothing if nothing changes, except an object that is to be encrypted with another key. It deletes a terminating object without finalizers, except a
// namespace, which the garbage collector deletes when it is empty, or a client by its finalize subresource.
func (s *Store) replace(ctx context.Context, wr *Request, next object.Object, a *updateAttempt) (Result, error) {
	put := func(value []byte) (etcdstore.Revision, error) { return s.putKey(ctx, a, wr.Ref, value) }
	last := object.IsLast(next) && (!wr.IsNamespace() || wr.isFinalized(next))
	stays := func([]byte) (etcdstore.Revision, error) { return a.object.Revision, nil }
	if wr.Resource.Mount != nil {
		return s.replaceMounted(ctx, wr, next, a)
	}
	switch {
	case !last && next.SameAs(a.old) && !a.stale:
		next, put = a.old, stays
	case wr.DryRun:
		put = stays
	case last:
		put = func([]byte) (etcdstore.Revision, error) { return s.deleteKey(ctx, a, wr.Ref) }
	}
	value, revision, err := putObject(wr.Resource, next, put)
	return Result{scope: wr.Scope, value: value, revision: revision}, err
}
