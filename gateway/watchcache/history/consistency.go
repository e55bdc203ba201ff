package history

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"revtail/etcdstore"
)

// CheckPeriod is the time between two consistency checks (kube-apiserver: 5 minutes as well). Up to half of it is added at random,
// so that caches do not check at the same moment.
const CheckPeriod = 5 * time.Minute

// After etcd's watch was reopened, the check comes within earlyCheck, because no revision betrays an etcd that was restored from a
// backup and then written to beyond its former revision. checkGap is the least time between two such checks.
const (
	earlyCheck = 10 * time.Second
	checkGap   = time.Minute
)

// comparePage is how many keys one page of a comparison holds.
const comparePage = 5000

// ErrMismatch says that the store does not have the data that was served: etcd was restored or replaced, or the cache is wrong.
var ErrMismatch = errors.New("what was served is not what the store has")

// Verify reads the store's newest revision. ErrMismatch says that the store has another history than the identified one, or is
// older than the revision that was served.
func Verify(ctx context.Context, store etcdstore.Store, identity uint64, served etcdstore.Revision) (etcdstore.Revision, error) {
	newest, err := store.Revision(ctx)
	switch current := store.History(); {
	case err != nil:
		return 0, err
	case current != identity:
		return 0, fmt.Errorf("%w: its history is %x, and was %x", ErrMismatch, current, identity)
	case newest < served:
		return 0, fmt.Errorf("%w: it is at revision %d, and was at %d", ErrMismatch, newest, served)
	}
	return newest, nil
}

// State is the contents of a cache as of a revision.
type State struct {
	Revision etcdstore.Revision
	Size     int
	// RevisionOf is the revision at which a key was changed last; zero: the cache does not have the key.
	RevisionOf func(key string) etcdstore.Revision
}

// ConsistencyChecker compares a cache with etcd from time to time.
type ConsistencyChecker struct {
	store    etcdstore.Store
	prefix   string
	state    func() (State, bool)
	report   func(difference string)
	reopened chan struct{} // holds one
}

// NewConsistencyChecker makes a checker. state returns false while the cache is not ready; report is called with each difference.
func NewConsistencyChecker(store etcdstore.Store, prefix string, state func() (State, bool), report func(difference string)) *ConsistencyChecker {
	return &ConsistencyChecker{store: store, prefix: prefix, state: state, report: report, reopened: make(chan struct{}, 1)}
}

// Reopened requests an early check, after the watch of etcd was reopened.
func (c *ConsistencyChecker) Reopened() { notify(c.reopened) }

// Run checks until ctx ends.
func (c *ConsistencyChecker) Run(ctx context.Context) {
	var last time.Time
	for ctx.Err() == nil {
		c.wait(ctx, last)
		last = time.Now()
		if difference, err := c.Compare(ctx); err == nil && difference != "" {
			c.report(difference)
		}
	}
}

func (c *ConsistencyChecker) wait(ctx context.Context, last time.Time) {
	select {
	case <-time.After(CheckPeriod + rand.N(CheckPeriod/2)):
	case <-ctx.Done():
	case <-c.reopened:
		Sleep(ctx, max(rand.N(earlyCheck), time.Until(last.Add(checkGap))))
	}
}

// Compare returns the first difference between the cache and etcd as of one revision; empty: none. Keys and revisions are compared,
// because no two values of a key have the same revision.
func (c *ConsistencyChecker) Compare(ctx context.Context) (string, error) {
	state, ready := c.state()
	if !ready {
		return "", nil
	}
	options := etcdstore.ListOptions{At: state.Revision, Limit: comparePage, KeysOnly: true}
	for size := 0; ; {
		page, err := c.store.List(ctx, c.prefix, options)
		if err != nil {
			return "", err
		}
		for _, kv := range page.KVs {
			options.After = kv.Key
			if state.RevisionOf(kv.Key) != kv.Modified {
				return fmt.Sprintf("%q, which etcd has at revision %d", kv.Key, kv.Modified), nil
			}
		}
		if size += len(page.KVs); page.Remaining > 0 {
			continue
		}
		if size != state.Size {
			return fmt.Sprintf("%d objects, of which etcd has %d", state.Size, size), nil
		}
		return "", nil
	}
}
