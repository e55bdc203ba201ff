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
	// lease is how long the key of a leader must be unchanged, on the clock of another replica, before that replica takes over.
	lease = 10 * time.Second
	// tenure is how long a leader acts after the start of its last successful renewal, on its own clock. It is shorter than lease, so
	// that a leader that cannot reach etcd stops before another one begins.
	tenure = 7 * time.Second
	// renewEvery allows one failed renewal within tenure.
	renewEvery = 2 * time.Second
	// claimEvery is the interval in which a replica with work checks the leader.
	claimEvery = time.Second
	// resignTimeout bounds the deletion of the key at shutdown.
	resignTimeout = 2 * time.Second
)

// election elects one of any number of replicas, to save work. It does not exclude two leaders, because a process can be suspended
// between a look at its clock and a write; the preconditions of the writes make that harmless.
//
// The key of the leader exists only while there is a leader. Each renewal changes the revision of the key, so that replicas need not
// compare clocks.
type election struct {
	store  etcdstore.Store
	permit func(context.Context) error // an error: do not lead
	key    string
	holder string // this replica
	log    *slog.Logger

	held   etcdstore.Revision // of the last write of the key by this replica; zero: not the leader
	seen   etcdstore.Revision // of the key of another holder at the last read
	seenAt time.Time          // time of the first read of seen
}

// record is the value of the key.
type record struct {
	Holder  string    `json:"holder"`
	Renewed time.Time `json:"renewed"` // for people
}

// holderName returns a unique name of this process.
func holderName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s-%d-%s", host, os.Getpid(), rand.Text()[:8])
}

// lead waits until this replica is the leader or needed is false, and calls work. The context of work ends with ctx and when the
// leadership is lost. lead resigns when work returns.
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

// win claims the leadership until it succeeds, and returns the start of the successful claim.
func (e *election) win(ctx context.Context, needed func() bool) (began time.Time, won bool) {
	failing := false
	for ctx.Err() == nil && needed() {
		began = time.Now()
		bounded, cancel := context.WithTimeout(ctx, tenure)
		won, err := e.claim(bounded)
		cancel()
		if err != nil && !failing && ctx.Err() == nil {
			e.log.Warn("cannot read or write the key of the leader, trying again", "key", e.key, "error", err)
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

// claim writes the key if it does not exist, if this replica holds it, or if its holder has not renewed it for lease.
func (e *election) claim(ctx context.Context) (won bool, err error) {
	if err := e.permit(ctx); err != nil {
		return false, fmt.Errorf("not permitted to lead: %w", err)
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

// isOurs reports whether this replica wrote the key, also by a write without a response.
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

// resign deletes the key, so that the next leader need not wait for lease.
func (e *election) resign(ctx context.Context) {
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), resignTimeout)
	defer cancel()
	_, err := e.store.Delete(bounded, e.key, e.held)
	e.held = 0
	if err != nil {
		e.log.Debug("the key of the leader was not deleted, it expires", "key", e.key, "error", err)
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
