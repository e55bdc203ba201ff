package gateway

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"revtail/encoding"
	"revtail/gateway/api/customresource"
	"revtail/gateway/claim"
	"revtail/gateway/watchcache"
)

// definitions makes the server serve what CustomResourceDefinitions define. Every replica follows them by itself; they agree
// because they decide by what stands in etcd alone.
type definitions struct {
	server  *Server
	cache   *watchcache.Cache // of the CustomResourceDefinitions
	running *sync.WaitGroup   // of the caches that are started
	known   map[string]*customresource.Definition
	served  map[string]*servedDefinition
	again   bool            // something is left to do, though nothing may change
	basis   context.Context // ends when the mounts are others than those that verdicts were made beside
	ready   chan struct{}   // closed when what was there at the start is served
}

// servedDefinition is a definition as it is served now.
type servedDefinition struct {
	spec []byte // of the definition, to see whether it changed
	offer
}

// retryDefinitions is the pause before what failed is tried again: a cache that was refilled, a status that was not written.
const retryDefinitions = time.Second

// run follows the definitions until ctx ends.
func (d *definitions) run(ctx context.Context) {
	for ctx.Err() == nil {
		if err := d.follow(ctx); err != nil && ctx.Err() == nil {
			d.server.options.Logger.Debug("reading the CustomResourceDefinitions anew", "error", err)
		}
		wait(ctx, retryDefinitions)
	}
}

func wait(ctx context.Context, duration time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(duration):
	}
}

// follow reads the definitions and their changes until that fails.
func (d *definitions) follow(ctx context.Context) error {
	select {
	case <-d.cache.Filled():
	case <-ctx.Done():
		return ctx.Err()
	}
	watcher, err := d.cache.Watch(watchcache.WatchQuery{State: true, Own: true})
	if err != nil {
		return err
	}
	defer watcher.Close()
	d.basis = d.server.mounts.unchanged()
	d.known = make(map[string]*customresource.Definition)
	for {
		batch, err := d.next(ctx, watcher)
		if err != nil {
			return err
		}
		for _, change := range batch.Changes {
			d.take(change)
		}
		if batch.Through > 0 {
			d.serve(ctx)
		}
	}
}

// next waits for changes, of the mounts too; while something is left to do it does not wait for long.
func (d *definitions) next(ctx context.Context, watcher *watchcache.Watcher) (watchcache.Batch, error) {
	bounded, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(d.basis, cancel)()
	if d.again {
		bounded, cancel = context.WithTimeout(bounded, retryDefinitions)
		defer cancel()
	}
	batch, err := watcher.Next(bounded)
	if ctx.Err() == nil && bounded.Err() != nil && errors.Is(err, bounded.Err()) {
		return watcher.Poll()
	}
	return batch, err
}

// take takes in one change. A definition that cannot be understood, because another program wrote it, is not served.
func (d *definitions) take(change watchcache.Change) {
	name := change.Object.Name()
	if change.Type == encoding.Deleted {
		delete(d.known, name)
		return
	}
	definition, err := customresource.Parse(change.Object.JSON)
	if err != nil {
		d.server.options.Logger.Warn("a CustomResourceDefinition cannot be read", "name", name, "error", err)
		delete(d.known, name)
		return
	}
	d.known[name] = definition
}

// serve makes the server serve the known definitions, tells their status, and empties those that are being deleted.
func (d *definitions) serve(ctx context.Context) {
	list := make([]*customresource.Definition, 0, len(d.known))
	for _, definition := range d.known {
		list = append(list, definition)
	}
	slices.SortFunc(list, func(a, b *customresource.Definition) int {
		return cmp.Or(strings.Compare(a.V1.Spec.Group, b.V1.Spec.Group), strings.Compare(a.V1.Name, b.V1.Name))
	})
	d.basis = d.server.mounts.unchanged()
	verdicts := customresource.Accept(list, d.server.taken())
	retired := d.install(ctx, list, verdicts)
	for _, cache := range retired {
		cache.stop()
	}
	select {
	case <-d.ready:
	default:
		close(d.ready)
	}
	d.again = false
	if owner := d.server.options.Claim.State().Owner; owner != claim.Own {
		d.again = owner == claim.Unclaimed // what is left to do is done when the data has become the server's own
		return
	}
	for _, definition := range list {
		if err := d.writeStatus(ctx, definition, verdicts[definition.V1.Name]); err != nil && ctx.Err() == nil {
			d.server.options.Logger.Debug("the status of a CustomResourceDefinition was not written", "name", definition.V1.Name, "error", err)
			d.again = true
		}
		if definition.V1.DeletionTimestamp != nil {
			d.again = true // its objects may go at any time
			d.empty(ctx, definition)
		}
	}
}

