// Package storetest tests the contract of etcdstore.Store. Each test has the name of a guarantee.
//
// It is test support: only tests import it, and no part of the program has it. It is a package, and not a file of tests, because the
// tests of each storage engine run it.
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

// Backend is a store with the operations that only tests need. Nothing else may write to it during a test, because the suite counts
// revisions.
type Backend interface {
	etcdstore.Store

	// Compact drops the history before rev.
	Compact(rev etcdstore.Revision) error

	// Txn puts and deletes several keys at one revision: the puts first, both in the order of their keys.
	Txn(puts map[string][]byte, deletes []string) etcdstore.Revision
}

// timeout bounds each wait of the suite. A test that reaches it fails.
const timeout = 20 * time.Second

// Run tests the guarantees of the stores that open returns, without the tests in omit, as "Watch/compacted", for a store that cannot have
// such a guarantee. It opens one store for each test; they may share their history.
func Run(t *testing.T, open func(t *testing.T) Backend, omit ...string) {
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
				if slices.Contains(omit, group.name+"/"+name) {
					continue
				}
				t.Run(name, func(t *testing.T) {
					group.tests[name](newFixture(t, open(t)))
				})
			}
		})
	}
}

// fixture is a store and a prefix of its own in it. Its methods fail the test instead of returning an error.
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

// must returns the result of a call that must succeed.
func must[T any](result T, err error) func(f *fixture, call string) T {
	return func(f *fixture, call string) T {
		f.Helper()
		if err != nil {
			f.Fatalf("%s: %v", call, err)
		}
		return result
	}
}

func (f *fixture) revision() etcdstore.Revision {
	f.Helper()
	return must(f.Revision(f.ctx()))(f, "Revision")
}

func (f *fixture) get(name string) etcdstore.KV {
	f.Helper()
	kv, _, err := f.Get(f.ctx(), f.key(name))
	return must(kv, err)(f, "Get "+name)
}

func (f *fixture) create(name, value string) etcdstore.Revision {
	f.Helper()
	return must(f.Create(f.ctx(), f.key(name), []byte(value)))(f, "Create "+name)
}

func (f *fixture) update(name, value string, want etcdstore.Revision) etcdstore.Revision {
	f.Helper()
	return must(f.Update(f.ctx(), f.key(name), []byte(value), want))(f, "Update "+name)
}

func (f *fixture) delete(name string) etcdstore.Revision {
	f.Helper()
	return must(f.Delete(f.ctx(), f.key(name), 0))(f, "Delete "+name)
}

func (f *fixture) compact(rev etcdstore.Revision) {
	f.Helper()
	must(rev, f.Compact(rev))(f, "Compact")
}

// list lists the keys of the fixture.
func (f *fixture) list(o etcdstore.ListOptions) etcdstore.Page {
	f.Helper()
	return f.listUnder("", o)
}

func (f *fixture) listUnder(name string, o etcdstore.ListOptions) etcdstore.Page {
	f.Helper()
	return must(f.List(f.ctx(), f.key(name), o))(f, "List "+name)
}

// all are all keys of the fixture.
func (f *fixture) all() []etcdstore.KV { return f.list(etcdstore.ListOptions{}).KVs }

// kv is the state of a key after a write.
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

// equal compares values. It ignores versions, which have their own test, and takes nil and empty slices for equal.
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

// wantConflict wants a ConflictError with the current state of the key.
func (f *fixture) wantConflict(got error, want etcdstore.KV) {
	f.Helper()
	var e *etcdstore.ConflictError
	if !errors.As(got, &e) {
		f.Errorf("error %v, want a ConflictError", got)
		return
	}
	f.equal("current state", want, e.KV)
}

// wantCompacted wants a CompactedError, whose Compacted may be unknown.
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
