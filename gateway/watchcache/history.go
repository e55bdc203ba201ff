package watchcache

import (
	"context"
	"errors"

	"revtail/etcdstore"
	"revtail/gateway/watchcache/history"
)

func (c *Cache) newFanout() *history.Fanout[*event] {
	return history.NewFanout(history.Config[*event]{
		Store:  c.config.Store,
		Prefix: c.config.Prefix,
		Decode: func(e etcdstore.Event) (*event, int, bool) {
			decoded := c.decodeEvent(e)
			if decoded == nil {
				return nil, 0, false
			}
			return decoded, decoded.memory, true
		},
		Verify: func(ctx context.Context) error {
			_, err := c.Newest(ctx)
			return err
		},
		Settle:  c.awaitLookBack,
		Stopped: ErrStopped,
	})
}

// decodeEvent makes an event from one of etcd with its previous value; nil: no watch shows it.
func (c *Cache) decodeEvent(e etcdstore.Event) *event {
	var current, previous *Object
	if e.Prev != nil {
		previous = c.Decode(*e.Prev)
	}
	if e.KV != nil {
		current = c.Decode(*e.KV)
	}
	return newEvent(e.Revision, current, previous)
}

// openHistory makes the watcher read etcd's history after a revision.
func (w *Watcher) openHistory(after etcdstore.Revision) {
	c, in, resume := w.cache, w.wakeKey.scope, w.through
	path := ""
	if in.namespace != "" && c.config.Path == nil { // a name alone can be in any namespace; Path may have another order than keys
		path = in.objectPath()
	}
	w.history = c.fanout.Read(history.Query{
		Resume:   resume,
		After:    after,
		Path:     path,
		Contains: func(key string) bool { return in.contains(newObject(c.path(key), 0)) },
		Check:    func() error { return c.checkServing(w.generation, resume, w.query.Own) },
	})
}

// nextHistory delivers the next events of history, and returns to the log when the log holds the rest.
func (w *Watcher) nextHistory(ctx context.Context) (Batch, error) {
	if w.query.Latest {
		err := w.coalesceHistory(ctx)
		return Batch{Through: w.Through()}, err
	}
	events, err := w.readHistory(ctx)
	turn := w.query.Account.Turn()
	defer turn.End()
	changes := w.appendChanges(&turn, nil, events)
	return Batch{Changes: changes, Through: w.through}, err
}

// readHistory waits for the next events of history.
func (w *Watcher) readHistory(ctx context.Context) ([]*event, error) {
	delivered := w.history.Through()
	events, err := w.history.Next(ctx)
	if errors.Is(err, history.ErrInLog) {
		w.closeHistory()
		return nil, nil
	}
	if err != nil {
		return nil, expired(err)
	}
	events = eventsAfter(delivered, events)
	through := w.history.Through()
	if through >= w.through { // otherwise the history has not reached the revision at which the client resumes
		turn := w.query.Account.Turn()
		events, w.through = w.resumeEvents(&turn, events), through
		turn.End()
	}
	if w.cache.logFollows(through) {
		w.closeHistory()
	}
	return events, nil
}

// closeHistory makes the watcher return to the log.
func (w *Watcher) closeHistory() {
	w.history.Close()
	w.history, w.position = nil, 0
}

// logFollows reports whether the log holds all events later than a revision.
func (c *Cache) logFollows(through etcdstore.Revision) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ready && through >= c.log.floor
}
