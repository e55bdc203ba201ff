package claim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"revtail/etcdstore"
	"revtail/etcdstore/memory"
	"revtail/gateway/api/kinds"
)

const prefix = "/registry"

// own returns an object as revtail stores it.
func own(apiVersion, kind, namespace, name string) string {
	return fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q,"namespace":%q,"uid":"u","creationTimestamp":"2026-11-22T00:00:00Z"}}`,
		apiVersion, kind, name, namespace)
}

// fill writes keys and values, given in pairs.
func fill(t *testing.T, s etcdstore.Store, pairs ...string) {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		put := etcdstore.Op{Verb: etcdstore.Put, Key: pairs[i], Value: []byte(pairs[i+1])}
		if _, err := s.Transact(t.Context(), etcdstore.Txn{Then: []etcdstore.Op{put}}); err != nil {
			t.Fatal(err)
		}
	}
}

func open(t *testing.T, s etcdstore.Store, change func(*Config)) (*Claim, error) {
	t.Helper()
	config := Config{Store: s, Prefix: prefix, Builtin: kinds.Builtin(), Logger: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&config)
	}
	return Open(t.Context(), config)
}

func mustOpen(t *testing.T, s etcdstore.Store, change func(*Config)) *Claim {
	t.Helper()
	c, err := open(t, s, change)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func revision(t *testing.T, s etcdstore.Store) etcdstore.Revision {
	t.Helper()
	r, err := s.Revision(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// owners are contents of etcd, with the owner that they indicate.
var owners = []struct {
	name     string
	prefix   string // empty: /registry
	pairs    []string
	owner    Owner
	evidence string
}{
	{name: "nothing", owner: Unclaimed},
	{name: "keys outside of the prefix", pairs: []string{"/registry2/x", "1", "/service/batman/leader", "a", "revtail/compactor", "{}"}, owner: Unclaimed},
	{name: "an object of revtail's", pairs: []string{"/registry/configmaps/default/a", own("v1", "ConfigMap", "default", "a")}, owner: Own,
		evidence: "/registry/configmaps/default/a"},
	{name: "objects of revtail's and one that etcdctl has put", pairs: []string{"/registry/configmaps/default/a", `{"data":{}}`,
		"/registry/apps/deployments/default/a", own("apps/v1", "Deployment", "default", "a")}, owner: Own, evidence: "/registry/apps/deployments/default/a"},
	{name: "a definition of revtail's", pairs: []string{"/registry/apiextensions.k8s.io/customresourcedefinitions/x.example.com",
		own("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "x.example.com")}, owner: Own,
		evidence: "/registry/apiextensions.k8s.io/customresourcedefinitions/x.example.com"},
	{name: "an APIService of revtail's", pairs: []string{"/registry/apiservices/v1.apps", own("apiregistration.k8s.io/v1", "APIService", "", "v1.apps")}, owner: Own,
		evidence: "/registry/apiservices/v1.apps"},
	{name: "an APIService of a cluster", pairs: []string{"/registry/apiregistration.k8s.io/apiservices/v1.apps", own("apiregistration.k8s.io/v1", "APIService", "", "v1.apps")},
		owner: Kubernetes, evidence: "/registry/apiregistration.k8s.io/apiservices/v1.apps"},
	{name: "an object that etcdctl has put", pairs: []string{"/registry/configmaps/default/a", `{"data":{}}`}, owner: Foreign,
		evidence: "/registry/configmaps/default/a"},
	{name: "an object of another name", pairs: []string{"/registry/configmaps/default/a", own("v1", "ConfigMap", "default", "b")}, owner: Foreign,
		evidence: "/registry/configmaps/default/a"},
	{name: "an object in a cluster's layout", pairs: []string{"/registry/deployments/default/a", own("apps/v1", "Deployment", "default", "a")}, owner: Foreign,
		evidence: "/registry/deployments/default/a"},
	{name: "keys of no resource", pairs: []string{"/registry/config", "x"}, owner: Foreign, evidence: "/registry/config"},
	{name: "protobuf", pairs: []string{"/registry/configmaps/default/a", own("v1", "ConfigMap", "default", "a"), "/registry/configmaps/default/b", "k8s\x00\n"},
		owner: Kubernetes, evidence: "/registry/configmaps/default/b"},
	{name: "an encrypted value", pairs: []string{"/registry/secrets/default/a", "k8s:enc:aescbc:v1:k:x"}, owner: Kubernetes, evidence: "/registry/secrets/default/a"},
	{name: "protobuf below a level", prefix: "/clusters", pairs: []string{"/clusters/a/registry/pods/default/x", "k8s\x00\n"}, owner: Kubernetes,
		evidence: "/clusters/a/registry/pods/default/x"},
	{name: "a prefix in a cluster's", prefix: "/registry/example.com", pairs: []string{"/registry/masterleases/10.0.0.1", "x"}, owner: Kubernetes,
		evidence: "/registry/masterleases/10.0.0.1"},
	{name: "a cluster without a prefix", prefix: "/x", pairs: []string{"/minions/a", "x"}, owner: Kubernetes, evidence: "/minions/a"},
	{name: "ranges", pairs: []string{"/registry/ranges/serviceips", "x"}, owner: Kubernetes, evidence: "/registry/ranges/serviceips"},
	{name: "services", pairs: []string{"/registry/services/specs/default/a", "{}"}, owner: Kubernetes, evidence: "/registry/services/specs/default/a"},
	{name: "services of a namespace of that name", pairs: []string{"/registry/services/specs/a", own("v1", "Service", "specs", "a")}, owner: Own,
		evidence: "/registry/services/specs/a"},
	{name: "leases of an apiserver", pairs: []string{"/registry/leases/kube-system/apiserver-1", "{}"}, owner: Kubernetes,
		evidence: "/registry/leases/kube-system/apiserver-1"},
	{name: "an etcd that a kube-apiserver compacts", prefix: "/mine", pairs: []string{"compact_rev_key", "7"}, owner: Kubernetes, evidence: "compact_rev_key"},
	{name: "a cluster added after the marker", pairs: []string{"revtail/claims/registry", `{"format":1,"prefix":"/registry"}`, "/registry/minions/a", "x"},
		owner: Kubernetes, evidence: "/registry/minions/a"},
	{name: "the marker", pairs: []string{"revtail/claims/registry", `{"format":1,"prefix":"/registry"}`, "/registry/configmaps/default/a", "{}"}, owner: Own},
	{name: "the marker, and encrypted values", pairs: []string{"revtail/claims/registry", `{"format":1,"prefix":"/registry"}`, "/registry/secrets/default/a", "k8s:enc:secretbox:v1:k:x"},
		owner: Own},
	{name: "the marker of a newer release", pairs: []string{"revtail/claims/registry", `{"format":2,"prefix":"/registry"}`}, owner: Foreign,
		evidence: "revtail/claims/registry"},
	{name: "an unreadable marker", pairs: []string{"revtail/claims/registry", `yes`}, owner: Foreign, evidence: "revtail/claims/registry"},
}

func TestOwner(t *testing.T) {
	for _, test := range owners {
		t.Run(test.name, func(t *testing.T) {
			s := memory.New()
			fill(t, s, test.pairs...)
			before := revision(t, s)
			c := mustOpen(t, s, func(config *Config) {
				if test.prefix != "" {
					config.Prefix = test.prefix
				}
			})
			if got := c.State(); got.Owner != test.owner || got.Evidence != test.evidence {
				t.Errorf("%+v, want %s by %q", got, test.owner, test.evidence)
			}
			wrote := revision(t, s) > before
			if adopted := test.owner == Own && test.evidence != ""; wrote != adopted {
				t.Errorf("wrote to etcd: %t, want %t", wrote, adopted)
			}
			if foreign := c.State().IsForeign(); foreign == c.State().Writable {
				t.Errorf("%+v", c.State())
			}
		})
	}
}

// TestOwnerOfMany checks that objects of revtail, and protobuf, are found behind a page of other objects.
func TestOwnerOfMany(t *testing.T) {
	s := memory.New()
	for i := range 2 * etcdstore.ScanKeys {
		fill(t, s, fmt.Sprintf("/registry/configmaps/default/%04d", i), "{}")
	}
	if got := mustOpen(t, s, nil).State().Owner; got != Foreign {
		t.Errorf("%s, want foreign", got)
	}
	fill(t, s, "/registry/secrets/default/a", own("v1", "Secret", "default", "a"), "/registry/x", "k8s\x00")
	if got := mustOpen(t, s, nil).State().Owner; got != Kubernetes {
		t.Errorf("%s, want kube-apiserver", got)
	}
}

// TestFirstWriteClaims checks that a start writes nothing, and that the first write of a client adds the marker in the same revision.
func TestFirstWriteClaims(t *testing.T) {
	ctx := t.Context()
	put := etcdstore.Op{Verb: etcdstore.Put, Key: "/app/a", Value: []byte("1")}
	get := etcdstore.Op{Verb: etcdstore.Get, Key: "/app/a"}
	var many []etcdstore.Op
	for i := range maxOps {
		many = append(many, etcdstore.Op{Verb: etcdstore.Put, Key: fmt.Sprint("/app/", i)})
	}
	for name, test := range map[string]struct {
		write func(etcdstore.Store) error
		costs etcdstore.Revision
		own   bool
	}{
		"create": {func(s etcdstore.Store) error { _, err := s.Create(ctx, "/registry/a", []byte("{}")); return err }, 1, true},
		"transaction": {func(s etcdstore.Store) error {
			done, err := s.Transact(ctx, etcdstore.Txn{Then: []etcdstore.Op{put, get}})
			if len(done.Results) != 2 {
				err = fmt.Errorf("%d results, want two", len(done.Results))
			}
			return err
		}, 1, true},
		"large transaction": {func(s etcdstore.Store) error { _, err := s.Transact(ctx, etcdstore.Txn{Then: many}); return err }, 2, true},
		"reading transaction": {func(s etcdstore.Store) error {
			_, err := s.Transact(ctx, etcdstore.Txn{Then: []etcdstore.Op{get}})
			return err
		}, 0, false},
		"failing transaction": {func(s etcdstore.Store) error {
			_, err := s.Transact(ctx, etcdstore.Txn{If: []etcdstore.Condition{{Key: "/app/a", Is: etcdstore.Greater}}, Then: []etcdstore.Op{put}, Else: []etcdstore.Op{get}})
			return err
		}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := memory.New()
			c := mustOpen(t, s, nil)
			before := revision(t, s)
			if err := c.Verify(ctx); !errors.Is(err, ErrNotOwn) {
				t.Errorf("Verify before the first write: %v", err)
			}
			if err := test.write(c.ForClients()); err != nil {
				t.Fatal(err)
			}
			if got := revision(t, s) - before; got != test.costs {
				t.Errorf("%d revisions, want %d", got, test.costs)
			}
			if got := c.State().Owner == Own; got != test.own {
				t.Errorf("own: %t, want %t", got, test.own)
			}
			if err := c.Verify(ctx); (err == nil) != test.own {
				t.Errorf("Verify after it: %v", err)
			}
			if got := mustOpen(t, s, nil).State().Owner == Own; got != test.own {
				t.Errorf("at the next start: own %t, want %t", got, test.own)
			}
		})
	}
}

// TestFirstCreateMayFail checks that a create of an existing key is refused, and claims nothing.
func TestFirstCreateMayFail(t *testing.T) {
	s := memory.New()
	c := mustOpen(t, s, nil)
	fill(t, s, "/registry/a", "{}")
	if _, err := c.ForClients().Create(t.Context(), "/registry/a", nil); !errors.Is(err, etcdstore.ErrExists) {
		t.Errorf("%v, want ErrExists", err)
	}
	if got := c.State().Owner; got != Unclaimed {
		t.Errorf("%s, want unclaimed", got)
	}
}

// TestClusterComesBeforeFirstWrite checks that the first write checks the owner again.
func TestClusterComesBeforeFirstWrite(t *testing.T) {
	s := memory.New()
	c := mustOpen(t, s, nil)
	fill(t, s, "/registry/masterleases/10.0.0.1", "k8s\x00")
	before := revision(t, s)
	if _, err := c.ForClients().Create(t.Context(), "/registry/configmaps/default/a", []byte("{}")); !errors.As(err, new(*ReadOnlyError)) {
		t.Errorf("%v, want a ReadOnlyError", err)
	}
	if revision(t, s) != before {
		t.Error("etcd was written to")
	}
}

// writing has every kind of write.
func writing(t *testing.T) map[string]func(etcdstore.Store) error {
	t.Helper()
	ctx := t.Context()
	return map[string]func(etcdstore.Store) error{
		"Create": func(s etcdstore.Store) error { _, err := s.Create(ctx, "/registry/new", nil); return err },
		"CreateGuarded": func(s etcdstore.Store) error {
			_, err := s.CreateGuarded(ctx, "/registry/new", nil, etcdstore.Guard{Key: "/registry/a", Modified: 2})
			return err
		},
		"Update": func(s etcdstore.Store) error { _, err := s.Update(ctx, "/registry/a", nil, 2); return err },
		"Delete": func(s etcdstore.Store) error { _, err := s.Delete(ctx, "/registry/a", 0); return err },
		"Transact": func(s etcdstore.Store) error {
			_, err := s.Transact(ctx, etcdstore.Txn{Else: []etcdstore.Op{{Verb: etcdstore.Delete, Key: "/registry/", Prefix: true}}, If: []etcdstore.Condition{{Key: "/x", Is: etcdstore.Greater}}})
			return err
		},
		"Grant":  func(s etcdstore.Store) error { _, _, err := s.Grant(ctx, 1e9); return err },
		"Revoke": func(s etcdstore.Store) error { return s.Revoke(ctx, 1) },
	}
}

// TestStores checks that every kind of write is subject to the claim, for clients and for the gateway itself.
func TestStores(t *testing.T) {
	for name, write := range writing(t) {
		for _, test := range []struct {
			data     string
			key      string
			writable bool
			clients  string // part of the error of a client's write; empty: no error
		}{
			{"kube-apiserver", "/registry/minions/a", false, "--etcd-prefix /revtail --adopt"},
			{"foreign", "/registry/a", false, "--writable"},
			{"writable", "/registry/a", true, ""},
		} {
			t.Run(name+"/"+test.data, func(t *testing.T) {
				s := memory.New()
				fill(t, s, "/registry/a", "{}", test.key, "{}")
				c := mustOpen(t, s, func(config *Config) { config.Writable = test.writable })
				before := revision(t, s)
				if err := write(c.ForItself()); !errors.Is(err, ErrNotOwn) {
					t.Errorf("the gateway's own write: %v, want ErrNotOwn", err)
				}
				if revision(t, s) != before {
					t.Error("the write was executed")
				}
				err := write(c.ForClients())
				if refused := new(*ReadOnlyError); errors.As(err, refused) != (test.clients != "") || test.clients != "" && !strings.Contains(err.Error(), test.clients) {
					t.Errorf("a client's write: %v, want one that says %q", err, test.clients)
				}
				if test.clients != "" && revision(t, s) != before {
					t.Error("the write was executed")
				}
			})
		}
	}
}

// TestOptions checks what the options of an operator can change.
func TestOptions(t *testing.T) {
	cluster := []string{"/registry/masterleases/a", "x"}
	foreign := []string{"/registry/x/y", "{}"}
	for name, test := range map[string]struct {
		pairs   []string
		change  func(*Config)
		owner   Owner
		refused string
	}{
		"a cluster is not adopted":         {cluster, func(c *Config) { c.Adopt = true }, "", "--adopt: a kube-apiserver"},
		"a cluster is not made writable":   {cluster, func(c *Config) { c.Writable = true }, "", "--writable: a kube-apiserver"},
		"foreign data is adopted":          {foreign, func(c *Config) { c.Adopt = true }, Own, ""},
		"an empty prefix is adopted":       {nil, func(c *Config) { c.Adopt = true }, Own, ""},
		"adopting twice changes nothing":   {[]string{"revtail/claims/registry", `{"format":1,"prefix":"/registry"}`}, func(c *Config) { c.Adopt = true }, Own, ""},
		"a newer format is not adopted":    {[]string{"revtail/claims/registry", `{"format":9,"prefix":"/registry"}`}, func(c *Config) { c.Adopt = true }, "", "newer release"},
		"an empty prefix beside a cluster": {append(cluster, "compact_rev_key", "1"), func(c *Config) { c.Adopt, c.Prefix = true, "/mine" }, Own, ""},
		"a filled prefix beside a cluster": {append(cluster, "compact_rev_key", "1", "/mine/a", "{}"), func(c *Config) { c.Adopt, c.Prefix = true, "/mine" }, "", "--adopt: a kube-apiserver"},
		"a prefix of an earlier release beside a cluster": {append(cluster, "compact_rev_key", "1", "/mine/configmaps/default/a", own("v1", "ConfigMap", "default", "a")),
			func(c *Config) { c.Adopt, c.Prefix = true, "/mine" }, Own, ""},
		"a prefix within a cluster": {cluster, func(c *Config) { c.Adopt, c.Prefix = true, "/registry/mine" }, "", "--adopt: a kube-apiserver"},
	} {
		t.Run(name, func(t *testing.T) {
			s := memory.New()
			fill(t, s, test.pairs...)
			c, err := open(t, s, test.change)
			if test.refused != "" {
				if refused := new(*RefusedError); !errors.As(err, refused) || !strings.Contains(err.Error(), test.refused) {
					t.Errorf("%v, want one that says %q", err, test.refused)
				}
				return
			}
			if err != nil || c.State().Owner != test.owner {
				t.Fatalf("%v, %v", err, c)
			}
			// Without the option, the next start finds the marker.
			again := mustOpen(t, s, func(config *Config) { test.change(config); config.Adopt, config.Writable = false, false })
			if got := again.State().Owner; got != test.owner {
				t.Errorf("at the next start: %s", got)
			}
		})
	}
}

// TestVerify checks that the owner is read from etcd again, and that the newest answer counts.
func TestVerify(t *testing.T) {
	ctx := t.Context()
	for name, test := range map[string]struct {
		do    func(*memory.Store)
		owner Owner
	}{
		"nothing happens":    {func(*memory.Store) {}, Own},
		"a cluster is added": {func(s *memory.Store) { fill(t, s, "/registry/minions/a", "x") }, Kubernetes},
		"the marker is deleted, and objects of revtail stay": {func(s *memory.Store) {
			fill(t, s, "/registry/configmaps/default/a", own("v1", "ConfigMap", "default", "a"))
			_, _ = s.Delete(ctx, MarkerKey(prefix), 0)
		}, Own},
		"the marker is deleted, and objects of others stay": {func(s *memory.Store) {
			fill(t, s, "/registry/x/a", "{}")
			_, _ = s.Delete(ctx, MarkerKey(prefix), 0)
		}, Foreign},
		"everything is deleted": {func(s *memory.Store) { _, _ = s.Delete(ctx, MarkerKey(prefix), 0) }, Unclaimed},
	} {
		t.Run(name, func(t *testing.T) {
			s := memory.New()
			c := mustOpen(t, s, func(config *Config) { config.Adopt = true })
			test.do(s)
			if err := c.Verify(ctx); err != nil {
				t.Errorf("within ten seconds: %v", err)
			}
			c.verified = c.verified.Add(-verifyEvery)
			if err := c.Verify(ctx); (err == nil) != (test.owner == Own) || err != nil && !errors.Is(err, ErrNotOwn) {
				t.Errorf("after ten seconds: %v", err)
			}
			if got := c.State().Owner; got != test.owner {
				t.Errorf("%s, want %s", got, test.owner)
			}
		})
	}
}

// TestOwned checks that the first write closes owned.
func TestOwned(t *testing.T) {
	s := memory.New()
	c := mustOpen(t, s, nil)
	select {
	case <-c.owned:
		t.Fatal("an empty prefix is owned")
	default:
	}
	if _, err := c.ForClients().Create(t.Context(), "/registry/a", nil); err != nil {
		t.Fatal(err)
	}
	<-c.owned
}

// TestAdoptionIsLoggedFirst checks that the adoption is logged before it is made.
func TestAdoptionIsLoggedFirst(t *testing.T) {
	s := memory.New()
	fill(t, s, "/registry/x/a", "{}")
	var log bytes.Buffer
	mustOpen(t, s, func(c *Config) { c.Adopt, c.Logger = true, slog.New(slog.NewTextHandler(&log, nil)) })
	for _, want := range []string{"level=WARN", "owners are gone", "empties namespaces", "marker=revtail/claims/registry"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not say %q:\n%s", want, log.String())
		}
	}
}

func TestRoots(t *testing.T) {
	if diff := cmp.Diff([]string{"/a/b/c", "/a/b", "/a", ""}, roots("/a/b/c")); diff != "" {
		t.Error(diff)
	}
}

// TestFile checks that data in a file is only read, whoever owns it, and that no background work begins.
func TestFile(t *testing.T) {
	for _, test := range owners {
		t.Run(test.name, func(t *testing.T) {
			s := memory.New()
			fill(t, s, test.pairs...)
			before := revision(t, s)
			c := mustOpen(t, s, func(config *Config) {
				config.File = "the snapshot backup.db"
				if test.prefix != "" {
					config.Prefix = test.prefix
				}
			})
			if got := c.State(); got.Owner != test.owner || got.Writable || got.File != c.config.File {
				t.Errorf("%+v, want %s that cannot be written", got, test.owner)
			}
			_, err := c.ForClients().Create(t.Context(), "/registry/configmaps/default/new", nil)
			if readOnly := (*ReadOnlyError)(nil); !errors.As(err, &readOnly) || !strings.Contains(err.Error(), "backup.db") {
				t.Errorf("a client creates: %v, want a ReadOnlyError", err)
			}
			if _, err := c.ForItself().Create(t.Context(), "/registry/configmaps/default/new", nil); !errors.Is(err, ErrNotOwn) {
				t.Errorf("the gateway creates: %v, want ErrNotOwn", err)
			}
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			if c.WaitOwned(ended) == nil {
				t.Error("background work begins")
			}
			if after := revision(t, s); after != before {
				t.Errorf("revision %d, want %d: something was written", after, before)
			}
		})
	}
}
