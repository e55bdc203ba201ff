package storage

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"revtail/etcdstore"
	"revtail/gateway/api/catalog"
	"revtail/gateway/api/customresource"
	"revtail/gateway/api/garbage"
	"revtail/gateway/api/object"
	"revtail/gateway/http/request"
	"revtail/gateway/resource"
	"revtail/gateway/watchcache"
)

// Deletion is the result of a DELETE.
type Deletion struct {
	UID      types.UID
	kept     []byte             // the object with its deletionTimestamp, if it has finalizers or a grace period
	removed  object.Object      // otherwise; empty: it could not be shown
	revision etcdstore.Revision // of removed
}

// Kept reports whether the object still exists.
func (d Deletion) Kept() bool { return d.kept != nil }

// Object returns the object for the client; nil: a Status is the answer.
func (d Deletion) Object(t catalog.Target) ([]byte, error) {
	if d.Kept() || !t.Resource.ReturnsDeleted || d.removed.Unstructured == nil {
		return d.kept, nil
	}
	removed := d.removed
	if isPods(t.Resource) && removed.GetDeletionTimestamp() == nil { // a kube-apiserver marks a Pod also with a grace period of zero
		removed = terminating(removed)
	}
	value, err := encode(t.Resource, removed)
	if err != nil {
		return nil, err
	}
	return Result{scope: t.Scope, value: value, revision: d.revision}.Object(t)
}

// Delete deletes an object, or sets the deletionTimestamp of one that is kept.
func (s *Store) Delete(ctx context.Context, t catalog.Target, options *metav1.DeleteOptions) (Deletion, error) {
	return s.delete(ctx, t, options, t.Scope.Name)
}

// delete is Delete. named is the name in the request, which is empty if that deletes a collection.
func (s *Store) delete(ctx context.Context, t catalog.Target, options *metav1.DeleteOptions, named string) (done Deletion, err error) {
	dryRun := len(options.DryRun) > 0
	review, err := s.Admission.Begin(ctx, t.Ref)
	if err != nil {
		return Deletion{}, err
	}
	err = s.guaranteedUpdate(ctx, t, !dryRun && !t.IsNamespace(), func(a *updateAttempt) (err error) {
		if err := object.CheckPreconditions(t.Ref, options.Preconditions, a.old.GetUID(), strconv.FormatInt(int64(a.object.Revision), 10)); err != nil {
			return err
		}
		if err := review.ConfirmDelete(ctx, options, named, a.old); err != nil {
			return err
		}
		done = Deletion{UID: a.old.GetUID(), revision: a.object.Revision}
		if a.shown() {
			done.removed = a.old
		}
		marked, graceful := a.old, false
		if a.shown() {
			marked = s.keptForDependents(t.Resource, catalog.KeptForCleanup(t.Resource, a.old), options)
		}
		if s.GracefulDeletion && isPods(t.Resource) {
			marked, graceful = object.DeleteGracefully(marked, options, time.Now())
		}
		switch {
		case t.Resource == customresource.Kind() && a.shown() && s.Claim.State().IsForeign():
			err = s.checkDeletable(t.Ref)
		case t.IsNamespace() && a.shown():
			done.kept, err = s.deleteNamespace(ctx, t, a, dryRun)
		case graceful || len(marked.GetFinalizers()) > 0:
			done.kept, err = s.markDeleted(ctx, t, marked, a, dryRun)
		case !dryRun:
			done.revision, err = s.deleteKey(ctx, a, t.Ref)
		}
		return err
	})
	return done, err
}

// isPods reports whether the objects of a resource can be deleted with a grace period.
func isPods(res *resource.Resource) bool { return res.QualifiedName() == "pods" }

