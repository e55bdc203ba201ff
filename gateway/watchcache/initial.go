package watchcache

import (
	"context"
	"errors"

	"revtail/encoding"
	"revtail/gateway/access/cputime"
	"revtail/gateway/watchcache/snapshots"
)

// initialState is the part of the state that was not delivered yet.
type initialState struct {
	held    *snapshots.Held[snapshot]
	after   string
	changes []Change // the memory of the batches of an internal watch
}

// begin waits until the cache has reached the revision of the query, and takes the snapshot of a watch with State.
func (w *Watcher) begin(ctx context.Context) error {
	if w.begun {
		return nil
	}
	wait := w.waitForFuture
	if w.query.State {
		wait = w.takeSnapshot
	}
	if err := wait(ctx); err != nil {
		return err
	}
	if w.resuming {
		if err := CheckRevision(w.cache.config.Store, w.query.After); err != nil {
			return err
		}
	}
	if err := w.checkFirstRevision(ctx); err != nil {
		return err
	}
	w.begun = true
	return nil
}

// checkFirstRevision asks etcd whether revision 1, which means everything, is compacted. Without the question the answer would
// depend on the replica, because the log may hold the events all the same.
func (w *Watcher) checkFirstRevision(ctx context.Context) error {
	if !w.resuming || w.through != 1 || w.query.Own {
		return nil
	}
	err := expired(w.cache.probeRevision(ctx, 1))
	if _, compacted := errors.AsType[*ExpiredError](err); compacted {
		return err
	}
	return ctx.Err() // the events of the log are correct while etcd is away
}

func (w *Watcher) takeSnapshot(ctx context.Context) error {
	c := w.cache
	if err := c.WaitUntil(ctx, w.query.AtLeast); err != nil {
		return err
	}
	s, err := w.takeSnapshotNow()
	if err != nil || w.query.Own {
		return err
	}
	return s.checkReadable(w.wakeKey.scope, "")
}

func (w *Watcher) takeSnapshotNow() (*snapshot, error) {
	c := w.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.checkServingLocked(w.generation, c.through, true); err != nil { // initial events need no contact with etcd
		return nil, err
	}
	s := c.current
	if w.query.Own {
		w.initial = &initialState{held: snapshots.NewHeld(&s)}
	} else {
		w.initial = &initialState{held: c.held.Hold(&s, s.cost(), s.cost())}
	}
	w.through, w.position = c.through, c.log.next
	return &s, nil
}

// endInitial releases the snapshot, if there is one.
func (w *Watcher) endInitial() {
	if w.initial != nil && !w.query.Own {
		w.cache.mu.Lock()
		defer w.cache.mu.Unlock()
		w.cache.held.Release(w.initial.held)
	}
	w.initial = nil
}

// waitForFuture waits for a revision that the cache has not reached. Another replica may be ahead; a revision that etcd has not
// reached either belongs to another history.
func (w *Watcher) waitForFuture(ctx context.Context) error {
	for {
		err := w.cache.WaitUntil(ctx, w.through)
		if _, late := errors.AsType[*TooLargeError](err); !late {
			return err
		}
		bounded, cancel := context.WithTimeout(ctx, blockTimeout)
		current, err := w.cache.config.Store.Revision(bounded)
		cancel()
		if err == nil && current < w.through {
			return &RevertedError{Requested: w.through, Current: current}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

func (w *Watcher) nextInitial(ctx context.Context) (batch Batch, err error) {
	if ctx.Err() != nil { // many steps of a filter can be empty
		return Batch{}, ctx.Err()
	}
	s := w.initial.held.Snapshot()
	if s == nil {
		return Batch{}, &SlowReaderError{Revision: w.through}
	}
	turn := w.query.Account.Turn()
	defer turn.End()
	look, left, selects := initialScan, initialBytes, w.query.selects()
	batch.Changes = w.initial.changes[:0]
	if batch.Changes == nil && !selects && w.wakeKey.scope == (scope{}) { // every object
		batch.Changes = make([]Change, 0, min(initialEvents, s.objects.count))
	}
	s.objects.ascend(w.wakeKey.scope, w.initial.after, func(o *Object) (kept, more bool) {
		if kept = !selects; selects {
			if kept, err = matches(ctx, &turn, w.query.Selector, w.query.Filter, o, w.cache); err != nil {
				return false, false
			}
		}
		if kept {
			change := Change{Type: encoding.Added, Revision: o.Revision, Object: o}
			if change.Encoded, err = w.encode(&turn, o); err != nil {
				return false, false
			}
			batch.Changes = append(batch.Changes, change)
			left -= len(o.JSON)
		}
		w.initial.after = o.path
		look--
		return kept, len(batch.Changes) < initialEvents && left > 0 && look > 0
	})
	if err != nil && len(batch.Changes) == 0 {
		return Batch{}, err
	}
	if w.query.Own { // a client may be slow, and would hold the memory meanwhile
		w.initial.changes = batch.Changes
	}
	if err == nil && len(batch.Changes) < initialEvents && left > 0 && look > 0 {
		batch.Synced, batch.Through = true, w.through
		w.endInitial()
	}
	return batch, nil
}

// encode returns an initial object in the form of the query; nil: the query has none.
func (w *Watcher) encode(turn *cputime.Turn, o *Object) ([]byte, error) {
	if w.query.Encoding == nil {
		return nil, nil
	}
	if err := turn.Continue(); err != nil {
		return nil, err
	}
	return w.query.Encoding.EncodeStored(o)
}
