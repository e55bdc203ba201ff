package garbage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"revtail/etcdstore"
)

// keepRequests is how long a record of a DELETE request is kept. What is left of an owner's dependents after that is collected as if
// nobody had asked for the owner's end.
const keepRequests = time.Hour

// Requests are records, in etcd, of the DELETE requests for objects that own others: by them a collector tells what somebody has asked
// for from what has just disappeared. A record is written in the transaction that deletes the owner; the collector that leads removes
// old ones.
type Requests struct {
	store  etcdstore.Store
	prefix string // of the keys of records; what follows is the uid of the owner

	mu    sync.Mutex          // guards known
	known map[string]struct{} // the uids for which there were records when they were last read
}

// NewRequests makes Requests whose keys begin with prefix, which is outside of every resource's.
func NewRequests(store etcdstore.Store, prefix string) *Requests {
	return &Requests{store: store, prefix: prefix}
}

// requestRecord is the value of a record.
type requestRecord struct {
	Resource  string    `json:"resource"` // for people to read, as the two below
	Namespace string    `json:"namespace,omitempty"`
	Name      string    `json:"name"`
	Time      time.Time `json:"time"`
}

// Record is the operation that records the DELETE request for an object with a uid.
func (r *Requests) Record(resource, namespace, name, uid string) (etcdstore.Op, error) {
	value, err := json.Marshal(requestRecord{resource, namespace, name, time.Now().UTC()})
	return etcdstore.Op{Verb: etcdstore.Put, Key: r.prefix + uid, Value: value}, err
}

// asked reports whether there is a record for one of some owners. Those that are not known are looked for in etcd.
func (r *Requests) asked(ctx context.Context, owners []owner) (bool, error) {
	if r.isKnown(owners) {
		return true, nil
	}
	if err := r.refresh(ctx); err != nil {
		return false, err
	}
	return r.isKnown(owners), nil
}

// refresh reads which records there are.
func (r *Requests) refresh(ctx context.Context) error {
	page, err := r.store.List(ctx, r.prefix, etcdstore.ListOptions{KeysOnly: true})
	if err != nil {
		return fmt.Errorf("records of DELETE requests: %w", err)
	}
	known := make(map[string]struct{}, len(page.KVs))
	for _, kv := range page.KVs {
		known[strings.TrimPrefix(kv.Key, r.prefix)] = struct{}{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known = known
	return nil
}

func (r *Requests) isKnown(owners []owner) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range owners {
		if _, ok := r.known[o.uid]; ok {
			return true
		}
	}
	return false
}

// prune removes the records that are old.
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
