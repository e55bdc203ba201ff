// Package storetest is the contract of etcdstore.Store as a suite: each test has the name of a promise.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"revtail/etcdstore"
)

// Backend is a store with what the suite needs to provoke. Other writers may use it at the same time only before the test
// begins: the suite counts revisions.
type Backend interface {
	etcdstore.Store

	// Compact drops the history before rev.
	Compact(rev etcdstore.Revision) error

	// Txn puts and deletes several keys at one revision: the puts first, both in the order of their keys.
	Txn(puts map[string][]byte, deletes []string) etcdstore.Revision
}

// patience bounds each wait of the suite. Reaching it is a failure, so it is generous.
const patience = 20 * time.Second

// Run tests the promises of the stores that open returns. It opens one for each test; they may share their history.
func Run(t *testing.T, open func(t *testing.T) Backend) {
	t.Helper()
	for _, group := range []struct {
		name  string
		tests map[string]func(*fixture)
	}{
		{"Get", getTests},
		{"List", listTests},
		{"Create", createTests},
		{"CreateGuarded", createGuardedTests},
		{"Update", updateTests},
		{"Delete", deleteTests},
		{"Transact", transactTests},
		{"Write", writeTests},
		{"Watch", watchTests},
		{"WatchEnd", watchEndTests},
	} {
		t.Run(group.name, func(t *testing.T) {
			for _, name := range slices.Sorted(maps.Keys(group.tests)) {
				t.Run(name, func(t *testing.T) {
					group.tests[name](newFixture(t, open(t)))
				})
			}
		})
	}
}

// fixture is a store and a prefix in it that nobody else uses. Its methods fail the test instead of returning an error.
type fixture struct {
	*testing.T
	Backend
	prefix string
}

func newFixture(t *testing.T, b Backend) *fixture {
	t.Helper()
	return &fixture{T: t, Backend: b, prefix: fmt.Sprintf("/storetest/%s/%d/", t.Name(), time.Now().UnixNano())}
}

func (f *fixture) ctx() context.Context { return f.Context() }

// key is a key below the fixture's prefix.
func (f *fixture) key(name string) string { return f.prefix + name }

func (f *fixture) revision() etcdstore.Revision {
	f.Helper()
	rev, err := f.Revision(f.ctx())
	if err != nil {
		f.Fatalf("Revision: %v", err)
	}
	return rev
}

func (f *fixture) create(name, value string) etcdstore.Revision {
	f.Helper()
	rev, err := f.Create(f.ctx(), f.key(name), []byte(value))
	if err != nil {
		f.Fatalf("Create %s: %v", name, err)
	}
	return rev
}

func (f *fixture) update(name, value string, want etcdstore.Revision) etcdstore.Revision {
	f.Helper()
	rev, err := f.Update(f.ctx(), f.key(name), []byte(value), want)
	if err != nil {
		f.Fatalf("Update %s: %v", name, err)
	}
	return rev
}

func (f *fixture) delete(name string) etcdstore.Revision {
	f.Helper()
	rev, err := f.Delete(f.ctx(), f.key(name), 0)
	if err != nil {
		f.Fatalf("Delete %s: %v", name, err)
	}
	return rev
}

func (f *fixture) compact(rev etcdstore.Revision) {
	f.Helper()
	if err := f.Compact(rev); err != nil {
		f.Fatalf("Compact %d: %v", rev, err)
	}
}

func (f *fixture) list(o etcdstore.ListOptions) etcdstore.Page {
	f.Helper()
	page, err := f.List(f.ctx(), f.prefix, o)
	if err != nil {
		f.Fatalf("List %+v: %v", o, err)
	}
	return page
}

// kv is what a write leaves.
func (f *fixture) kv(name, value string, created, modified etcdstore.Revision) *etcdstore.KV {
	return &etcdstore.KV{Key: f.key(name), Value: []byte(value), Created: created, Modified: modified}
}

// put and del are the events of a write.
func (f *fixture) put(kv, prev *etcdstore.KV) etcdstore.Event {
	return etcdstore.Event{Revision: kv.Modified, Key: kv.Key, KV: kv, Prev: prev}
}

func (f *fixture) del(rev etcdstore.Revision, name string, prev *etcdstore.KV) etcdstore.Event {
	return etcdstore.Event{Revision: rev, Key: f.key(name), Prev: prev}
}

// equal compares, empty and nil slices being the same; versions have a test of their own.
func (f *fixture) equal(what string, want, got any) {
	f.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(etcdstore.KV{}, "Version")); diff != "" {
		f.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func (f *fixture) wantError(what string, got, want error) {
	f.Helper()
	if !errors.Is(got, want) {
		f.Errorf("%s: error %v, want one that wraps %v", what, got, want)
	}
}

// wantStanding wants a ConflictError, with what stands under the key.
func (f *fixture) wantStanding(got error, want etcdstore.KV) {
	f.Helper()
	var e *etcdstore.ConflictError
	if !errors.As(got, &e) {
		f.Errorf("error %v, want a ConflictError", got)
		return
	}
	f.equal("what stands", want, e.KV)
}

// wantCompacted wants a CompactedError, whose Compacted need not be known.
func (f *fixture) wantCompacted(what string, got error, requested, compacted etcdstore.Revision) {
	f.Helper()
	var e *etcdstore.CompactedError
	switch {
	case !errors.As(got, &e):
		f.Errorf("%s: error %v, want a *CompactedError", what, got)
	case e.Requested != requested, e.Compacted != 0 && e.Compacted != compacted:
		f.Errorf("%s: %+v, want requested %d, compacted %d or 0", what, *e, requested, compacted)
	}
}
