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
	// leaseDuration is how long a leader's key must stay the same, on the observer's clock, before another replica takes over.
	leaseDuration = 10 * time.Second
	// renewDeadline is how long a leader acts after it began its last successful renewal, on its own clock. It is shorter than
	// leaseDuration, so that a leader that cannot reach etcd stops before another one begins.
	renewDeadline = 7 * time.Second
	// renewPeriod is so short that a failed renewal can be followed by another before the deadline.
	renewPeriod = 2 * time.Second
	// retryPeriod is how often a replica with work to do tries to become the leader.
	retryPeriod = time.Second
	// releaseTimeout bounds the release of the key.
	releaseTimeout = 2 * time.Second
)

// election makes one of any number of replicas the leader, so that each deletion is tried once. The safety of deletions rests on their
// preconditions and not on the election, because a process can be suspended between reading its clock and a write.
//
// The leader's key exists only while there is a leader. Clocks of different machines are never compared: each renewal changes the
// revision of the key.
type election struct {
	store  etcdstore.Store
	permit func(context.Context) error // an error: no replica may lead
	key    string
	holder string // this replica
	log    *slog.Logger

	held   etcdstore.Revision // of the key after this replica's last write; zero: it does not lead
	seen   etcdstore.Revision // of another replica's key
	seenAt time.Time          // when seen was first read
}

// record is the value of the key.
type record struct {
	Holder  string    `json:"holder"`
	Renewed time.Time `json:"renewed"` // for people to read
}

// holderName returns a name that no other replica has, and no earlier process of this one.
func holderName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s-%d-%s", host, os.Getpid(), rand.Text()[:8])
}

// lead tries to become the leader while needed is true, and then calls work. The context of work ends with ctx or with the leadership;
// when work returns, lead releases the leadership.
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
	e.release(ctx)
}

// win tries to become the leader, and returns the time at which the successful attempt began.
func (e *election) win(ctx context.Context, needed func() bool) (began time.Time, won bool) {
	failing := false
	for ctx.Err() == nil && needed() {
		began = time.Now()
		bounded, cancel := context.WithTimeout(ctx, renewDeadline)
		won, err := e.claim(bounded)
		cancel()
		if err != nil && !failing && ctx.Err() == nil {
			e.log.Warn("the leader could not be found out, trying again", "key", e.key, "error", err)
		}
		if failing = err != nil; won {
			return began, true
		}
		pause(ctx, retryPeriod)
	}
	return began, false
}

// renew returns when the leadership is lost or ctx ends.
func (e *election) renew(ctx context.Context, won time.Time) {
	for end := won.Add(renewDeadline); ; {
		pause(ctx, min(renewPeriod, time.Until(end)))
		if ctx.Err() != nil {
			return
		}
		began := time.Now()
		bounded, cancel := context.WithDeadline(ctx, end)
		won, err := e.claim(bounded)
		cancel()
		switch {
		case won:
			end = began.Add(renewDeadline)
		case ctx.Err() != nil:
			return
		case err == nil || !time.Now().Before(end):
			e.log.Warn("not leading any more", "key", e.key, "holder", e.holder, "error", err)
			return
		}
	}
}

// claim writes the key if it does not exist, is this replica's, or was not renewed for leaseDuration.
func (e *election) claim(ctx context.Context) (won bool, err error) {
	if err := e.permit(ctx); err != nil {
		return false, fmt.Errorf("no replica may lead: %w", err)
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
		return false, nil // another replica was faster
	case err != nil:
		return false, err
	}
	e.held = revision
	return true, nil
}

// isOurs reports whether this replica wrote the key. A write that returned an error may have succeeded.
func (e *election) isOurs(kv etcdstore.KV) bool {
	var r record
	return json.Unmarshal(kv.Value, &r) == nil && r.Holder == e.holder
}

func (e *election) isStale(revision etcdstore.Revision) bool {
	if revision != e.seen {
		e.seen, e.seenAt = revision, time.Now()
	}
	return time.Since(e.seenAt) >= leaseDuration
}

// release deletes the key, so that the next leader need not wait until it is stale.
func (e *election) release(ctx context.Context) {
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	_, err := e.store.Delete(bounded, e.key, e.held)
	e.held = 0
	if err != nil {
		e.log.Debug("the leader's key was not removed, it becomes stale", "key", e.key, "error", err)
	}
}

// pause waits for a duration, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
