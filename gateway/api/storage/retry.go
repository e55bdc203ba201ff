package storage

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"revtail/encoding/jsontext"
	"revtail/etcdstore"
	"revtail/gateway/api/catalog"
	"revtail/gateway/api/object"
	"revtail/gateway/http/request"
	"revtail/gateway/http/status"
	"revtail/gateway/resource"
	"revtail/gateway/watchcache"
)

// maxAttempts bounds the attempts of a write without a resourceVersion, while other clients keep changing the key.
const maxAttempts = 64

// attempts yields a context for each attempt of a write. The first attempt needs no timeout, because its requests to etcd and to caches have
// timeouts of their own; all later attempts share request.Timeout.
func attempts(ctx context.Context) iter.Seq[context.Context] {
	return func(yield func(context.Context) bool) {
		if !yield(ctx) {
			return
		}
		bounded, cancel := context.WithTimeout(ctx, request.Timeout)
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
	old       object.Object      // the same, decoded; empty if the object cannot be shown
	stale     bool               // the object is to be written even if nothing changes; unknown of one in the cache
	committed bool               // the transaction was sent, so its result is final
}

// guaranteedUpdate calls do to change the object of a request, and calls it again after a conflicting write.
//
// With guess the first attempt uses the object in the cache, which is nearly always the stored one: the change then costs one transaction,
// which compares the revision, and returns the stored object if the revisions differ. If an attempt on a guess ends without a transaction
// (an error, or no change), guaranteedUpdate reads the object from etcd and calls do again, unless it is the one that was in the cache.
func (s *Store) guaranteedUpdate(ctx context.Context, t catalog.Target, guess bool, do func(*updateAttempt) error) error {
	var object *watchcache.Object
	stale := false
	if guess {
		object = t.Cache.Peek(t.Scope.Path())
		guess = object != nil
	}
	for ctx := range attempts(ctx) {
		if err := ctx.Err(); err != nil {
			return err // the client has left
		}
		if object == nil {
			var err error
			if object, stale, err = s.read(ctx, t); err != nil {
				return err
			}
		}
		a := &updateAttempt{object: object, stale: stale}
		err := a.decode(t)
		if err == nil {
			err = do(a)
		}
		faster, conflicts := errors.AsType[*etcdstore.ConflictError](err)
		switch {
		case conflicts:
			object, stale = t.Cache.Decode(faster.KV), faster.KV.Stale
		case errors.Is(err, etcdstore.ErrConflict), errors.Is(err, etcdstore.ErrNotFound):
			object = nil
		case guess && !a.committed:
			stored, old, failed := s.read(ctx, t)
			switch {
			case failed != nil:
				return failed
			case stored == nil:
				return status.ObjectNotFound(t.Ref)
			case stored.Revision == object.Revision && !old && object.Unreadable() == nil:
				return err // the guess was right
			}
			object, stale = stored, old
		default:
			return err
		}
		guess = false
	}
	return status.ObjectModified(t.Ref)
}

// decode decodes the object; an object that does not exist, or cannot be decrypted, is an error.
func (a *updateAttempt) decode(t catalog.Target) error {
	if a.object == nil {
		return status.ObjectNotFound(t.Ref)
	}
	if err := checkReadable(a.object); err != nil {
		return err
	}
	if !a.shown() {
		a.old = object.New(map[string]any{})
		return nil
	}
	decoded, err := jsontext.Unmarshal(a.object.JSON)
	a.old = object.New(decoded)
	return err
}

// shown reports whether the object can be decoded. Otherwise it can be deleted, but not changed.
func (a *updateAttempt) shown() bool { return a.object.Shown() }

// putKey overwrites the object.
func (s *Store) putKey(ctx context.Context, a *updateAttempt, ref resource.Ref, value []byte) (etcdstore.Revision, error) {
	a.committed = true
	return s.Etcd.Update(ctx, ref.Key(s.Prefix), value, a.object.Revision)
}

// deleteKey deletes the object. If it has dependents, the same transaction records the request for the garbage collector.
func (s *Store) deleteKey(ctx context.Context, a *updateAttempt, ref resource.Ref) (etcdstore.Revision, error) {
	a.committed = true
	key, name := ref.Key(s.Prefix), ref.Resource.QualifiedName()
	if ref.Resource.Mount != nil || s.Claim.State().IsForeign() || !s.Collector.Owns(name, ref.Scope.Namespace, ref.Scope.Name) {
		return s.Etcd.Delete(ctx, key, a.object.Revision)
	}
	record, err := s.requests.Record(name, ref.Scope.Namespace, ref.Scope.Name, string(a.old.GetUID()))
	if err != nil {
		return 0, err
	}
	done, err := s.Etcd.Transact(ctx, etcdstore.Txn{
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
