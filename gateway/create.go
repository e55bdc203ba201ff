package gateway

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/google/uuid"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"revtail/etcdstore"
	"revtail/gateway/resource"
)

func (s *Server) serveCreate(w http.ResponseWriter, r *http.Request, t target) {
	s.serveWrite(w, r, t, func(ctx context.Context, wr *write) (written, error) {
		d, err := wr.decode()
		if err != nil {
			return written{}, err
		}
		return s.create(ctx, wr, d)
	})
}

// create stores a new object under a key that must not exist.
func (s *Server) create(ctx context.Context, wr *write, d document) (written, error) {
	generated := d.GetName() == "" && d.GetGenerateName() != ""
	if err := wr.prepareCreate(ctx, d); err != nil {
		return written{}, err
	}
	if wr.Resource.Mount == nil { // its namespaces are parts of keys, which no Namespace deletes
		if err := s.checkNamespace(ctx, wr.target, d.GetName()); err != nil {
			return written{}, err
		}
	}
	var err error
	if wr.guard, err = s.catalog.guardCached(ctx, wr.Resource); err != nil {
		return written{}, err
	}
	for attempt := 1; ; attempt++ {
		done := written{scope: resource.Scope{Namespace: wr.Scope.Namespace, Name: d.GetName()}, created: true}
		done.value, done.revision, err = d.store(wr.target, func(value []byte) (etcdstore.Revision, error) {
			return s.put(ctx, wr, s.key(wr.target, done.scope), value)
		})
		if !errors.Is(err, etcdstore.ErrExists) {
			return done, err
		}
		if !generated || attempt == nameAttempts {
			return done, s.exists(ctx, wr.target, done.scope)
		}
		d.generateName()
	}
}

// prepareCreate sets what the server sets, drops what it owns, and checks the rest.
func (wr *write) prepareCreate(ctx context.Context, d document) error {
	switch d.GetResourceVersion() {
	case "", "0": // zero is none
		d.drop("resourceVersion")
	default:
		return badRequest("resourceVersion should not be set on objects to be created")
	}
	if err := d.placeIn(wr.target); err != nil {
		return err
	}
	d.drop("selfLink", "deletionTimestamp", "deletionGracePeriodSeconds")
	d.metadata()["uid"] = uuid.NewString()
	d.metadata()["creationTimestamp"] = time.Now().UTC().Format(time.RFC3339)
	d.drop("generation")
	if !wr.Resource.Ungenerated {
		d.metadata()["generation"] = int64(1)
	}
	if wr.Resource.Status {
		delete(d.Object, "status")
	}
	if d.GetName() == "" && d.GetGenerateName() != "" {
		d.generateName()
	}
	d.keepStringData(wr.Resource)
	wr.track(wr.blank(), d)
	meta, err := d.meta()
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

// blank is an object of the resource in which nothing stands: what there was before a create.
func (t target) blank() document {
	return newDocument(map[string]any{"apiVersion": t.Resource.APIVersion(), "kind": t.Resource.Kind, "metadata": map[string]any{}})
}

// placeIn gives a document the namespace of the URL, and refuses another one. Where the resource has none, the document loses
// the one it says.
func (d document) placeIn(t target) error {
	switch {
	case !t.Resource.Namespaced:
		d.drop("namespace")
		return nil
	case d.GetNamespace() == t.Scope.Namespace:
		return nil
	case d.GetNamespace() == "":
		d.SetNamespace(t.Scope.Namespace)
		return nil
	}
	return badRequest("the namespace of the provided object does not match the namespace sent on the request")
}

const (
	// generated names get letters that spell nothing and are not mistaken for one another
	nameLetters   = "bcdfghjklmnpqrstvwxz2456789"
	nameSuffix    = 5
	maxNamePrefix = 63 - nameSuffix
	// nameAttempts is how many generated names are tried before the client is told to try again.
	nameAttempts = 8
)

func (d document) generateName() {
	base := d.GetGenerateName()
	name := []byte(base[:min(len(base), maxNamePrefix)])
	for range nameSuffix {
		name = append(name, nameLetters[rand.IntN(len(nameLetters))])
	}
	d.SetName(string(name))
}

// put creates a key, or in a dry run only finds out whether it could.
func (s *Server) put(ctx context.Context, wr *write, key string, value []byte) (etcdstore.Revision, error) {
	switch {
	case wr.dryRun:
		return 0, s.free(ctx, key)
	case wr.guard == (etcdstore.Guard{}):
		return s.options.Store.Create(ctx, key, value)
	}
	for ctx := range attempts(ctx) {
		revision, err := s.options.Store.CreateGuarded(ctx, key, value, wr.guard)
		if !errors.Is(err, etcdstore.ErrConflict) {
			return revision, err
		}
		if wr.guard, err = s.catalog.guardStored(ctx, wr.Resource); err != nil {
			return 0, err
		}
	}
	return 0, conflict(wr.target)
}

// free tells whether a key does not exist.
func (s *Server) free(ctx context.Context, key string) error {
	_, _, err := s.options.Store.Get(ctx, key)
	switch {
	case err == nil:
		return etcdstore.ErrExists
	case errors.Is(err, etcdstore.ErrNotFound):
		return nil
	}
	return err
}

// exists is the refusal of a create whose name is taken, maybe only for as long as its owner takes to go away.
func (s *Server) exists(ctx context.Context, t target, scope resource.Scope) error {
	err := apierrors.NewAlreadyExists(t.GroupResource(), scope.Name)
	t.Scope = scope
	standing := &attempt{}
	var failed error
	if standing.object, failed = s.read(ctx, t); failed == nil {
		failed = standing.decode(t)
	}
	if failed == nil && standing.old.GetDeletionTimestamp() != nil {
		err.ErrStatus.Message = "object is being deleted: " + err.ErrStatus.Message
	}
	return err
}
