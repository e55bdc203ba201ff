package informer

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"revtail/encoding"
	"revtail/etcdstore"
	"revtail/gateway/api/catalog"
	"revtail/gateway/resource"
	"revtail/gateway/watchcache"
)

var (
	errNotTyped = errors.New("informers of parameters have no Go types")
	// ErrNotServed says that there is no watch cache of a resource.
	ErrNotServed = errors.New("the resource is not served")
)

// Source lists and watches the objects of a resource, of all namespaces or of one, in their watch cache. It is a cache.ListerWatcher.
type Source struct {
	Catalog   *catalog.Catalog
	Resource  schema.GroupVersionResource
	Namespace string // empty: all
	Make      func() runtime.Object
}

// Cache returns the watch cache, if the resource is served now.
func (s *Source) Cache() (*watchcache.Cache, error) {
	now := s.Catalog.Current()
	res := now.Registry.Lookup(s.Resource.Group, s.Resource.Version, s.Resource.Resource)
	if cache, ok := now.Caches[res]; ok && res != nil {
		return cache.Cache, nil
	}
	return nil, ErrNotServed
}

// Newest returns an object in the newest state of etcd; nil: it does not exist.
func (s *Source) Newest(ctx context.Context, name string) (*watchcache.Object, error) {
	cache, err := s.Cache()
	if err != nil {
		return nil, err
	}
	revision, err := cache.Newest(ctx)
	if err != nil {
		return nil, err
	}
	object, err := cache.Get(ctx, resource.Scope{Namespace: s.Namespace, Name: name}.Path(), revision)
	if err != nil || object == nil || !object.Shown() {
		return nil, err
	}
	return object, nil
}

// IsWatchListSemanticsUnSupported makes reflectors list before they watch: a list costs no request here.
func (*Source) IsWatchListSemanticsUnSupported() bool { return true }

// List implements cache.ListerWatcher.
func (s *Source) List(metav1.ListOptions) (runtime.Object, error) {
	list, err := s.Objects(context.Background()) //nolint:forbidigo // of memory
	if err != nil {
		return nil, err
	}
	out := &metav1.List{ListMeta: metav1.ListMeta{ResourceVersion: FormatRevision(list.Revision)}}
	for o := range list.Objects {
		if object, err := s.Decode(o); err == nil {
			out.Items = append(out.Items, runtime.RawExtension{Object: object})
		}
	}
	return out, nil
}

// FormatRevision returns a revision as a resourceVersion.
func FormatRevision(r etcdstore.Revision) string { return strconv.FormatInt(int64(r), 10) }

// Objects returns the newest state in memory.
func (s *Source) Objects(ctx context.Context) (*watchcache.List, error) {
	cache, err := s.Cache()
	if err != nil {
		return nil, err
	}
	return cache.List(ctx, watchcache.ListQuery{Namespace: s.Namespace})
}

// all returns the objects of all namespaces, or of one.
func (s *Source) all() (out []any, err error) {
	list, err := s.Objects(context.Background()) //nolint:forbidigo // of memory
	if err != nil {
		return nil, err
	}
	for o := range list.Objects {
		if object, err := s.Decode(o); err == nil {
			out = append(out, object)
		}
	}
	return out, nil
}

// Decode returns the object of a document. One that is no object of its type is left out: it configures nothing in a cluster either.
func (s *Source) Decode(o *watchcache.Object) (runtime.Object, error) {
	object := s.Make()
	if u, ok := object.(*unstructured.Unstructured); ok {
		return u, u.UnmarshalJSON(o.JSON)
	}
	return object, json.Unmarshal(o.JSON, object)
}

// Watch implements cache.ListerWatcher.
func (s *Source) Watch(options metav1.ListOptions) (watch.Interface, error) {
	after, err := strconv.ParseInt(options.ResourceVersion, 10, 64)
	if err != nil {
		return nil, err
	}
	cache, err := s.Cache()
	if err != nil {
		return nil, err
	}
	watcher, err := cache.Watch(watchcache.WatchQuery{Namespace: s.Namespace, After: etcdstore.Revision(after), Own: true})
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background()) //nolint:forbidigo // ends with the watch
	w := &events{source: s, stop: stop, results: make(chan watch.Event)}
	go w.run(ctx, watcher)
	return w, nil
}

// events is a watch.Interface.
type events struct {
	source  *Source
	stop    context.CancelFunc
	results chan watch.Event
}

// Stop implements watch.Interface.
func (e *events) Stop() { e.stop() }

// ResultChan implements watch.Interface.
func (e *events) ResultChan() <-chan watch.Event { return e.results }

func (e *events) run(ctx context.Context, watcher *watchcache.Watcher) {
	defer close(e.results)
	defer watcher.Close()
	for {
		batch, err := watcher.Next(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil { // the reader lists again
			expired := apierrors.NewResourceExpired(err.Error()).Status()
			e.send(ctx, watch.Event{Type: watch.Error, Object: &expired})
			return
		}
		for _, change := range batch.Changes {
			if event, ok := e.event(change); ok && !e.send(ctx, event) {
				return
			}
		}
	}
}

func (e *events) send(ctx context.Context, event watch.Event) bool {
	select {
	case e.results <- event:
		return true
	case <-ctx.Done():
		return false
	}
}

var eventTypes = map[encoding.EventType]watch.EventType{
	encoding.Added: watch.Added, encoding.Modified: watch.Modified, encoding.Deleted: watch.Deleted,
}

func (e *events) event(change watchcache.Change) (watch.Event, bool) {
	object, err := e.source.Decode(change.Object)
	return watch.Event{Type: eventTypes[change.Type], Object: object}, err == nil
}
