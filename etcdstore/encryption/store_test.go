package encryption_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"revtail/etcdstore"
	"revtail/etcdstore/embedded"
	"revtail/etcdstore/encryption"
	"revtail/etcdstore/memory"
	"revtail/etcdstore/storetest"
)

func TestMain(m *testing.M) {
	klog.SetSlogLogger(slog.New(slog.DiscardHandler)) // the log of the packages of Kubernetes
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("k8s.io/klog/v2.(*flushDaemon).run.func1"))
}

// secret returns a key for a provider.
func secret(letter string) string {
	return base64.StdEncoding.EncodeToString([]byte(strings.Repeat(letter, 32)))
}

// provider returns one provider of a configuration, with one key.
func provider(kind, name string) string {
	if kind == "identity" {
		return "  - identity: {}\n"
	}
	return fmt.Sprintf("  - %s: {keys: [{name: %s, secret: %s}]}\n", kind, name, secret(name[:1]))
}

// configuration returns an EncryptionConfiguration of Secrets.
func configuration(providers ...string) string {
	return "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n- resources: [secrets, '*.example.com']\n  providers:\n" + strings.Join(providers, "")
}

func load(t *testing.T, config string) (*encryption.Providers, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "encryption.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := encryption.Load(t.Context(), file, []byte(config))
	if err == nil {
		t.Cleanup(p.Close)
	}
	return p, err
}

// fixture is an encrypting store over another one.
type fixture struct {
	*encryption.Store

	t         *testing.T
	raw       etcdstore.Store
	providers atomic.Pointer[encryption.Providers]
	before    func() // is called before a value is encrypted or decrypted; nil: nothing is
}

func newFixture(t *testing.T, raw etcdstore.Store, config string) *fixture {
	t.Helper()
	f := &fixture{t: t, raw: raw}
	f.use(config)
	f.Store = encryption.New(encryption.Config{Store: raw, Providers: f.providers.Load, Resource: f.resourceOf, Logger: slog.New(slog.DiscardHandler)})
	return f
}

func (f *fixture) resourceOf(key string) (schema.GroupResource, bool) {
	if f.before != nil {
		f.before()
	}
	return resourceOf(key)
}

// use replaces the configuration.
func (f *fixture) use(config string) {
	f.t.Helper()
	p, err := load(f.t, config)
	if err != nil {
		f.t.Fatal(err)
	}
	f.providers.Store(p)
}

// resourceOf is the layout of the tests: /registry/RESOURCE/…, /storetest/… for Secrets, and /plain/… for no resource.
func resourceOf(key string) (schema.GroupResource, bool) {
	switch parts := strings.Split(key, "/"); parts[1] {
	case "storetest":
		return schema.GroupResource{Resource: "secrets"}, true
	case "registry":
		return schema.ParseGroupResource(parts[2]), true
	}
	return schema.GroupResource{}, false
}

func (f *fixture) put(key, value string) etcdstore.Revision {
	f.t.Helper()
	done, err := f.Transact(f.t.Context(), etcdstore.Txn{Then: []etcdstore.Op{{Verb: etcdstore.Put, Key: key, Value: []byte(value)}}})
	if err != nil {
		f.t.Fatal(err)
	}
	return done.Revision
}

func get(t *testing.T, s etcdstore.Store, key string) etcdstore.KV {
	t.Helper()
	kv, _, err := s.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return kv
}

// backend runs the suite of stores on a fixture.
type backend struct {
	*fixture
	compact func(etcdstore.Revision) error
}

func (b *backend) Compact(revision etcdstore.Revision) error { return b.compact(revision) }

func (b *backend) Txn(puts map[string][]byte, deletes []string) etcdstore.Revision {
	b.t.Helper()
	var txn etcdstore.Txn
	for _, key := range slices.Sorted(maps.Keys(puts)) {
		txn.Then = append(txn.Then, etcdstore.Op{Verb: etcdstore.Put, Key: key, Value: puts[key]})
	}
	for _, key := range slices.Sorted(slices.Values(deletes)) {
		txn.Then = append(txn.Then, etcdstore.Op{Verb: etcdstore.Delete, Key: key})
	}
	done, err := b.Transact(b.t.Context(), txn)
	if err != nil {
		b.t.Fatal(err)
	}
	return done.Revision
}

