package gateway

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"revtail/encoding"
	"revtail/etcdstore"
	"revtail/gateway/watchcache"
)

// maxAttempts is how often a write that names no resourceVersion is tried against a key that others keep changing.
const maxAttempts = 64

// attempts yields a context for each try at a write. What one asks of etcd and of caches has its own limits, so the first needs none
// beside them; all others together have requestTimeout.
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

// attempt is one try to change an object.
type attempt struct {
	object *watchcache.Object // as it stands, or as the cache has it
	old    document           // the same, decoded; empty if the object cannot be shown
	asked  bool               // etcd has been asked for the change: what comes of the attempt is its answer
}

// onObject has do change the object that a request is about, and again when somebody else was faster.
//
// The first attempt is made on what the cache has, which is nearly always what stands: the change then costs one
// transaction, by whose comparison etcd agrees to the guess or says what stands instead. What an attempt on a guess leads to
// without asking etcd (a refusal, or that nothing is to be written) is no answer; the object is read, and do called again.
func (s *Server) onObject(ctx context.Context, t target, guess bool, do func(*attempt) error) error {
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
		a := &attempt{object: object}
		err := a.decode(t)
		if err == nil {
			err = do(a)
		}
		faster, conflicts := errors.AsType[*etcdstore.ConflictError](err)
		switch {
		case conflicts:
			object = t.cache.Decode(faster.KV)
		case errors.Is(err, etcdstore.ErrConflict), errors.Is(err, etcdstore.ErrNotFound), guess && !a.asked:
			object = nil
		default:
			return err
		}
		guess = false
	}
	return conflict(t)
}

// decode refuses what is not there.
func (a *attempt) decode(t target) error {
	if a.object == nil {
		return absent(t)
	}
	if !a.shown() {
		a.old = newDocument(map[string]any{})
		return nil
	}
	decoded, err := encoding.Unmarshal(a.object.JSON)
	a.old = newDocument(decoded)
	return err
}

// shown tells whether the object can be shown. One that cannot be cannot be changed either; it can be deleted.
func (a *attempt) shown() bool { return a.object.Shown() }

// update overwrites the object.
func (a *attempt) update(ctx context.Context, s *Server, key string, value []byte) (etcdstore.Revision, error) {
	a.asked = true
	return s.options.Store.Update(ctx, key, value, a.object.Revision)
}

// delete removes the object. Where it owns others, that somebody asked for this is recorded with it, for the garbage collector.
func (a *attempt) delete(ctx context.Context, s *Server, t target, key string) (etcdstore.Revision, error) {
	a.asked = true
	resource := t.Resource.QualifiedName()
	if t.Resource.Mount != nil || s.options.Claim.State().IsForeign() || !s.collector.Owns(resource, t.Scope.Namespace, t.Scope.Name) {
		return s.options.Store.Delete(ctx, key, a.object.Revision)
	}
	record, err := s.requested.Record(resource, t.Scope.Namespace, t.Scope.Name, string(a.old.GetUID()))
	if err != nil {
		return 0, err
	}
	done, err := s.options.Store.Transact(ctx, etcdstore.Txn{
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