// install puts what the definitions define into the place of what was served, once its caches are filled, and returns the
// caches that nobody needs any more. A resource whose definition is the same keeps its cache, and its watches go on.
func (d *definitions) install(ctx context.Context, list []*customresource.Definition, verdicts map[string]customresource.Conflict) []*runningCache {
	next := make(map[string]*servedDefinition, len(list))
	var started []*runningCache
	for _, definition := range list {
		name := definition.V1.Name
		if verdicts[name] != (customresource.Conflict{}) {
			continue
		}
		spec, err := json.Marshal(definition.V1.Spec)
		if held := d.served[name]; held != nil && err == nil && bytes.Equal(held.spec, spec) {
			next[name] = held
			continue
		}
		fresh, err := d.define(ctx, definition, spec)
		if err != nil {
			d.server.options.Logger.Warn("a CustomResourceDefinition is not served", "name", name, "error", err)
			continue
		}
		next[name] = fresh
		started = append(started, fresh.caches...)
	}
	for _, cache := range started {
		select {
		case <-cache.Filled():
		case <-ctx.Done():
			return nil
		}
	}
	return d.swap(list, next)
}

// define makes the resources of a definition and starts their caches.
func (d *definitions) define(ctx context.Context, definition *customresource.Definition, spec []byte) (*servedDefinition, error) {
	resources, err := definition.Resources()
	if err != nil {
		return nil, err
	}
	fresh := &servedDefinition{spec, offer{resources: resources}}
	for _, res := range resources {
		cache := d.server.newCache(res)
		cache.start(ctx, d.running)
		fresh.caches = append(fresh.caches, cache)
	}
	return fresh, nil
}

// swap puts the new set in the place of the old one, and returns the caches of the old that the new has not.
func (d *definitions) swap(list []*customresource.Definition, next map[string]*servedDefinition) (retired []*runningCache) {
	changed := len(next) != len(d.served)
	for name, held := range d.served {
		if next[name] != held {
			changed = true
			retired = append(retired, held.caches...)
		}
	}
	d.served = next
	if !changed {
		return nil
	}
	var offered []offer
	for _, definition := range list {
		if held := next[definition.V1.Name]; held != nil {
			offered = append(offered, held.offer)
		}
	}
	d.server.offer(func(o *offers) { o.definitions = offered })
	return retired
}

// writeStatus stores the status that a definition should have, if it has another one. Replicas may try at the same time: the
// first one is as good as any.
func (d *definitions) writeStatus(ctx context.Context, definition *customresource.Definition, conflict customresource.Conflict) error {
	want, err := json.Marshal(definition.Status(conflict, time.Now()))
	if err != nil {
		return err
	}
	if have, err := json.Marshal(definition.V1.Status); err == nil && bytes.Equal(have, want) {
		return nil
	}
	return d.rewrite(ctx, definition, func(stored document) (outcome, error) {
		if stored.GetGeneration() != definition.V1.Generation {
			return unchanged, nil // it has changed since: the change comes by the watch
		}
		stored.Object["status"], err = encoding.Unmarshal(want)
		return changed, err
	})
}

// outcome is what is to become of a stored definition.
type outcome int

const (
	unchanged outcome = iota
	changed
	removed
)

// rewrite makes of a definition that stands in etcd what change makes of it. Another definition of the same name stays as it
// is. Where somebody else was faster the error is ErrConflict, and the watch brings what they wrote.
func (d *definitions) rewrite(ctx context.Context, definition *customresource.Definition, change func(stored document) (outcome, error)) error {
	store, key := d.server.own, d.key(definition)
	kv, _, err := store.Get(ctx, key)
	if err != nil {
		return err
	}
	object, err := encoding.Unmarshal(kv.Value)
	if err != nil {
		return err
	}
	stored := newDocument(object)
	if stored.GetUID() != definition.V1.UID {
		return nil
	}
	become, err := change(stored)
	if err != nil || become == unchanged {
		return err
	}
	if become == removed {
		_, err = store.Delete(ctx, key, kv.Modified)
		return err
	}
	value, err := encoding.Marshal(stored.Object)
	if err != nil || bytes.Equal(value, kv.Value) {
		return err
	}
	_, err = store.Update(ctx, key, value, kv.Modified)
	return err
}

func (d *definitions) key(definition *customresource.Definition) string {
	return customresource.Kind().Prefix(d.server.options.Prefix) + definition.V1.Name
}