// TestStore checks that a store with encryption keeps the promises of a store, over a model of etcd.
func TestStore(t *testing.T) {
	for _, kind := range []string{"aescbc", "aesgcm", "secretbox"} {
		t.Run(kind, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) storetest.Backend {
				raw := memory.New()
				return &backend{newFixture(t, raw, configuration(provider(kind, "key1"))), raw.Compact}
			})
		})
	}
}

// TestStoreOverEtcd is TestStore over etcd.
func TestStoreOverEtcd(t *testing.T) {
	server, err := embedded.Start(t.Context(), embedded.Config{DataDir: t.TempDir(), ClientURL: "http://127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	storetest.Run(t, func(t *testing.T) storetest.Backend {
		raw, err := etcdstore.Open(etcdstore.Config{Endpoints: server.Endpoints()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = raw.Close() })
		kv, _ := server.Local()
		return &backend{newFixture(t, raw, configuration(provider("secretbox", "key1"))), compactor(t, kv)}
	})
}

// TestProviders checks which values each provider writes, and that the next configuration reads them.
func TestProviders(t *testing.T) {
	const key, text = "/registry/secrets/default/a", `{"kind":"Secret"}`
	for _, kind := range []string{"aescbc", "aesgcm", "secretbox"} {
		t.Run(kind, func(t *testing.T) {
			f := newFixture(t, memory.New(), configuration(provider(kind, "key1"), provider("identity", "")))
			f.put(key, text)
			stored := get(t, f.raw, key).Value
			if !bytes.HasPrefix(stored, []byte("k8s:enc:"+kind+":v1:key1:")) || bytes.Contains(stored, []byte("Secret")) {
				t.Errorf("stored as %q", stored)
			}
			if kv := get(t, f, key); string(kv.Value) != text || kv.Stale || kv.Unreadable != nil {
				t.Errorf("read %+v", kv)
			}
			f.put("/plain/a", text)
			f.put("/registry/configmaps/default/a", text)
			for _, key := range []string{"/plain/a", "/registry/configmaps/default/a"} {
				if kv := get(t, f.raw, key); string(kv.Value) != text {
					t.Errorf("%s is stored as %q", key, kv.Value)
				}
			}

			f.use(configuration(provider("identity", ""), provider(kind, "key1")))
			if kv := get(t, f, key); string(kv.Value) != text || !kv.Stale {
				t.Errorf("with another first provider: %+v", kv)
			}
			f.put(key, text)
			if kv := get(t, f.raw, key); string(kv.Value) != text {
				t.Errorf("stored again as %q", kv.Value)
			}
		})
	}
}

// TestCustomResources checks that a wildcard concerns resources that the configuration does not name.
func TestCustomResources(t *testing.T) {
	f := newFixture(t, memory.New(), configuration(provider("aesgcm", "key1")))
	f.put("/registry/widgets.example.com/default/a", "x")
	if kv := get(t, f.raw, "/registry/widgets.example.com/default/a"); !bytes.HasPrefix(kv.Value, []byte("k8s:enc:aesgcm:v1:key1:")) {
		t.Errorf("stored as %q", kv.Value)
	}
}

