package encryption

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"revtail/etcdstore"
)

// Failure is a value in etcd that no provider of its resource decrypts. There may be more of the resource.
type Failure struct {
	Resource schema.GroupResource
	Err      *etcdstore.UnreadableError
}

// failures has one value of each resource that could not be decrypted.
type failures struct {
	mu        sync.Mutex // guards the fields below
	suspected map[schema.GroupResource]*etcdstore.UnreadableError
	confirmed map[schema.GroupResource]*etcdstore.UnreadableError // by Recheck
}

// suspect records a failure of a read, which may have read the past, where keys have been that are no longer needed.
func (f *failures) suspect(of schema.GroupResource, err *etcdstore.UnreadableError) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.suspected == nil {
		f.suspected = make(map[schema.GroupResource]*etcdstore.UnreadableError)
		f.confirmed = make(map[schema.GroupResource]*etcdstore.UnreadableError)
	}
	if f.suspected[of] == nil {
		f.suspected[of] = err
	}
}

// settle records what the current value of a failure is: still unreadable, or nil.
func (f *failures) settle(of schema.GroupResource, err *etcdstore.UnreadableError) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.suspected, of)
	if err != nil {
		f.confirmed[of] = err
	} else {
		delete(f.confirmed, of)
	}
}

// unsettled returns the suspected failures, and the confirmed ones of other resources.
func (f *failures) unsettled() map[schema.GroupResource]*etcdstore.UnreadableError {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := maps.Clone(f.suspected)
	maps.Copy(out, f.confirmed)
	return out
}

// Failures returns one value of each resource with values that cannot be decrypted, sorted by resource, as far as a read and then Recheck have
// found it.
func (s *Store) Failures() []Failure {
	s.failures.mu.Lock()
	defer s.failures.mu.Unlock()
	var out []Failure
	for of, err := range s.failures.confirmed {
		out = append(out, Failure{of, err})
	}
	slices.SortFunc(out, func(a, b Failure) int { return cmp.Compare(a.Resource.String(), b.Resource.String()) })
	return out
}

// Recheck reads again what could not be decrypted: one value of each resource. It updates Failures.
func (s *Store) Recheck(ctx context.Context) {
	for of, failure := range s.failures.unsettled() {
		kv, _, err := s.Get(ctx, failure.Key)
		switch {
		case err == nil:
			s.failures.settle(of, kv.Unreadable)
		case errors.Is(err, etcdstore.ErrNotFound):
			s.failures.settle(of, nil)
		}
	}
}
