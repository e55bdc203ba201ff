package garbage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"revtail/etcdstore"
)

// keepRequests is how long a record of a DELETE request is kept. Dependents that are still there afterwards are collected as those of an
// owner without a DELETE request.
const keepRequests = time.Hour

// Requests are records, in etcd, of the DELETE requests for objects that own others. Their dependents are collected without a limit. The
// transaction that deletes the owner writes the record; the leader removes old records.
type Requests struct {
	store  etcdstore.Store
	prefix string // of the keys of records; the rest of a key is the uid of the owner

	mu   sync.Mutex          // guards uids
	uids map[string]struct{} // of the records when they were last read
}

// NewRequests returns Requests whose keys begin with prefix, which is outside of every resource's.
func NewRequests(store etcdstore.Store, prefix string) *Requests {
	return &Requests{store: store, prefix: prefix}
}

// requestRecord is the value of a record.
type requestRecord struct {
	Resource  string    `json:"resource"` // for people to read, as Namespace and Name
	Namespace string    `json:"namespace,omitempty"`
	Name      string    `json:"name"`
	Time      time.Time `json:"time"`
}

// Record returns the operation that records the DELETE request for an object with a uid.
func (r *Requests) Record(resource, namespace, name, uid string) (etcdstore.Op, error) {
	value, err := json.Marshal(requestRecord{resource, namespace, name, time.Now().UTC()})
	return etcdstore.Op{Verb: etcdstore.Put, Key: r.prefix + uid, Value: value}, err
}

// include reports whether there is a record for one of some owners. It reads the records from etcd unless it knows one already.
func (r *Requests) include(ctx context.Context, owners []owner) (bool, error) {
	if r.known(owners) {
		return true, nil
	}
	page, err := r.store.List(ctx, r.prefix, etcdstore.ListOptions{KeysOnly: true})
	if err != nil {
		return false, fmt.Errorf("records of DELETE requests: %w", err)
	}
	uids := make(map[string]struct{}, len(page.KVs))
	for _, kv := range page.KVs {
		uids[strings.TrimPrefix(kv.Key, r.prefix)] = struct{}{}
	}
	r.mu.Lock()
	r.uids = uids
	r.mu.Unlock()
	return r.known(owners), nil
}

// known reports whether there was a record for one of some owners when the records were last read.
func (r *Requests) known(owners []owner) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(owners, func(o owner) bool {
		_, ok := r.uids[o.uid]
		return ok
	})
}

// prune removes old records.
func (r *Requests) prune(ctx context.Context) error {
	page, err := r.store.List(ctx, r.prefix, etcdstore.ListOptions{})
	if err != nil {
		return fmt.Errorf("records of DELETE requests: %w", err)
	}
	for _, kv := range page.KVs {
		var record requestRecord
		if json.Unmarshal(kv.Value, &record) == nil && time.Since(record.Time) < keepRequests {
			continue
		}
		_, err := r.store.Delete(ctx, kv.Key, kv.Modified)
		if err != nil && !errors.Is(err, etcdstore.ErrNotFound) && !errors.Is(err, etcdstore.ErrConflict) {
			return fmt.Errorf("old record of a DELETE request: %w", err)
		}
	}
	return nil
}
