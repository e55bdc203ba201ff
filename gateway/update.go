package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"revtail/etcdstore"
	"revtail/gateway/resource"
)

var errModified = errors.New("the object has been modified; please apply your changes to the latest version and try again")

func (s *Server) serveUpdate(w http.ResponseWriter, r *http.Request, t target) {
	s.serveWrite(w, r, t, func(ctx context.Context, wr *write) (written, error) {
		d, err := wr.decode()
		if err == nil {
			err = wr.prepareUpdate(d)
		}
		if err != nil {
			return written{}, err
		}
		replace := func(old document) (document, error) { return wr.embed(old, d.shallowCopy()) }
		if !t.Resource.CreateOnUpdate || t.Subresource != "" || d.GetResourceVersion() != "" {
			return s.update(ctx, wr, replace)
		}
		return s.updateOrCreate(ctx, wr, replace, func() (document, error) { return d.shallowCopy(), nil })
	})
}

// prepareUpdate checks that a new state is about the object of the URL, and names what it is based on as a revision.
func (wr *write) prepareUpdate(d document) error {
	err := wr.checkName(d)
	if err == nil {
		_, _, err = parseRevision(d.GetResourceVersion())
	}
	return err
}

func (wr *write) checkName(d document) error {
	switch d.GetName() {
	case wr.Scope.Name:
		return d.placeIn(wr.target)
	case "":
		return badRequest("the name of the object (%s based on URL) was undeterminable: name must be provided", wr.Scope.Name)
	}
	return badRequest("the name of the object (%s) does not match the name on the URL (%s)", d.GetName(), wr.Scope.Name)
}

// unconditional tells whether an update may leave out resourceVersion. A scale never needs one.
func (t target) unconditional() bool {
	return t.Resource.UnconditionalUpdate || t.Subresource == resource.ScaleSubresource
}

func noResourceVersion(t target) error {
	return apierrors.NewInvalid(t.PluralAsKind(), t.Scope.Name, field.ErrorList{
		field.Invalid(field.NewPath("metadata", "resourceVersion"), 0, "must be specified for an update")})
}

// updateOrCreate updates an object or, where there is none, creates it.
func (s *Server) updateOrCreate(ctx context.Context, wr *write, change func(document) (document, error), first func() (document, error)) (written, error) {
	for ctx := range attempts(ctx) {
		done, err := s.update(ctx, wr, change)
		if !isAbsent(err) {
			return done, err
		}
		if err = s.access.permitAlso(wr.caller, "create"); err != nil {
			return written{}, err
		}
		d, err := first()
		if err != nil {
			return written{}, err
		}
		done, err = s.create(ctx, wr, d)
		if !apierrors.IsAlreadyExists(err) {
			return done, err
		}
	}
	return written{}, conflict(wr.target)
}

// update changes an object: change makes the new document of the one that stands, which it leaves as it is. It is called
// again when that one turns out to be another. A new document that names the resourceVersion that it is based on succeeds
// only that one.
func (s *Server) update(ctx context.Context, wr *write, change func(document) (document, error)) (done written, err error) {
	warnings := len(wr.warnings)
	err = s.onObject(ctx, wr.target, !wr.dryRun, func(a *attempt) error {
		if !a.shown() {
			return absent(wr.target)
		}
		wr.warnings = wr.warnings[:warnings]
		next, failed := change(a.old)
		if failed == nil {
			failed = wr.succeed(ctx, next, a.old)
		}
		if failed != nil {
			return failed
		}
		done, failed = s.replace(ctx, wr, next, a)
		return failed
	})
	return done, err
}

// succeed makes a document the successor of another one: it keeps what the server owns, and is checked against it.
func (wr *write) succeed(ctx context.Context, next, old document) error {
	switch next.GetResourceVersion() {
	case old.GetResourceVersion():
	case "", "0":
		if !wr.unconditional() {
			return noResourceVersion(wr.target)
		}
	default:
		return conflict(wr.target)
	}
	if uid := next.GetUID(); uid != "" && uid != old.GetUID() {
		return apierrors.NewConflict(wr.GroupResource(), wr.Scope.Name, fmt.Errorf(
			"the UID in the object (%s) is not that of the stored one (%s): it has been deleted and created again", uid, old.GetUID()))
	}
	next.take(old, "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "resourceVersion")
	next.drop("selfLink")
	next.keepStringData(wr.Resource)
	if !wr.Resource.Ungenerated && !next.sameSpec(old, !wr.Resource.Status) {
		next.metadata()["generation"] = old.GetGeneration() + 1
	}
	wr.track(old, next)
	return wr.checkSuccessor(ctx, next, old)
}

func (wr *write) checkSuccessor(ctx context.Context, next, old document) error {
	var errs field.ErrorList
	if !next.keepsMetadata(old) {
		var err error
		if errs, err = wr.checkMetadata(next, old); err != nil {
			return cannotHandle(wr.Resource, err)
		}
	}
	if wr.Resource.Schema != nil {
		errs = append(errs, wr.Resource.Schema.Validate(ctx, next.Object, old.Object)...)
	}
	if len(errs) > 0 {
		return apierrors.NewInvalid(wr.GroupKind(), wr.Scope.Name, errs)
	}
	return nil
}

// checkMetadata checks the metadata of a successor, and warns of its new finalizers. The error says which field has the wrong type.
func (wr *write) checkMetadata(next, old document) (field.ErrorList, error) {
	meta, err := next.meta()
	if err != nil {
		return nil, err
	}
	oldMeta, err := old.meta()
	if err != nil {
		// What stands was written by a program that does not care about types; replacing it must be possible.
		oldMeta = &metav1.ObjectMeta{Name: meta.Name, Namespace: meta.Namespace, UID: meta.UID, ResourceVersion: meta.ResourceVersion,
			CreationTimestamp: meta.CreationTimestamp}
	}
	errs := validation.ValidateObjectMetaUpdate(meta, oldMeta, field.NewPath("metadata"))
	if slices.ContainsFunc(meta.Finalizers, func(name string) bool { return !slices.Contains(oldMeta.Finalizers, name) }) {
		errs = append(errs, validation.ValidateFinalizers(meta.Finalizers, field.NewPath("metadata", "finalizers"))...)
	}
	wr.warnFinalizers(oldMeta.Finalizers, meta.Finalizers)
	return errs, nil
}

// replace stores a successor. One that changes nothing is not written, and one that was waiting to be deleted and has lost
// its last finalizer is deleted; a namespace is when it is empty.
func (s *Server) replace(ctx context.Context, wr *write, next document, a *attempt) (written, error) {
	key := s.key(wr.target, wr.Scope)
	put := func(value []byte) (etcdstore.Revision, error) { return a.update(ctx, s, key, value) }
	last := next.GetDeletionTimestamp() != nil && len(next.GetFinalizers()) == 0 && !wr.IsNamespace()
	stays := func([]byte) (etcdstore.Revision, error) { return a.object.Revision, nil }
	if wr.Resource.Mount != nil {
		return s.replaceMounted(ctx, wr, next, a)
	}
	switch {
	case !last && next.sameAs(a.old):
		next, put = a.old, stays
	case wr.dryRun:
		put = stays
	case last:
		put = func([]byte) (etcdstore.Revision, error) { return a.delete(ctx, s, wr.target, key) }
	}
	value, revision, err := next.store(wr.target, put)
	return written{scope: wr.Scope, value: value, revision: revision}, err
}
