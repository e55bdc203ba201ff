package garbage

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"revtail/etcdstore"
)

const (
	// lease is how long a leader's key must have stayed the same, on the observer's clock, before somebody takes over.
	lease = 10 * time.Second
	// tenure is how long a leader acts after it began its last successful renewal, on its own clock. It is shorter than lease,
	// so that a leader that cannot reach etcd has stopped before another one begins.
	tenure = 7 * time.Second
	// renewEvery leaves room for one renewal that fails.
	renewEvery = 2 * time.Second
	// claimEvery is how often a replica that has something to do looks whether the leader is still there.
	claimEvery = time.Second
	// farewell bounds the release of the key at shutdown.
	farewell = 2 * time.Second
)

// election lets one of any number of replicas lead. What keeps two of them from doing harm is not this (a process can be
// frozen between a look at its clock and a write) but the preconditions of what they do: it saves work.
//
// The leader's key exists only while somebody leads. Nobody compares clocks of different machines: that a leader is alive
// shows in the revision of its key, which changes with every renewal.
type election struct {
	store  etcdstore.Store
	permit func(context.Context) error // an error: nobody is to lead
	key    string
	holder string // this replica
	log    *slog.Logger

	held   etcdstore.Revision // of the key when this replica last wrote it; zero: it does not lead
	seen   etcdstore.Revision // of the key of another holder, when it was last read
	seenAt time.Time          // when seen was first read
}

// record is the value of the key.
type record struct {
	Holder  string    `json:"holder"`
	Renewed time.Time `json:"renewed"` // for people to read
}

// holderName tells replicas apart, also two lives of one of them.
func holderName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s-%d-%s", host, os.Getpid(), rand.Text()[:8])
}

// lead waits until this replica leads, as long as needed says so, and calls work. The context of work ends when ctx does
// and when the leadership is lost; when work returns, it is given up.
func (e *election) lead(ctx context.Context, needed func() bool, work func(context.Context)) {
	began, won := e.win(ctx, needed)
	if !won {
		return
	}
	e.log.Debug("leading", "key", e.key, "holder", e.holder)
	leading, cancel := context.WithCancel(ctx)
	var renewing sync.WaitGroup
	renewing.Go(func() {
		defer cancel()
		e.renew(leading, began)
	})
	work(leading)
	cancel()
	renewing.Wait()
	e.resign(ctx)
}

// win claims until this replica leads, and returns when the claim that succeeded was begun.
func (e *election) win(ctx context.Context, needed func() bool) (began time.Time, won bool) {
	failing := false
	for ctx.Err() == nil && needed() {
		began = time.Now()
		bounded, cancel := context.WithTimeout(ctx, tenure)
		won, err := e.claim(bounded)
		cancel()
		if err != nil && !failing && ctx.Err() == nil {
			e.log.Warn("the leader could not be found out, trying again", "key", e.key, "error", err)
		}
		if failing = err != nil; won {
			return began, true
		}
		pause(ctx, claimEvery)
	}
	return began, false
}

// renew returns when the leadership is lost or ctx ends.
func (e *election) renew(ctx context.Context, won time.Time) {
	for end := won.Add(tenure); ; {
		pause(ctx, min(renewEvery, time.Until(end)))
		if ctx.Err() != nil {
			return
		}
		began := time.Now()
		bounded, cancel := context.WithDeadline(ctx, end)
		won, err := e.claim(bounded)
		cancel()
		switch {
		case won:
			end = began.Add(tenure)
		case ctx.Err() != nil:
			return
		case err == nil || !time.Now().Before(end):
			e.log.Warn("not leading any more", "key", e.key, "holder", e.holder, "error", err)
			return
		}
	}
}

// claim writes the key if nobody holds it, if this replica does, or if its holder has not renewed it for a lease.
func (e *election) claim(ctx context.Context) (won bool, err error) {
	if err := e.permit(ctx); err != nil {
		return false, fmt.Errorf("nobody is to lead: %w", err)
	}
	kv, _, err := e.store.Get(ctx, e.key)
	absent := errors.Is(err, etcdstore.ErrNotFound)
	if err != nil && !absent {
		return false, err
	}
	if !absent && !e.isOurs(kv) && !e.isStale(kv.Modified) {
		return false, nil
	}
	value, err := json.Marshal(record{Holder: e.holder, Renewed: time.Now().UTC()})
	if err != nil {
		return false, err
	}
	var revision etcdstore.Revision
	if absent {
		revision, err = e.store.Create(ctx, e.key, value)
	} else {
		revision, err = e.store.Update(ctx, e.key, value, kv.Modified)
	}
	switch {
	case errors.Is(err, etcdstore.ErrExists), errors.Is(err, etcdstore.ErrConflict), errors.Is(err, etcdstore.ErrNotFound):
		return false, nil // somebody else was faster
	case err != nil:
		return false, err
	}
	e.held = revision
	return true, nil
}

// isOurs reports whether this replica wrote the key: a write without an answer may have been done.
func (e *election) isOurs(kv etcdstore.KV) bool {
	var r record
	return json.Unmarshal(kv.Value, &r) == nil && r.Holder == e.holder
}

func (e *election) isStale(revision etcdstore.Revision) bool {
	if revision != e.seen {
		e.seen, e.seenAt = revision, time.Now()
	}
	return time.Since(e.seenAt) >= lease
}

// resign removes the key, so that the next leader need not wait for it to become stale.
func (e *election) resign(ctx context.Context) {
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	_, err := e.store.Delete(bounded, e.key, e.held)
	e.held = 0
	if err != nil {
		e.log.Debug("the leader's key was not removed, it becomes stale", "key", e.key, "error", err)
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
