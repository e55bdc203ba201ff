package catalog

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"revtail/encoding"
	"revtail/encoding/jsontext"
	"revtail/etcdstore"
	"revtail/gateway/api/conversion"
	"revtail/gateway/api/customresource"
	"revtail/gateway/api/managedfields"
	"revtail/gateway/api/object"
	"revtail/gateway/metrics"
	"revtail/gateway/resource"
	"revtail/gateway/watchcache"
)

// Cache is the watch cache of a resource, with the managers of its objects' fields.
type Cache struct {
	*watchcache.Cache
	Fields   *managedfields.Managers
	resource *resource.Resource
	store    etcdstore.Store
	converts *conversion.Store  // nil: no webhook converts the objects
	readable chan struct{}      // holds one: an object may be converted that could not be
	stored   *Cache             // of the same objects as they are stored, if a webhook converts those of this cache; nil otherwise
	stop     context.CancelFunc // nil: not started
	demanded chan struct{}      // closed by the first Demand; nil: the cache is filled from the start
	demand   func()             // closes demanded, once
	paged    bool               // pages of lists are read from the store as long as the cache is not filled
}

// eventGap is the time for which events are collected, so that a burst of writes becomes one write to each watch. It is shorter than a
// flush of etcd to its disk.
const eventGap = 2 * time.Millisecond

// NewCache returns the cache of a resource, which is not started.
func (c *Catalog) NewCache(res *resource.Resource) *Cache {
	config := watchcache.Config{
		Store:  c.Store,
		Prefix: res.Prefix(c.Prefix),
		Decode: decoder(res, c.Prefix),
		Logger: c.Logger,
		Gap:    eventGap,

		LogReserve: c.logs,
	}
	out := &Cache{resource: res, store: c.Store}
	if (c.Cluster || c.File) && res != customresource.Kind() {
		out.demanded = make(chan struct{})
		out.demand = sync.OnceFunc(func() { close(out.demanded) })
		out.paged = c.File && res.Conversion == nil && res.Mount == nil
	}
	if res.Conversion != nil {
		out.converts = conversion.NewStore(c.Store, res.Conversion)
		out.readable = make(chan struct{}, 1)
		config.Store, config.Readable = out.converts, out.readable
	}
	if res.Mount != nil {
		config.Path = res.Mount.Path
		config.Decode = func(kv etcdstore.KV, _ []byte) (encoding.Object, error) {
			return res.Mount.Decode(resource.Entry{Key: kv.Key, Value: kv.Value, Created: int64(kv.Created), Modified: int64(kv.Modified)})
		}
		config.Key = func(path string) string {
			scope, _ := res.Split(path) // objects in the cache have valid paths
			return res.Key(c.Prefix, scope)
		}
	}
	out.Cache, out.Fields = watchcache.New(config), managedfields.New(res)
	return out
}

// AsStored returns the cache in which every object of this one has its metadata, whether or not a webhook can convert it.
func (c *Cache) AsStored() *Cache {
	return cmp.Or(c.stored, c)
}

// Resource returns the resource of the objects.
func (c *Cache) Resource() *resource.Resource { return c.resource }

// Decode makes an object from a key and its value as it is stored.
func (c *Cache) Decode(kv etcdstore.KV) *watchcache.Object {
	if c.resource.Conversion != nil {
		conversion.Convert(c.resource.Conversion, &kv)
	}
	return c.Cache.Decode(kv)
}

// start runs the cache until ctx ends or stop is called: at once, or from the first Demand on.
func (c *Cache) start(ctx context.Context, running *sync.WaitGroup) {
	ctx, c.stop = context.WithCancel(ctx)
	running.Go(func() {
		if c.demanded != nil && waitFor(ctx, c.demanded) != nil {
			return
		}
		_ = c.Run(ctx) // always nil
	})
}

// demandTimeout bounds the time for which a request waits for a cache that it makes the gateway fill.
const demandTimeout = 30 * time.Second

// Demand begins to fill a cache that is filled when somebody needs it, and waits for that, but not for ever: then the cache itself says that it
// is not filled. The error is that of ctx.
func (c *Cache) Demand(ctx context.Context) error {
	if c == nil || c.demanded == nil {
		return nil
	}
	c.AsStored().demand()
	c.demand()
	bounded, cancel := context.WithTimeout(ctx, demandTimeout)
	defer cancel()
	_ = waitFor(bounded, c.AsStored().Filled())
	return ctx.Err()
}

// Wanted reports whether the cache is filled, or is to be: false for one that nobody has needed yet.
func (c *Cache) Wanted() bool { return c.demanded == nil || isClosed(c.demanded) }

// decoder returns the function that decodes the keys below a resource's prefix.
func decoder(res *resource.Resource, root string) func(etcdstore.KV, []byte) (encoding.Object, error) {
	prefix, apiVersion := res.Prefix(root), res.APIVersion()
	return func(kv etcdstore.KV, buffer []byte) (encoding.Object, error) {
		scope, ok := res.Split(kv.Key[len(prefix):])
		if !ok {
			return encoding.Object{}, errMisplaced
		}
		if len(kv.Value) == 0 {
			return encoding.Object{}, errNoValue
		}
		id := encoding.Identity{APIVersion: apiVersion, Kind: res.Kind, Namespace: scope.Namespace, Name: scope.Name}
		if res.AnyVersion {
			if stored, ok := jsontext.Lookup(kv.Value, []string{"apiVersion"}); ok {
				id.APIVersion = stored
			}
		}
		if res.Decode == nil {
			return encoding.NormalizeIn(buffer, object.WithDefaults(res, kv.Value), id, int64(kv.Modified))
		}
		if bytes.HasPrefix(kv.Value, encrypted) {
			return encoding.Object{}, &etcdstore.UnreadableError{Key: kv.Key, Reason: "no provider is configured: see --encryption-provider-config"}
		}
		value, err := res.Decode(kv.Value)
		if err != nil {
			return encoding.Object{}, err
		}
		return encoding.NormalizeIn(buffer, value, id, int64(kv.Modified))
	}
}

// encrypted begins the values that a kube-apiserver has encrypted.
var encrypted = []byte("k8s:enc:")

// errNoValue is also the error of a value that a journal does not keep.
var errNoValue = errors.New("its value is empty, or is not recorded")

var errMisplaced = errors.New("the key has not the form that the resource's keys have")

// Figures returns the metrics of all caches.
func (c *Catalog) Figures() []metrics.Cache {
	now := c.Current()
	out := make([]metrics.Cache, 0, len(now.Caches))
	for _, res := range now.Registry.All() {
		if cache, ok := now.Caches[res]; ok && cache.Wanted() {
			out = append(out, metrics.CacheOf(res.QualifiedName(), cache.Stats()))
		}
	}
	return out
}

// Target is what a URL names, with the cache of its resource.
type Target struct {
	resource.Ref
	Cache *Cache // nil: no objects are stored
}
