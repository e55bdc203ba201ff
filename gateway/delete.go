package gateway

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"revtail/encoding"
	"revtail/gateway/api/customresource"
	"revtail/gateway/watchcache"
)

func (s *Server) serveDelete(w http.ResponseWriter, r *http.Request, t target) {
	options, err := parseDeleteOptions(w, r, t)
	if err == nil {
		err = s.negotiate(r)
	}
	if err != nil {
		s.responder.fail(w, r, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), requestTimeout)
	defer cancel()
	kept, uid, err := s.delete(ctx, t, options)
	switch {
	case err != nil:
		s.responder.fail(w, r, err)
	case kept != nil && options.OrphanDependents != nil && !*options.OrphanDependents: //nolint:staticcheck // old clients send it
		s.respondObject(w, r, t, http.StatusAccepted, kept)
	case kept != nil:
		s.respondObject(w, r, t, http.StatusOK, kept)
	default:
		status := &metav1.Status{Status: metav1.StatusSuccess, Details: &metav1.StatusDetails{
			Name: t.Scope.Name, Group: t.Resource.Group, Kind: t.Resource.Plural, UID: uid}}
		respond(w, r, http.StatusOK, encoding.AppendStatus(nil, status))
	}
}

// delete removes an object, or marks it for the ones whose finalizers it carries: it is then returned.
func (s *Server) delete(ctx context.Context, t target, options *metav1.DeleteOptions) (kept []byte, uid types.UID, err error) {
	dryRun := len(options.DryRun) > 0
	err = s.onObject(ctx, t, !dryRun && !t.IsNamespace(), func(a *attempt) (err error) {
		if err := checkPreconditions(t, options.Preconditions, a.object, a.old); err != nil {
			return err
		}
		kept, uid = nil, a.old.GetUID()
		marked := a.old
		if a.shown() {
			marked = s.keptForDependents(t, t.keptForCleanup(a.old), options)
		}
		switch {
		case t.Resource == customresource.Kind() && a.shown() && s.options.Claim.State().IsForeign():
			err = s.checkDeletable(t)
		case t.IsNamespace() && a.shown():
			kept, err = s.deleteNamespace(ctx, t, a, dryRun)
		case len(marked.GetFinalizers()) > 0:
			kept, err = s.markDeleted(ctx, t, marked, a, dryRun)
		case !dryRun:
			_, err = a.delete(ctx, s, t, s.key(t, t.Scope))
		}
		return err
	})
	return kept, uid, err
}

func checkPreconditions(t target, p *metav1.Preconditions, object *watchcache.Object, old document) error {
	if p == nil {
		return nil
	}
	if p.UID != nil && *p.UID != old.GetUID() {
		return apierrors.NewConflict(t.KindAsResource(), t.Scope.Name, fmt.Errorf(
			"the UID in the precondition (%s) does not match the UID in record (%s). The object might have been deleted and then recreated", *p.UID, old.GetUID()))
	}
	if found := strconv.FormatInt(int64(object.Revision), 10); p.ResourceVersion != nil && *p.ResourceVersion != found {
		return apierrors.NewConflict(t.KindAsResource(), t.Scope.Name, fmt.Errorf(
			"the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s). The object might have been modified", *p.ResourceVersion, found))
	}
	return nil
}

// keptForDependents is what a delete finds where a garbage collector is at work: an object whose dependents are to be orphaned,
// or deleted before it, carries a finalizer until that has been done. Where a client asks for nothing the finalizers say what.
func (s *Server) keptForDependents(t target, old document, options *metav1.DeleteOptions) document {
	if !s.options.GarbageCollector || s.options.Claim.State().IsForeign() || t.IsNamespace() || t.Resource.Mount != nil {
		return old
	}
	before := old.GetFinalizers()
	after := slices.DeleteFunc(slices.Clone(before), func(f string) bool {
		return f == metav1.FinalizerOrphanDependents || f == metav1.FinalizerDeleteDependents
	})
	switch propagation(options) {
	case metav1.DeletePropagationOrphan:
		after = append(after, metav1.FinalizerOrphanDependents)
	case metav1.DeletePropagationForeground:
		after = append(after, metav1.FinalizerDeleteDependents)
	case metav1.DeletePropagationBackground:
	default:
		return old
	}
	if slices.Equal(slices.Sorted(slices.Values(before)), slices.Sorted(slices.Values(after))) {
		return old
	}
	kept := old.copy()
	kept.SetFinalizers(after)
	return kept
}

// propagation is what a client wants to become of an object's dependents; empty: it doesn't say.
func propagation(options *metav1.DeleteOptions) metav1.DeletionPropagation {
	switch orphan := options.OrphanDependents; { //nolint:staticcheck // old clients send it
	case options.PropagationPolicy != nil:
		return *options.PropagationPolicy
	case orphan == nil:
		return ""
	case *orphan:
		return metav1.DeletePropagationOrphan
	}
	return metav1.DeletePropagationBackground
}

// markDeleted sets the deletionTimestamp of an object with the finalizers that marked has; one that has both stays as it is.
func (s *Server) markDeleted(ctx context.Context, t target, marked document, a *attempt, dryRun bool) ([]byte, error) {
	marked = marked.shallowCopy()
	if a.old.GetDeletionTimestamp() == nil {
		marked.metadata()["deletionTimestamp"] = time.Now().UTC().Format(time.RFC3339)
		marked.metadata()["deletionGracePeriodSeconds"] = int64(0)
		if generation := a.old.GetGeneration(); generation > 0 {
			marked.metadata()["generation"] = generation + 1
		}
	}
	done, err := s.replace(ctx, &write{target: t, writeParams: writeParams{dryRun: dryRun}}, marked, a)
	if err != nil {
		return nil, err
	}
	return done.object(t)
}

// serveDeleteCollection deletes the objects that a list would show, one after the other, and returns them as they were.
func (s *Server) serveDeleteCollection(w http.ResponseWriter, r *http.Request, t target) {
	params, err := s.listParams(r, false)
	if err == nil {
		_, err = s.negotiateForm(r, aList)
	}
	if err != nil {
		s.responder.fail(w, r, err)
		return
	}
	options, err := parseDeleteOptions(w, r, t)
	if err != nil {
		s.responder.fail(w, r, err)
		return
	}
	list, err := s.list(r.Context(), t, params)
	if err != nil {
		s.responder.fail(w, r, err)
		return
	}
	var deleted []*watchcache.Object
	for object := range list.Objects {
		one := t
		one.Scope.Namespace, one.Scope.Name = object.Namespace(), object.Name()
		if _, _, err := s.delete(r.Context(), one, options); err != nil && !isAbsent(err) {
			s.responder.fail(w, r, err)
			return
		}
		deleted = append(deleted, object)
	}
	list.Objects, list.Text = slices.Values(deleted), nil
	s.writeList(w, r, t, list)
}
