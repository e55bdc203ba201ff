package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"revtail/encoding"
	"revtail/etcdstore"
	"revtail/gateway/watchcache"
)

func (s *Server) serveDelete(w http.ResponseWriter, r *http.Request, t target) {
	options, err := parseDeleteOptions(w, r, t)
	if err == nil {
		err = negotiate(r)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), requestTimeout)
	defer cancel()
	kept, uid, err := s.delete(ctx, t, options)
	if err == nil && s.options.GarbageCollector && orphans(options) {
		warn(w, "Orphan acts as Background: objects all of whose owners are gone are deleted")
	}
	switch {
	case err != nil:
		s.fail(w, r, err)
	case kept != nil && options.OrphanDependents != nil && !*options.OrphanDependents: //nolint:staticcheck // old clients send it
		s.respondObject(w, r, t, http.StatusAccepted, kept)
	case kept != nil:
		s.respondObject(w, r, t, http.StatusOK, kept)
	default:
		status := &metav1.Status{Status: metav1.StatusSuccess, Details: &metav1.StatusDetails{
			Name: t.scope.Name, Group: t.resource.Group, Kind: t.resource.Plural, UID: uid}}
		respond(w, r, http.StatusOK, encoding.AppendStatus(nil, status))
	}
}

// delete removes an object, or marks it for the ones whose finalizers it carries: it is then returned.
func (s *Server) delete(ctx context.Context, t target, options *metav1.DeleteOptions) (kept []byte, uid types.UID, err error) {
	dryRun := len(options.DryRun) > 0
	for range maxAttempts {
		object, old, err := s.current(ctx, t)
		if isAbsent(err) && object != nil { // what cannot be shown can still be deleted
			old = newDocument(map[string]any{})
		} else if err != nil {
			return nil, "", err
		}
		if err := checkPreconditions(t, options.Preconditions, object, old); err != nil {
			return nil, "", err
		}
		if object.Invalid == nil {
			old = t.keptForCleanup(old)
		}
		switch {
		case t.isNamespace() && object.Invalid == nil:
			kept, err = s.deleteNamespace(ctx, t, old, object, dryRun)
		case len(old.GetFinalizers()) > 0:
			kept, err = s.markDeleted(ctx, t, old, object, dryRun)
		case !dryRun:
			_, err = s.options.Store.Delete(ctx, s.key(t, t.scope), object.Revision)
		default:
			err = nil
		}
		if !errors.Is(err, etcdstore.ErrConflict) && !errors.Is(err, etcdstore.ErrNotFound) {
			return kept, old.GetUID(), err
		}
	}
	return nil, "", conflict(t)
}

func checkPreconditions(t target, p *metav1.Preconditions, object *watchcache.Object, old document) error {
	if p == nil {
		return nil
	}
	if p.UID != nil && *p.UID != old.GetUID() {
		return apierrors.NewConflict(t.kindAsResource(), t.scope.Name, fmt.Errorf(
			"the UID in the precondition (%s) does not match the UID in record (%s). The object might have been deleted and then recreated", *p.UID, old.GetUID()))
	}
	if found := strconv.FormatInt(int64(object.Revision), 10); p.ResourceVersion != nil && *p.ResourceVersion != found {
		return apierrors.NewConflict(t.kindAsResource(), t.scope.Name, fmt.Errorf(
			"the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s). The object might have been modified", *p.ResourceVersion, found))
	}
	return nil
}

// markDeleted sets the deletionTimestamp; an object that has one stays as it is.
func (s *Server) markDeleted(ctx context.Context, t target, old document, object *watchcache.Object, dryRun bool) ([]byte, error) {
	if old.GetDeletionTimestamp() != nil {
		return object.JSON, nil
	}
	marked := old.copy()
	marked.metadata()["deletionTimestamp"] = time.Now().UTC().Format(time.RFC3339)
	marked.metadata()["deletionGracePeriodSeconds"] = int64(0)
	marked.metadata()["generation"] = old.GetGeneration() + 1
	done, err := s.replace(ctx, &write{target: t, writeParams: writeParams{dryRun: dryRun}}, marked, old, object)
	if err != nil {
		return nil, err
	}
	return done.object(t)
}

// serveDeleteCollection deletes the objects that a list would show, one after the other, and returns them as they were.
func (s *Server) serveDeleteCollection(w http.ResponseWriter, r *http.Request, t target) {
	params, err := parseListParams(r, false)
	if err == nil {
		_, err = negotiateForm(r, aList)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	options, err := parseDeleteOptions(w, r, t)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	list, err := s.list(r.Context(), t, params)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	var deleted []*watchcache.Object
	for object := range list.Objects {
		one := t
		one.scope.Namespace, one.scope.Name = object.Namespace(), object.Name()
		if _, _, err := s.delete(r.Context(), one, options); err != nil && !isAbsent(err) {
			s.fail(w, r, err)
			return
		}
		deleted = append(deleted, object)
	}
	list.Objects, list.Text = slices.Values(deleted), nil
	s.writeList(w, r, t, list)
}
