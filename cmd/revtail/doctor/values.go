package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"revtail/etcdstore"
	"revtail/etcdstore/encryption"
	"revtail/gateway/api/kinds"
)

const (
	// sampleValues is the maximum number of values of each resource that checkValues reads.
	sampleValues = 100
	// maxResources bounds the resources that checkValues reads. A cluster has about 70 of its own.
	maxResources = 2000
)

// layoutEntry is a built-in resource of a cluster.
type layoutEntry struct {
	name   string
	decode func([]byte) ([]byte, error)
}

// layout has the built-in resources of a cluster by the prefixes of their keys.
var layout = sync.OnceValue(func() map[string]layoutEntry {
	out := make(map[string]layoutEntry)
	for _, res := range kinds.InCluster() {
		if res.IsStored() {
			out[res.KeyPrefix] = layoutEntry{res.QualifiedName(), res.Decode}
		}
	}
	return out
})

// bookkeeping are prefixes of keys that a kube-apiserver writes for itself: they are not objects of the API.
var bookkeeping = []string{"masterleases", "peerserverleases", "ranges", "health"}

// found is what a sample of a cluster's values has.
type found struct {
	keys, read  int64
	resources   int
	events      bool               // there are Events
	undecoded   map[string]example // by resource
	undecrypted map[string]example // by resource
	unserved    map[string]example // by the prefix of the keys
	providers   map[string]bool    // provider and name of the key, as values tell
}

// example is one of several values, and what is wrong with it.
type example struct {
	n      int64
	key    string
	reason string
}

func (e example) plus(n int64, key, reason string) example {
	if e.n == 0 {
		e.key, e.reason = key, reason
	}
	e.n += n
	return e
}

// checkValues reads some values of each resource, and reports those that cannot be decrypted or decoded, and keys of no known resource.
func (d *doctor) checkValues(ctx context.Context) {
	providers, err := d.loadProviders(ctx)
	if err != nil {
		d.report(failed, "providers", err.Error(), "revtail and the kube-apiserver read the same file: correct it, or --encryption-provider-config")
		return
	}
	defer providers.Close()
	result, err := d.sample(ctx, encryption.New(encryption.Config{
		Store: d.store, Providers: func() *encryption.Providers { return providers }, Logger: slog.New(slog.DiscardHandler),
		Resource: func(key string) (schema.GroupResource, bool) { return kinds.ClusterResource(d.cfg.EtcdPrefix, key) },
	}))
	if errors.Is(err, etcdstore.ErrDenied) {
		d.report(failed, "content", err.Error(), "grant the user of --etcd-user reading of "+d.cfg.EtcdPrefix+"/")
		return
	}
	if away := (*etcdstore.EncryptionError)(nil); errors.As(err, &away) {
		d.report(failed, "providers", err.Error(), "start the KMS plugin, or correct its endpoint in --encryption-provider-config: until then lists of the resource fail")
		return
	}
	if err != nil {
		d.report(failed, "content", err.Error(), "")
		return
	}
	d.reportProviders(result)
	d.reportValues(result)
}

// loadProviders reads the file of --encryption-provider-config, if there is one.
func (d *doctor) loadProviders(ctx context.Context) (*encryption.Providers, error) {
	path := d.cfg.EncryptionProviderConfig
	if path == "" {
		return encryption.None(), nil
	}
	content, err := readIfGiven("--encryption-provider-config", path)
	if err != nil {
		return nil, err
	}
	providers, err := encryption.Load(ctx, path, content)
	if err != nil {
		return nil, fmt.Errorf("--encryption-provider-config %s: %w", path, err)
	}
	return providers, nil
}

func (d *doctor) reportProviders(f found) {
	for _, resource := range slices.Sorted(maps.Keys(f.undecrypted)) {
		e := f.undecrypted[resource]
		d.report(failed, "providers", fmt.Sprintf("%d values of %s cannot be decrypted, such as %q: %s", e.n, resource, e.key, e.reason),
			"give --encryption-provider-config the file of the kube-apiserver, here and to `revtail serve`; until then lists of the resource are 500")
	}
	switch names := slices.Sorted(maps.Keys(f.providers)); {
	case len(f.undecrypted) > 0:
	case len(names) == 0:
		d.report(ok, "providers", "no value that was read is encrypted", "")
	default:
		d.report(ok, "providers", "all encrypted values that were read can be decrypted: "+strings.Join(names, ", "), "")
	}
}

func (d *doctor) reportValues(f found) {
	for _, resource := range slices.Sorted(maps.Keys(f.undecoded)) {
		e := f.undecoded[resource]
		d.report(warning, "content", fmt.Sprintf("%d values of %s cannot be decoded, such as %q: %s", e.n, resource, e.key, e.reason),
			"lists and watches omit them, with a Warning; a kube-apiserver of a later release than 1.37 may have written them")
	}
	for _, prefix := range slices.Sorted(maps.Keys(f.unserved)) {
		e := f.unserved[prefix]
		d.report(warning, "content", fmt.Sprintf("%d keys under %s are of no kind that is known, such as %q: they are not served", e.n, prefix, e.key),
			"nothing, if their CustomResourceDefinition is deleted, or another program owns them")
	}
	if forwards := slices.ContainsFunc(d.cfg.ForwardResources, func(name string) bool { return strings.HasPrefix(name, "events") }); f.keys > 0 && !f.events && !forwards {
		d.report(warning, "content", "there are no events, which almost every cluster has",
			"if the kube-apiserver has --etcd-servers-overrides=/events#…, give `revtail serve` --kube-apiserver and --forward-resources events: its lists of events are empty otherwise")
	}
	d.report(ok, "content", fmt.Sprintf("%d keys of %d resources under %s; %d values were read, at most %d of each resource", f.keys, f.resources, d.cfg.EtcdPrefix, f.read, sampleValues), "")
}