// TestUnreadable checks that a value without a key is no error of other values, and that the reason names key and provider, but no part of
// the value.
func TestUnreadable(t *testing.T) {
	f := newFixture(t, memory.New(), configuration(provider("aesgcm", "key1")))
	f.put("/registry/secrets/default/a", "one")
	copied := get(t, f.raw, "/registry/secrets/default/a").Value
	f.use(configuration(provider("aesgcm", "other"), provider("secretbox", "key2")))
	after := f.put("/registry/secrets/default/b", "two")
	for key, value := range map[string][]byte{
		"/registry/secrets/default/c": copied[:30], "/registry/secrets/default/d": []byte("{}"), "/registry/configmaps/default/e": copied,
		"/registry/secrets/default/f": []byte("k8s:enc:aesgcm:v1:" + strings.Repeat("x", 1000)),
	} {
		if _, err := f.raw.Create(t.Context(), key, value); err != nil {
			t.Fatal(err)
		}
	}
	f.use(configuration(provider("aesgcm", "other"), provider("secretbox", "key2")))
	page, err := f.List(t.Context(), "/registry/", etcdstore.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, kv := range page.KVs {
		got[kv.Key] = string(kv.Value)
		if kv.Unreadable != nil {
			got[kv.Key] = kv.Unreadable.Error()
		}
	}
	const of, lacks = "the value of the key %q cannot be decrypted: it begins with %q, and ", "no provider of secrets in --encryption-provider-config has decrypted it: no matching key was found for the provided AES transformer"
	want := map[string]string{
		"/registry/secrets/default/a": fmt.Sprintf(of+lacks, "/registry/secrets/default/a", "k8s:enc:aesgcm:v1:key1:"),
		"/registry/secrets/default/b": "two",
		"/registry/secrets/default/c": fmt.Sprintf(of+lacks, "/registry/secrets/default/c", "k8s:enc:aesgcm:v1:key1:"),
		"/registry/secrets/default/d": `the value of the key "/registry/secrets/default/d" cannot be decrypted: it is not encrypted, and the providers of secrets in ` +
			`--encryption-provider-config lack identity`,
		"/registry/secrets/default/f": fmt.Sprintf(of+lacks, "/registry/secrets/default/f", "k8s:enc:aesgcm:v1:"),
		"/registry/configmaps/default/e": fmt.Sprintf(of+"--encryption-provider-config has no providers for configmaps", "/registry/configmaps/default/e",
			"k8s:enc:aesgcm:v1:key1:"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	watcher := f.Watch(t.Context(), "/registry/", etcdstore.WatchOptions{After: after})
	defer watcher.Close()
	batch, err := watcher.Next(t.Context())
	if err != nil || len(batch.Events) == 0 || batch.Events[0].KV.Unreadable == nil {
		t.Errorf("events %+v, %v", batch.Events, err)
	}
}

// TestMovedValue checks that a value that somebody has copied to another key is not shown there.
func TestMovedValue(t *testing.T) {
	f := newFixture(t, memory.New(), configuration(provider("aesgcm", "key1")))
	f.put("/registry/secrets/default/a", "one")
	if _, err := f.raw.Create(t.Context(), "/registry/secrets/mine/a", get(t, f.raw, "/registry/secrets/default/a").Value); err != nil {
		t.Fatal(err)
	}
	if kv := get(t, f, "/registry/secrets/mine/a"); kv.Unreadable == nil {
		t.Errorf("read %q", kv.Value)
	}
}

// racingStore changes a key right before the first transactions that write.
type racingStore struct {
	*memory.Store
	races []string // the values to write
	key   string
	txns  int
}

func (s *racingStore) Transact(ctx context.Context, t etcdstore.Txn) (etcdstore.TxnResult, error) {
	if len(t.If) > 0 && len(s.races) > 0 {
		s.Txn(map[string][]byte{s.key: []byte(s.races[0])}, nil)
		s.races = s.races[1:]
	}
	s.txns++
	return s.Store.Transact(ctx, t)
}

// TestValueCondition checks that a condition on an encrypted value holds for the value that was written, and at the moment of the writes.
func TestValueCondition(t *testing.T) {
	const key = "/registry/secrets/default/a"
	raw := &racingStore{Store: memory.New(), key: key}
	f := newFixture(t, raw, configuration(provider("aescbc", "key1"), provider("identity", "")))
	f.put(key, "one")
	txn := etcdstore.Txn{
		If:   []etcdstore.Condition{{Key: key, Of: etcdstore.OfValue, Value: []byte("one")}, {Key: "/plain/new", Of: etcdstore.OfModified}},
		Then: []etcdstore.Op{{Verb: etcdstore.Put, Key: "/plain/then"}},
		Else: []etcdstore.Op{{Verb: etcdstore.Put, Key: "/plain/else"}, {Verb: etcdstore.Get, Key: key}},
	}
	for _, test := range []struct {
		name      string
		races     []string
		succeeded bool
		txns      int
	}{
		{"unchanged", nil, true, 2},
		{"written again", []string{"one"}, true, 4},
		{"changed meanwhile", []string{"one", "two"}, false, 6},
	} {
		raw.races, raw.txns = test.races, 0
		done, err := f.Transact(t.Context(), txn)
		if err != nil || done.Succeeded != test.succeeded || raw.txns != test.txns {
			t.Errorf("%s: %+v, %v after %d transactions; want %v after %d", test.name, done, err, raw.txns, test.succeeded, test.txns)
		}
		if !test.succeeded && string(done.Results[1].KV.Value) != "two" {
			t.Errorf("%s: read %q", test.name, done.Results[1].KV.Value)
		}
	}
	f.use(configuration(provider("secretbox", "key2")))
	if _, err := f.Transact(t.Context(), txn); !isUnreadable(err) {
		t.Errorf("a condition on a value without a key: %v", err)
	}
}

func isUnreadable(err error) bool {
	_, ok := errors.AsType[*etcdstore.UnreadableError](err)
	return ok
}

// TestRefusedConfigurations checks that the error of a bad configuration says what is wrong, and has no key.
func TestRefusedConfigurations(t *testing.T) {
	for name, test := range map[string]struct{ config, want string }{
		"empty":      {"", "is empty"},
		"no YAML":    {"{", "error decoding"},
		"kind":       {"apiVersion: v1\nkind: Secret\n", `no kind "Secret"`},
		"field":      {configuration(provider("aescbc", "key1")) + "more: 1\n", `unknown field "more"`},
		"key length": {configuration("  - aescbc: {keys: [{name: a, secret: " + base64.StdEncoding.EncodeToString([]byte("LEAK")) + "}]}\n"), "secret is not of the expected length, got 4"},
		"masked":     {strings.Replace(configuration(provider("aescbc", "key1")), "secrets", `"*.*", secrets`, 1), "overlapping resources"},
		"KMS v1":     {configuration("  - kms: {name: old, endpoint: 'unix:///tmp/kms.sock', cachesize: 10, timeout: 3s}\n"), `the provider kms "old" has not apiVersion: v2`},
	} {
		_, err := load(t, test.config)
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "LEAK") || strings.Contains(err.Error(), "TEVBS") {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
	file := filepath.Join(t.TempDir(), "encryption.yaml")
	if err := os.WriteFile(file, []byte(configuration(provider("aescbc", "key1"))), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := encryption.Load(t.Context(), file, []byte(configuration(provider("aescbc", "key2")))); err == nil {
		t.Error("a file that has changed since it was read is used")
	}
}

// TestFailures checks that a value is named while it cannot be decrypted: from Recheck on, and until it is decrypted, overwritten or gone.
func TestFailures(t *testing.T) {
	f := newFixture(t, memory.New(), configuration(provider("aescbc", "a")))
	f.put("/registry/secrets/x", "one")
	f.put("/registry/configmaps/x", "plain")
	wrong := configuration(provider("aescbc", "b"))
	f.use(wrong)
	for _, read := range []string{"/registry/secrets/", "/registry/configmaps/"} {
		if _, err := f.List(t.Context(), read, etcdstore.ListOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	want := func(when string, resources ...string) {
		t.Helper()
		f.Recheck(t.Context())
		var got []string
		for _, failure := range f.Failures() {
			got = append(got, failure.Resource.String())
			if !strings.Contains(failure.Err.Error(), "k8s:enc:aescbc:v1:a:") {
				t.Errorf("%s: %v, want one with the name of the key", when, failure.Err)
			}
		}
		if !slices.Equal(got, resources) {
			t.Errorf("%s: failures of %q, want %q", when, got, resources)
		}
	}
	if got := f.Failures(); len(got) > 0 {
		t.Errorf("%v before Recheck", got)
	}
	want("with a wrong key", "secrets")
	want("with a wrong key, again", "secrets")
	f.use(configuration(provider("aescbc", "b"), provider("aescbc", "a")))
	want("with the right key")
	f.use(wrong)
	if _, _, err := f.Get(t.Context(), "/registry/secrets/x"); err != nil {
		t.Fatal(err)
	}
	want("with a wrong key, later", "secrets")
	f.put("/registry/secrets/x", "two")
	want("after a write with the other key")
	f.providers.Store(encryption.None())
	kv, _, err := f.Get(t.Context(), "/registry/secrets/x")
	if err != nil || kv.Unreadable == nil || !strings.Contains(kv.Unreadable.Error(), "--encryption-provider-config is not given") {
		t.Errorf("without a configuration: %v, %v", kv.Unreadable, err)
	}
	if _, err := f.raw.Transact(t.Context(), etcdstore.Txn{Then: []etcdstore.Op{{Verb: etcdstore.Delete, Key: "/registry/secrets/x"}}}); err != nil {
		t.Fatal(err)
	}
	want("after a deletion")
}
