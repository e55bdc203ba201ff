package gateway

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"revtail/encoding/jsontext"
	"revtail/etcdstore"
	"revtail/gateway/resource"
	"revtail/gateway/watchcache"
)

// maxAttempts bounds the attempts of a write without a resourceVersion, while other clients keep changing the key.
const maxAttempts = 64

// attempts yields a context for each attempt of a write. The requests of an attempt to etcd and to caches have limits of their own,
// so the first attempt needs no other; all later ones together have requestTimeout.
func attempts(ctx context.Context) iter.Seq[context.Context] {
	return func(yield func(context.Context) bool) {
		if !yield(ctx) {
			return
		}
		bounded, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		for range maxAttempts - 1 {
			if !yield(bounded) {
				return
			}
		}
	}
}

// updateAttempt is one attempt to change an object.
type updateAttempt struct {
	object    *watchcache.Object // as etcd or the cache has it
	old       document           // the same, decoded; empty if the object cannot be shown
	committed bool               // the transaction was sent, so its result is final
}

// guaranteedUpdate has do change the object of a request, and calls it again when another client was faster.
//
// With guess the first attempt is made on the object in the cache, which is nearly always the stored one: the change then costs
// one transaction, which compares the revision and returns the stored object if that is another one. If an attempt on a guess
// ends without a transaction (a refusal, or a change of nothing), the object is read from etcd, and do is called again.
func (s *store) guaranteedUpdate(ctx context.Context, t target, guess bool, do func(*updateAttempt) error) error {
	var object *watchcache.Object
	if guess {
		object = t.cache.Peek(t.Scope.Path())
		guess = object != nil
	}
	for ctx := range attempts(ctx) {
		if object == nil {
			var err error
			if object, err = s.read(ctx, t); err != nil {
				return err
			}
		}
		a := &updateAttempt{object: object}
		err := a.decode(t)
		if err == nil {
			err = do(a)
		}
		faster, conflicts := errors.AsType[*etcdstore.ConflictError](err)
		switch {
		case conflicts:
			object = t.cache.Decode(faster.KV)
		case errors.Is(err, etcdstore.ErrConflict), errors.Is(err, etcdstore.ErrNotFound), guess && !a.committed:
			object = nil
		default:
			return err
		}
		guess = false
	}
	return objectModified(t.Ref)
}

// decode decodes the object, and refuses one that does not exist.
func (a *updateAttempt) decode(t target) error {
	if a.object == nil {
		return objectNotFound(t.Ref)
	}
	if !a.shown() {
		a.old = newDocument(map[string]any{})
		return nil
	}
	decoded, err := jsontext.Unmarshal(a.object.JSON)
	a.old = newDocument(decoded)
	return err
}

// shown reports whether the object can be shown. Another one can be deleted, but not changed.
func (a *updateAttempt) shown() bool { return a.object.Shown() }

// putKey overwrites the object.
func (s *store) putKey(ctx context.Context, a *updateAttempt, ref resource.Ref, value []byte) (etcdstore.Revision, error) {
	a.committed = true
	return s.etcd.Update(ctx, ref.Key(s.prefix), value, a.object.Revision)
}

// deleteKey deletes the object. If it owns others, the same transaction records the request for the garbage collector.
func (s *store) deleteKey(ctx context.Context, a *updateAttempt, ref resource.Ref) (etcdstore.Revision, error) {
	a.committed = true
	key, name := ref.Key(s.prefix), ref.Resource.QualifiedName()
	if ref.Resource.Mount != nil || s.claim.State().IsForeign() || !s.collector.Owns(name, ref.Scope.Namespace, ref.Scope.Name) {
		return s.etcd.Delete(ctx, key, a.object.Revision)
	}
	record, err := s.requests.Record(name, ref.Scope.Namespace, ref.Scope.Name, string(a.old.GetUID()))
	if err != nil {
		return 0, err
	}
	done, err := s.etcd.Transact(ctx, etcdstore.Txn{
		If:   []etcdstore.Condition{{Key: key, Of: etcdstore.OfModified, Is: etcdstore.Equal, Number: int64(a.object.Revision)}},
		Then: []etcdstore.Op{{Verb: etcdstore.Delete, Key: key}, record},
		Else: []etcdstore.Op{{Verb: etcdstore.Get, Key: key}},
	})
	switch {
	case err != nil:
		return 0, err
	case done.Succeeded:
		return done.Revision, nil
	case done.Results[0].KV == nil:
		return 0, fmt.Errorf("delete %q: %w", key, etcdstore.ErrNotFound)
	}
	return 0, fmt.Errorf("delete %q: %w", key, &etcdstore.ConflictError{KV: *done.Results[0].KV})
}