// sample reads some values of each resource that has keys. It goes from one resource to the next, so that it reads no more of the others.
func (d *doctor) sample(ctx context.Context, store *encryption.Store) (found, error) {
	f := found{undecoded: map[string]example{}, undecrypted: map[string]example{}, unserved: map[string]example{}, providers: map[string]bool{}}
	root := d.cfg.EtcdPrefix + "/"
	defined, err := d.definitions(ctx)
	if err != nil {
		return f, err
	}
	for after := ""; f.resources < maxResources; {
		next, err := d.store.List(ctx, root, etcdstore.ListOptions{After: after, Limit: 1, KeysOnly: true})
		if err != nil || len(next.KVs) == 0 {
			return f, err
		}
		key := next.KVs[0].Key
		r := resourceOf(key[len(root):], defined)
		if r.prefix == "" { // a key directly below root
			after = key
		} else {
			after = root + r.prefix[:len(r.prefix)-1] + "0" // the next byte after '/': all keys with the prefix are smaller
		}
		if err := d.sampleResource(ctx, store, &f, r, key); err != nil {
			return f, err
		}
	}
	return f, nil
}

// keysOf are the keys of one resource, or of none.
type keysOf struct {
	prefix   string // below the prefix of the cluster, with a slash at its end; empty: there is one key
	resource string // empty: the keys are of none
	decode   func([]byte) ([]byte, error)
	internal bool // a kube-apiserver keeps something for itself there
}

// resourceOf returns the keys that one belongs to. key is without the prefix of the cluster; defined has the names of the definitions.
func resourceOf(key string, defined map[string]bool) keysOf {
	segments := strings.SplitN(key, "/", 3)
	first := segments[0] + "/"
	switch known, ok := layout()[segments[0]]; {
	case slices.Contains(bookkeeping, segments[0]) && len(segments) == 1:
		return keysOf{internal: true}
	case slices.Contains(bookkeeping, segments[0]):
		return keysOf{prefix: first, internal: true}
	case ok:
		return keysOf{prefix: first, resource: known.name, decode: known.decode}
	case len(segments) == 1:
		return keysOf{}
	case len(segments) == 2:
		return keysOf{prefix: first}
	}
	both, name := first+segments[1], segments[1]+"."+segments[0]
	if known, ok := layout()[both]; ok {
		return keysOf{prefix: both + "/", resource: known.name, decode: known.decode}
	}
	if defined[name] || name == definitionsName {
		return keysOf{prefix: both + "/", resource: name, decode: decodeCustom}
	}
	return keysOf{prefix: both + "/"}
}

// definitionsName is the resource of CustomResourceDefinitions.
const definitionsName = "customresourcedefinitions.apiextensions.k8s.io"

// decodeCustom accepts JSON objects, because a kube-apiserver stores custom resources as such.
func decodeCustom(value []byte) ([]byte, error) {
	var object map[string]json.RawMessage
	return value, json.Unmarshal(value, &object)
}

// definitions returns the names of the CustomResourceDefinitions, PLURAL.GROUP.
func (d *doctor) definitions(ctx context.Context) (map[string]bool, error) {
	prefix := d.cfg.EtcdPrefix + "/apiextensions.k8s.io/customresourcedefinitions/"
	page, err := d.store.List(ctx, prefix, etcdstore.ListOptions{KeysOnly: true})
	names := make(map[string]bool)
	for _, kv := range page.KVs {
		names[kv.Key[len(prefix):]] = true
	}
	return names, err
}

// sampleResource reads some values of a resource, whose first key is known.
func (d *doctor) sampleResource(ctx context.Context, store *encryption.Store, f *found, r keysOf, first string) error {
	if r.prefix == "" {
		if f.keys++; !r.internal {
			f.unserved[d.cfg.EtcdPrefix] = f.unserved[d.cfg.EtcdPrefix].plus(1, first, "")
		}
		return nil
	}
	f.resources++
	options := etcdstore.ListOptions{Limit: sampleValues, KeysOnly: r.resource == ""}
	stored, err := d.store.List(ctx, d.cfg.EtcdPrefix+"/"+r.prefix, options)
	if err != nil {
		return err
	}
	n := int64(len(stored.KVs)) + stored.Remaining
	f.keys += n
	f.events = f.events || r.resource == "events"
	if r.resource == "" {
		if !r.internal {
			prefix := d.cfg.EtcdPrefix + "/" + r.prefix
			f.unserved[prefix] = f.unserved[prefix].plus(n, first, "")
		}
		return nil
	}
	for _, kv := range stored.KVs {
		f.read++
		plain, err := store.Decrypt(ctx, kv)
		if err != nil {
			return err
		}
		f.judge(r, kv.Value, plain)
	}
	return nil
}

// judge adds a value, as it is stored and decrypted.
func (f *found) judge(r keysOf, stored []byte, plain etcdstore.KV) {
	if plain.Unreadable != nil {
		f.undecrypted[r.resource] = f.undecrypted[r.resource].plus(1, plain.Key, plain.Unreadable.Reason)
		return
	}
	if provider := encryption.ProviderOf(stored); provider != "" {
		f.providers[provider] = true
	}
	if _, err := r.decode(plain.Value); err != nil {
		f.undecoded[r.resource] = f.undecoded[r.resource].plus(1, plain.Key, err.Error())
	}
}
