package storage

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"revtail/etcdstore"
	"revtail/gateway/api/catalog"
	"revtail/gateway/api/object"
	"revtail/gateway/http/status"
	"revtail/gateway/resource"
)

// Create creates the object in the body of a request.
func (s *Store) Create(ctx context.Context, wr *Request) (Result, error) {
	d, err := wr.Decode()
	if err != nil {
		return Result{}, err
	}
	return s.createObject(ctx, wr, d)
}

// createObject stores an object under a key that must not exist.
func (s *Store) createObject(ctx context.Context, wr *Request, d object.Object) (done Result, err error) {
	wr.allocation = s.beginAllocation(wr)
	defer func() { wr.allocation.Finish(done.revision, err) }()
	generated := d.GetName() == "" && d.GetGenerateName() != ""
	err = object.SetNamespace(d, wr.Ref)
	if err == nil {
		err = s.RequireNamespace(ctx, wr.Ref)
	}
	if err == nil {
		wr.review, err = s.Admission.Begin(ctx, wr.Ref)
	}
	if err == nil {
		err = wr.prepareCreate(ctx, d)
	}
	if err == nil && wr.Resource.Mount == nil { // its namespaces are parts of keys, not Namespaces
		err = s.checkNamespace(ctx, wr.Ref, d.GetName())
	}
	if err != nil {
		return Result{}, err
	}
	wr.namespaces = s.missingNamespaces(wr.Ref, d.GetName())
	if wr.guard, err = s.Catalog.GuardCached(ctx, wr.Resource); err != nil {
		return Result{}, err
	}
	for attempt := 1; ; attempt++ {
		if err = wr.review.Confirm(ctx, wr.Sent, d, object.Object{}); err != nil {
			return Result{}, err
		}
		done = Result{scope: resource.Scope{Namespace: wr.Scope.Namespace, Name: d.GetName()}, Created: true}
		done.value, done.revision, err = putObject(wr.Resource, d, func(value []byte) (etcdstore.Revision, error) {
			return s.put(ctx, wr, wr.Resource.Key(s.Prefix, done.scope), value)
		})
		if !errors.Is(err, etcdstore.ErrExists) {
			return done, err
		}
		if !generated || attempt == nameAttempts {
			return done, s.exists(ctx, wr.Target, done.scope)
		}
		object.GenerateName(d)
	}
}

// prepareCreate sets the fields that the server owns, and validates the object.
func (wr *Request) prepareCreate(ctx context.Context, d object.Object) error {
	version := d.GetResourceVersion()
	d.DeleteMetadata("resourceVersion")
	if err := object.SetNamespace(d, wr.Ref); err != nil {
		return err
	}
	d.DeleteMetadata("selfLink", "deletionTimestamp", "deletionGracePeriodSeconds", "generation")
	if err := wr.admit(ctx, d, object.Object{}); err != nil {
		return err
	}
	if err := object.SetNamespace(d, wr.Ref); err != nil {
		return err
	}
	d.Metadata()["uid"] = uuid.NewString()
	d.Metadata()["creationTimestamp"] = time.Now().UTC().Format(time.RFC3339)
	if d.GetName() == "" && d.GetGenerateName() != "" {
		object.GenerateName(d)
	}
	if err := object.CheckSize(d, object.Empty(wr.Resource)); err != nil {
		return err
	}
	if err := wr.allocation.Create(ctx, d.Object); err != nil {
		return err
	}
	check := wr.checkCreate
	if wr.Resource.Strategy != nil {
		check = wr.createByStrategy
	}
	if err := check(ctx, d); err != nil {
		return err
	}
	if version != "" && version != "0" && !wr.DryRun { // the last check, as in a cluster, whose store makes it
		return status.BadRequest("resourceVersion should not be set on objects to be created")
	}
	wr.updateManagedFields(object.Zero(wr.Resource), d)
	return nil
}

// checkCreate completes and validates a new object of a kind without a strategy.
func (wr *Request) checkCreate(ctx context.Context, d object.Object) error {
	if !wr.Resource.Ungenerated {
		d.Metadata()["generation"] = int64(1)
	}
	if wr.Resource.Status {
		delete(d.Object, "status")
	}
	meta, err := d.TypedMetadata()
	if err != nil {
		return object.CannotHandle(wr.Resource, err)
	}
	errs := validation.ValidateObjectMeta(meta, wr.Resource.Namespaced, wr.Resource.ValidateName, field.NewPath("metadata"))
	if err := wr.validateSchema(ctx, &errs, d.Object, nil); err != nil {
		return err
	}
	if len(errs) > 0 {
		return apierrors.NewInvalid(wr.GroupKind(), d.GetName(), errs)
	}
	wr.Warnings.AddFinalizers(meta.Finalizers)
	return nil
}

// nameAttempts bounds the attempts of a create with a generated name.
const nameAttempts = 8

// put creates a key; in a dry run it checks that the key does not exist.
func (s *Store) put(ctx context.Context, wr *Request, key string, value []byte) (etcdstore.Revision, error) {
	switch {
	case wr.DryRun:
		_, _, err := s.Etcd.Get(ctx, key)
		if errors.Is(err, etcdstore.ErrNotFound) {
			return 0, nil
		}
		return 0, cmp.Or(err, etcdstore.ErrExists)
	case len(wr.namespaces) > 0:
		if revision, created, err := s.createWithNamespaces(ctx, wr, key, value); created || err != nil {
			return revision, err
		}
		wr.namespaces = nil // another request has created one, or the key exists: the create itself tells
		return s.put(ctx, wr, key, value)
	case wr.guard == (etcdstore.Guard{}):
		return s.Etcd.Create(ctx, key, value)
	}
	for ctx := range attempts(ctx) {
		revision, err := s.Etcd.CreateGuarded(ctx, key, value, wr.guard)
		if !errors.Is(err, etcdstore.ErrConflict) {
			return revision, err
		}
		if wr.guard, err = s.Catalog.GuardStored(ctx, wr.Resource); err != nil {
			return 0, err
		}
	}
	return 0, status.ObjectModified(wr.Ref)
}

// exists returns the error of a create whose name another object has. It says whether that object is being deleted.
func (s *Store) exists(ctx context.Context, t catalog.Target, scope resource.Scope) error {
	err := apierrors.NewAlreadyExists(t.GroupResource(), scope.Name)
	t.Scope = scope
	if object, _, failed := s.read(ctx, t); failed == nil && object != nil && object.Terminating() {
		err.ErrStatus.Message = "object is being deleted: " + err.ErrStatus.Message
	}
	return err
}
