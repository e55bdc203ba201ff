package gateway

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"revtail/encoding/jsontext"
	"revtail/etcdstore"
	"revtail/gateway/resource"
	"revtail/gateway/watchcache"
)

// create creates the object in the body of a request.
func (s *store) create(ctx context.Context, wr *writeRequest) (writeResult, error) {
	d, err := wr.decode()
	if err != nil {
		return writeResult{}, err
	}
	return s.createObject(ctx, wr, d)
}

// createObject stores an object under a key that must not exist.
func (s *store) createObject(ctx context.Context, wr *writeRequest, d document) (writeResult, error) {
	generated := d.GetName() == "" && d.GetGenerateName() != ""
	if err := wr.prepareCreate(ctx, d); err != nil {
		return writeResult{}, err
	}
	if wr.Resource.Mount == nil { // its namespaces are parts of keys, not Namespaces
		if err := s.checkNamespace(ctx, wr.Ref, d.GetName()); err != nil {
			return writeResult{}, err
		}
	}
	var err error
	if wr.guard, err = s.catalog.guardCached(ctx, wr.Resource); err != nil {
		return writeResult{}, err
	}
	for attempt := 1; ; attempt++ {
		done := writeResult{scope: resource.Scope{Namespace: wr.Scope.Namespace, Name: d.GetName()}, created: true}
		done.value, done.revision, err = putObject(wr.Resource, d, func(value []byte) (etcdstore.Revision, error) {
			return s.put(ctx, wr, wr.Resource.Key(s.prefix, done.scope), value)
		})
		if !errors.Is(err, etcdstore.ErrExists) {
			return done, err
		}
		if !generated || attempt == nameAttempts {
			return done, s.exists(ctx, wr.target, done.scope)
		}
		generateName(d)
	}
}

// prepareCreate sets the fields that the server owns, and checks the others.
func (wr *writeRequest) prepareCreate(ctx context.Context, d document) error {
	switch d.GetResourceVersion() {
	case "", "0": // zero is none
		d.deleteMetadata("resourceVersion")
	default:
		return badRequest("resourceVersion should not be set on objects to be created")
	}
	if err := setNamespace(d, wr.Ref); err != nil {
		return err
	}
	d.deleteMetadata("selfLink", "deletionTimestamp", "deletionGracePeriodSeconds")
	d.metadata()["uid"] = uuid.NewString()
	d.metadata()["creationTimestamp"] = time.Now().UTC().Format(time.RFC3339)
	d.deleteMetadata("generation")
	if !wr.Resource.Ungenerated {
		d.metadata()["generation"] = int64(1)
	}
	if wr.Resource.Status {
		delete(d.Object, "status")
	}
	if d.GetName() == "" && d.GetGenerateName() != "" {
		generateName(d)
	}
	d.encodeStringData(wr.Resource)
	wr.updateManagedFields(emptyObject(wr.Resource), d)
	meta, err := d.typedMetadata()
	if err != nil {
		return cannotHandle(wr.Resource, err)
	}
	errs := validation.ValidateObjectMeta(meta, wr.Resource.Namespaced, wr.Resource.ValidateName, field.NewPath("metadata"))
	if wr.Resource.Schema != nil {
		errs = append(errs, wr.Resource.Schema.Validate(ctx, d.Object, nil)...)
	}
	if len(errs) > 0 {
		return apierrors.NewInvalid(wr.GroupKind(), d.GetName(), errs)
	}
	wr.warnFinalizers(nil, meta.Finalizers)
	return nil
}

// nameAttempts is how many generated names are tried before the client is told to try again.
const nameAttempts = 8

// put creates a key, or in a dry run checks that it does not exist.
func (s *store) put(ctx context.Context, wr *writeRequest, key string, value []byte) (etcdstore.Revision, error) {
	switch {
	case wr.dryRun:
		return 0, s.free(ctx, key)
	case wr.guard == (etcdstore.Guard{}):
		return s.etcd.Create(ctx, key, value)
	}
	for ctx := range attempts(ctx) {
		revision, err := s.etcd.CreateGuarded(ctx, key, value, wr.guard)
		if !errors.Is(err, etcdstore.ErrConflict) {
			return revision, err
		}
		if wr.guard, err = s.catalog.guardStored(ctx, wr.Resource); err != nil {
			return 0, err
		}
	}
	return 0, objectModified(wr.Ref)
}

// free returns ErrExists if a key exists.
func (s *store) free(ctx context.Context, key string) error {
	_, _, err := s.etcd.Get(ctx, key)
	if err == nil {
		return etcdstore.ErrExists
	}
	if errors.Is(err, etcdstore.ErrNotFound) {
		return nil
	}
	return err
}

// exists is the refusal of a create whose name is taken, maybe by an object that is being deleted.
func (s *store) exists(ctx context.Context, t target, scope resource.Scope) error {
	err := apierrors.NewAlreadyExists(t.GroupResource(), scope.Name)
	t.Scope = scope
	if object, failed := s.read(ctx, t); failed == nil && object != nil && isTerminating(object) {
		err.ErrStatus.Message = "object is being deleted: " + err.ErrStatus.Message
	}
	return err
}

// isTerminating reports whether an object is being deleted.
func isTerminating(object *watchcache.Object) bool {
	_, terminating := jsontext.Lookup(object.JSON, []string{"metadata", "deletionTimestamp"})
	return terminating
}
