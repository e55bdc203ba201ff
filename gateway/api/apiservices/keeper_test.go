package apiservices

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"revtail/etcdstore"
	"revtail/etcdstore/memory"
	"revtail/gateway/api/catalog"
	"revtail/gateway/api/kinds"
	"revtail/gateway/api/storage"
	"revtail/gateway/claim"
	"revtail/gateway/resource"
)

const prefix = "/registry"

// start returns a keeper whose caches are filled, over an etcd that begins with keys and values, which are given in pairs.
func start(t *testing.T, etcd *memory.Store, pairs ...string) *keeper {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		put(t, etcd, pairs[i], pairs[i+1])
	}
	logger := slog.New(slog.DiscardHandler)
	owner, err := claim.Open(t.Context(), claim.Config{Store: etcd, Prefix: prefix, Writable: false, Builtin: kinds.Builtin(), Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	resources, err := catalog.New(catalog.Config{Store: owner.ForClients(), Own: owner.ForItself(), Prefix: prefix, Claim: owner, Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	store := storage.New(storage.Config{
		Etcd: owner.ForClients(), Prefix: prefix, Claim: owner, Catalog: resources, Logger: logger, Audit: func(*resource.Resource, resource.Scope, string) {},
	})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		resources.Run(t.Context(), store)
	}()
	t.Cleanup(func() { <-ended })
	if err := resources.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	return newKeeper(store)
}

func put(t *testing.T, etcd *memory.Store, key, value string) {
	t.Helper()
	op := etcdstore.Op{Verb: etcdstore.Put, Key: key, Value: []byte(value)}
	if _, err := etcd.Transact(t.Context(), etcdstore.Txn{Then: []etcdstore.Op{op}}); err != nil {
		t.Fatal(err)
	}
}

// mustSync synchronizes the keeper, in a state of its caches that has everything in etcd.
func (k *keeper) mustSync(t *testing.T, etcd *memory.Store) {
	t.Helper()
	revision, err := etcd.Revision(t.Context())
	if err == nil {
		err = k.services.Cache.WaitUntil(t.Context(), revision)
	}
	if err == nil {
		err = k.sync(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// stored returns the names of the stored APIServices.
func stored(t *testing.T, etcd *memory.Store) map[string]bool {
	t.Helper()
	page, err := etcd.List(t.Context(), prefix+"/apiservices/", etcdstore.ListOptions{KeysOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string]bool)
	for _, kv := range page.KVs {
		out[kv.Key[len(prefix+"/apiservices/"):]] = true
	}
	return out
}

const marker = "revtail/claims" + prefix

// TestOwners checks that APIServices are created in data that is revtail's own, and nowhere else, and that they do not make it a cluster's.
func TestOwners(t *testing.T) {
	for name, test := range map[string]struct {
		pairs []string
		owner claim.Owner
	}{
		"an empty prefix": {nil, claim.Unclaimed},
		"foreign data":    {[]string{prefix + "/x/y", "{}"}, claim.Foreign},
		"a cluster":       {[]string{prefix + "/apiregistration.k8s.io/apiservices/v1.", "{}", marker, `{"format":1,"prefix":"/registry"}`}, claim.Kubernetes},
		"own data":        {[]string{marker, `{"format":1,"prefix":"/registry"}`}, claim.Own},
	} {
		t.Run(name, func(t *testing.T) {
			etcd := memory.New()
			k := start(t, etcd, test.pairs...)
			k.mustSync(t, etcd)
			if got, want := len(stored(t, etcd)) > 0, test.owner == claim.Own; got != want {
				t.Errorf("there are APIServices: %t, want %t", got, want)
			}
			state, err := claim.Look(t.Context(), claim.Config{Store: etcd, Prefix: prefix, Builtin: kinds.Builtin(), Logger: slog.New(slog.DiscardHandler)})
			if err != nil || state.Owner != test.owner {
				t.Errorf("afterwards the data is of %s, want %s: %v", state.Owner, test.owner, err)
			}
		})
	}
}

// leftBehind returns an APIService of a version that is not served, as another release may have left it.
func leftBehind(managed string) string {
	return fmt.Sprintf(`{"apiVersion":"apiregistration.k8s.io/v1","kind":"APIService","metadata":{"name":%q,"uid":"u","creationTimestamp":"2026-11-22T00:00:00Z",
		"labels":{%q:%q}},"spec":{"group":"old.example.com","version":"v1","groupPriorityMinimum":1,"versionPriority":1}}`, old, managedLabel, managed)
}

const old = "v1.old.example.com"

// TestLeftBehind checks which APIServices of versions that are not served are deleted: if they are there at the start, and if they appear later.
func TestLeftBehind(t *testing.T) {
	for _, test := range []struct {
		managed                     string
		keptAtStart, keptAfterwards bool
	}{
		{managedAtStart, false, true}, // a replica of another release serves the version
		{managedAtAnyTime, false, false},
		{"", true, true},
		{"other", true, true},
	} {
		t.Run(test.managed, func(t *testing.T) {
			etcd := memory.New()
			k := start(t, etcd, marker, `{"format":1,"prefix":"/registry"}`, prefix+"/apiservices/"+old, leftBehind(test.managed))
			k.mustSync(t, etcd)
			if got := stored(t, etcd)[old]; got != test.keptAtStart {
				t.Errorf("after the start it is there: %t, want %t", got, test.keptAtStart)
			}
			put(t, etcd, prefix+"/apiservices/"+old, leftBehind(test.managed))
			k.mustSync(t, etcd)
			if got := stored(t, etcd)[old]; got != test.keptAfterwards {
				t.Errorf("later it is there: %t, want %t", got, test.keptAfterwards)
			}
		})
	}
}

// TestSpecs checks that the spec of what the server itself serves is corrected at the start only, so that replicas of two releases do not undo
// each other's writes.
func TestSpecs(t *testing.T) {
	etcd := memory.New()
	k := start(t, etcd, marker, `{"format":1,"prefix":"/registry"}`)
	k.mustSync(t, etcd)
	another := func() string {
		kv, _, err := etcd.Get(t.Context(), prefix+"/apiservices/v1.apps")
		if err != nil {
			t.Fatal(err)
		}
		return string(kv.Value)
	}
	const wanted, other = `"groupPriorityMinimum":17800`, `"groupPriorityMinimum":3`
	changed := strings.Replace(another(), wanted, other, 1)
	put(t, etcd, prefix+"/apiservices/v1.apps", changed)
	k.mustSync(t, etcd)
	if got := another(); got != changed {
		t.Errorf("it is corrected while the server runs: %s", got)
	}
	again := newKeeper(k.store)
	again.mustSync(t, etcd)
	if got := another(); !strings.Contains(got, wanted) {
		t.Errorf("it is not corrected at the start: %s", got)
	}
}