// keptForDependents returns an object with the garbage collector's finalizer for a propagation policy, and without its other finalizer.
// Without a policy in the request its finalizers decide, and then the default of its kind.
func (s *Store) keptForDependents(res *resource.Resource, old object.Object, options *metav1.DeleteOptions) object.Object {
	if !(s.Collect || s.CollectedElsewhere) || s.Claim.State().IsForeign() || res.IsNamespaces() || res.Mount != nil {
		return old
	}
	before := old.GetFinalizers()
	after := slices.DeleteFunc(slices.Clone(before), func(f string) bool {
		return f == metav1.FinalizerOrphanDependents || f == metav1.FinalizerDeleteDependents
	})
	policy := garbage.PropagationOf(options)
	if policy == "" && res.OrphansDependents && len(after) == len(before) {
		policy = metav1.DeletePropagationOrphan
	}
	switch policy {
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
	kept := old.Copy()
	kept.SetFinalizers(after)
	return kept
}

// markDeleted stores marked, an object with finalizers or a grace period, with a deletionTimestamp. It writes nothing if the stored object has both.
func (s *Store) markDeleted(ctx context.Context, t catalog.Target, marked object.Object, a *updateAttempt, dryRun bool) ([]byte, error) {
	marked = marked.ShallowCopy()
	if a.old.GetDeletionTimestamp() == nil {
		marked = terminating(marked)
	}
	done, err := s.replace(ctx, &Request{Target: t, Options: Options{DryRun: dryRun}}, marked, a)
	if err != nil {
		return nil, err
	}
	return done.Object(t)
}

// terminating returns an object with a deletionTimestamp and the next generation.
func terminating(d object.Object) object.Object {
	d = d.ShallowCopy()
	if d.GetDeletionTimestamp() == nil {
		d.Metadata()["deletionTimestamp"] = time.Now().UTC().Format(time.RFC3339)
		d.Metadata()["deletionGracePeriodSeconds"] = int64(0)
	}
	if generation := d.GetGeneration(); generation > 0 {
		d.Metadata()["generation"] = generation + 1
	}
	return d
}

// DeleteCollection deletes the objects of a list, one after the other, and returns them as they were, and their number. With an error it
// returns only the number.
func (s *Store) DeleteCollection(ctx context.Context, t catalog.Target, p request.ListOptions, options *metav1.DeleteOptions) (*watchcache.List, int, error) {
	list, err := s.List(ctx, t, p)
	if err != nil {
		return nil, 0, err
	}
	var deleted []*watchcache.Object
	for object := range list.Objects {
		list.Turn.End() // the store may be slow
		one := t
		one.Scope.Namespace, one.Scope.Name = object.Namespace(), object.Name()
		if _, err = s.delete(ctx, one, options, ""); err != nil && !apierrors.IsNotFound(err) {
			return nil, len(deleted), err
		}
		deleted = append(deleted, object)
	}
	list.Objects, list.Text = slices.Values(deleted), nil
	return list, len(deleted), nil
}

// deletePage is how many objects DeleteAll reads at a time.
const deletePage = 500

// DeleteAll deletes every object of a resource, which need not be served, and returns how many it found. Objects with finalizers
// stay until these are removed, so the caller repeats DeleteAll until it finds none. Invalid keys stay.
func (s *Store) DeleteAll(ctx context.Context, res *resource.Resource) (found int, err error) {
	t := catalog.Target{Ref: resource.Ref{Resource: res}, Cache: s.Catalog.NewCache(res)}
	prefix := res.Prefix(s.Prefix)
	options := etcdstore.ListOptions{Limit: deletePage}
	for {
		page, err := s.Etcd.List(ctx, prefix, options)
		if err != nil {
			return 0, err
		}
		for _, kv := range page.KVs {
			var ok bool
			if t.Scope, ok = res.Split(kv.Key[len(prefix):]); !ok {
				continue
			}
			if _, err := s.Delete(ctx, t, &metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
				return 0, fmt.Errorf("deleting %s: %w", t.Scope.Path(), err)
			}
			s.Audit(res, t.Scope, "its CustomResourceDefinition is being deleted")
			found++
		}
		if page.Remaining == 0 || len(page.KVs) == 0 {
			return found, nil
		}
		options.After = page.KVs[len(page.KVs)-1].Key
	}
}
