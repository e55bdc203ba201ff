package apiservices

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"revtail/gateway/api/catalog"
	"revtail/gateway/api/customresource"
	"revtail/gateway/api/reconcile"
	"revtail/gateway/api/storage"
	"revtail/gateway/claim"
	"revtail/gateway/resource"
	"revtail/gateway/watchcache"
)

// awaitTimeout bounds the time for which a request waits until the first APIServices are created.
const awaitTimeout = 5 * time.Second

// keeper creates the APIServices that are missing, and deletes those of removed CustomResourceDefinitions. Each replica has one. They need
// no election, because a create makes a key only where none is, and a delete names the object.
type keeper struct {
	store       *storage.Store
	services    reconcile.Objects                      // all APIServices
	definitions *watchcache.Cache                      // of the CustomResourceDefinitions
	parsed      catalog.Decoded[[]schema.GroupVersion] // what the definitions serve
	started     bool                                   // what is done once at the start is done
	synced      func()                                 // called after each sync without an error
}

// Services keeps the APIServices, from the first request for one on.
type Services struct {
	store  *storage.Store
	asked  chan struct{} // closed by the first request
	ask    func()
	synced chan struct{} // closed when the first ones are created
}

// New returns the APIServices of a store. Run keeps them.
func New(store *storage.Store) *Services {
	s := &Services{store: store, asked: make(chan struct{}), synced: make(chan struct{})}
	s.ask = sync.OnceFunc(func() { close(s.asked) })
	if store.CreateNamespaces || store.RequireNamespaces { // the objects of every cluster are created at the start
		s.ask()
	}
	return s
}

// Await is called by a request for a resource, before it is served. One for APIServices waits until the first ones are created, but not for ever, and
// not if they may not be.
func (s *Services) Await(ctx context.Context, res *resource.Resource) {
	if res.Group != apiregistrationv1.GroupName {
		return
	}
	s.ask()
	if state := s.store.Claim.State(); state.Owner != claim.Own || state.File != "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, awaitTimeout)
	defer cancel()
	select {
	case <-s.synced:
	case <-ctx.Done():
	}
}

// Run keeps the APIServices until ctx ends. It begins with the first request for one, when all caches are filled and the data is revtail's own.
func (s *Services) Run(ctx context.Context) {
	select {
	case <-s.asked:
	case <-ctx.Done():
		return
	}
	if s.store.Catalog.WaitReady(ctx) != nil || s.store.Claim.WaitOwned(ctx) != nil {
		return
	}
	k := newKeeper(s.store)
	k.synced = sync.OnceFunc(func() { close(s.synced) })
	k.run(ctx)
}

func newKeeper(store *storage.Store) *keeper {
	return &keeper{
		store: store, services: reconcile.Of(store, apiregistrationv1.SchemeGroupVersion.WithResource("apiservices")),
		definitions: store.Catalog.Current().Caches[customresource.Kind()].Cache, synced: func() {},
	}
}

func (k *keeper) run(ctx context.Context) {
	loop := reconcile.Loop{
		Caches: []*watchcache.Cache{k.services.Cache.Cache, k.definitions}, Logger: k.store.Logger, What: "APIServices",
		Sync: func(ctx context.Context) (time.Duration, error) {
			err := k.sync(ctx)
			if err == nil {
				k.synced()
			}
			return 0, err
		},
	}
	loop.Run(ctx)
}

// sync creates, corrects and deletes APIServices. The definitions are read in a state that is not older than that of the APIServices, so one
// that another replica has created for a new definition is not deleted.
func (k *keeper) sync(ctx context.Context) error {
	if k.store.Claim.State().Owner != claim.Own {
		return nil
	}
	list, err := k.services.Cache.List(ctx, watchcache.ListQuery{})
	if err != nil {
		return err
	}
	wanted, err := k.wanted(ctx, list.Revision)
	if err != nil {
		return err
	}
	var failed []error
	for o := range list.Objects {
		name := o.Name()
		if want, ok := wanted[name]; ok {
			failed = append(failed, k.correct(ctx, o, want))
			delete(wanted, name)
			continue
		}
		failed = append(failed, k.remove(ctx, o))
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		failed = append(failed, k.create(ctx, name, wanted[name]))
	}
	err = errors.Join(failed...)
	k.started = k.started || err == nil
	return err
}

// create creates an APIService. It is no error that there is one.
func (k *keeper) create(ctx context.Context, name string, want wanted) error {
	return k.services.Create(ctx, &apiregistrationv1.APIService{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{managedLabel: want.managed}}, Spec: want.spec,
	})
}

// correct sets the spec of a managed APIService to the wanted one: of what the server itself serves only at its start, because a replica of
// another release may want another one.
func (k *keeper) correct(ctx context.Context, o *watchcache.Object, want wanted) error {
	if want.managed == managedAtStart && k.started {
		return nil
	}
	found, ok := managed(o)
	if !ok || equality.Semantic.DeepEqual(found.Spec, want.spec) {
		return nil
	}
	found.Spec = want.spec
	return k.services.Update(ctx, &found, "")
}

// remove deletes a managed APIService that is not wanted: one that another server serves only at the start, as one that an earlier release has
// left.
func (k *keeper) remove(ctx context.Context, o *watchcache.Object) error {
	found, ok := managed(o)
	if !ok || found.Labels[managedLabel] == managedAtStart && k.started {
		return nil
	}
	return k.services.Delete(ctx, &found)
}

// managed returns an APIService; false: no server manages it.
func managed(o *watchcache.Object) (found apiregistrationv1.APIService, ok bool) {
	if json.Unmarshal(o.JSON, &found) != nil {
		return found, false // another program has stored it
	}
	when := found.Labels[managedLabel]
	return found, when == managedAtStart || when == managedAtAnyTime
}
