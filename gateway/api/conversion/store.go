package conversion

import (
	"context"
	"slices"
	"sync"
	"time"

	"revtail/etcdstore"
	"revtail/gateway/resource"
)

const (
	// slowFailure is the time of a failed conversion after which the webhook counts as hanging, and hangs how long the values of lists and watches are
	// then unreadable without another call: a cache must not stand still for 30 s with each event.
	slowFailure = 2 * time.Second
	hangs       = 10 * time.Second
	// patience is how long a watch waits for a webhook that fails, as one that is started again, before the event is unreadable.
	patience = 30 * time.Second
)

// Store is a store whose values are converted when they are read. One that cannot be converted is unreadable, with a *resource.ConversionError.
// Writes are those of the store below.
type Store struct {
	etcdstore.Store

	conversion resource.Conversion

	mu      sync.Mutex // guards the fields below
	hanging time.Time  // until then
	reason  error      // of the last slow failure
	waiting error      // why an event waits to be converted

	patience  time.Duration
	recovered chan struct{} // holds one: the webhook works, while an event waits
}

// NewStore returns a store with the values of another one in the version of a conversion.
func NewStore(stored etcdstore.Store, to resource.Conversion) *Store {
	return &Store{Store: stored, conversion: to, patience: patience, recovered: make(chan struct{}, 1)}
}

// Waiting returns why the events of a watch wait to be converted; nil: they do not.
func (s *Store) Waiting() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting
}

func (s *Store) setWaiting(reason error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = reason
}

// Convert converts the value of a key.
func Convert(by resource.Conversion, kv *etcdstore.KV) {
	if kv.Unreadable != nil {
		return
	}
	converted, errs := by.FromStored([][]byte{kv.Value})
	set(kv, converted[0], errs[0])
}

func set(kv *etcdstore.KV, converted []byte, err error) {
	if err != nil {
		kv.Unreadable = &etcdstore.UnreadableError{Key: kv.Key, Err: err}
		return
	}
	kv.Value = converted
}

// Get implements etcdstore.Store.
func (s *Store) Get(ctx context.Context, key string) (etcdstore.KV, etcdstore.Revision, error) {
	kv, revision, err := s.Store.Get(ctx, key)
	if err == nil {
		s.convert([]*etcdstore.KV{&kv}, false)
	}
	return kv, revision, err
}

// List implements etcdstore.Store.
func (s *Store) List(ctx context.Context, prefix string, o etcdstore.ListOptions) (etcdstore.Page, error) {
	page, err := s.Store.List(ctx, prefix, o)
	if err != nil || o.KeysOnly {
		return page, err
	}
	page.KVs = slices.Clone(page.KVs)
	all := make([]*etcdstore.KV, len(page.KVs))
	for i := range page.KVs {
		all[i] = &page.KVs[i]
	}
	s.convert(all, true)
	return page, nil
}

// convert converts values in place. With background it does not call a webhook that hangs.
func (s *Store) convert(kvs []*etcdstore.KV, background bool) {
	kvs = slices.DeleteFunc(kvs, func(kv *etcdstore.KV) bool { return kv.Unreadable != nil })
	if len(kvs) == 0 {
		return
	}
	if reason := s.hangsBecause(); reason != nil && background {
		for _, kv := range kvs {
			set(kv, nil, reason)
		}
		return
	}
	values := make([][]byte, len(kvs))
	for i, kv := range kvs {
		values[i] = kv.Value
	}
	began := time.Now()
	converted, errs := s.conversion.FromStored(values)
	var failed error
	for i, kv := range kvs {
		set(kv, converted[i], errs[i])
		if errs[i] != nil {
			failed = errs[i]
		}
	}
	s.observe(time.Since(began), failed)
}

// hangsBecause returns the last failure of a webhook that hangs; nil: it does not.
func (s *Store) hangsBecause() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Now().Before(s.hanging) {
		return s.reason
	}
	return nil
}

func (s *Store) observe(took time.Duration, failed error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case failed == nil:
		s.hanging = time.Time{}
		if s.waiting != nil {
			select {
			case s.recovered <- struct{}{}:
			default:
			}
		}
	case took > slowFailure:
		s.hanging, s.reason = time.Now().Add(hangs), failed
	}
}
