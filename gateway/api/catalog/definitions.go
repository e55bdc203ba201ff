package catalog

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

// definitions follows the CustomResourceDefinitions, and makes the catalog serve their resources. All replicas make the same decisions,
// because these depend on etcd alone.
type definitions struct {
	catalog *Catalog
	cache   *watchcache.Cache // of the CustomResourceDefinitions
	running *sync.WaitGroup   // of the started caches
	known   map[string]*customresource.Definition
	served  map[string]*servedDefinition
	pending map[string]*servedDefinition // built, but their caches are not filled yet
	again   bool                         // sync must run again, even without a change
	basis   context.Context              // ends when the mounts change, whose names definitions cannot have
}

// retryDefinitions is the pause before an operation is tried again after an error.
const retryDefinitions = time.Second

// fillTimeout bounds the time for which sync waits for the caches of new definitions.
const fillTimeout = 3 * time.Second

// run follows the definitions until ctx ends.
func (d *definitions) run(ctx context.Context) {
	for ctx.Err() == nil {
		if err := d.follow(ctx); err != nil && ctx.Err() == nil {
			d.catalog.Logger.Debug("reading the CustomResourceDefinitions anew", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(retryDefinitions):
		}
	}
}

// follow reads the definitions and their changes until that fails.
func (d *definitions) follow(ctx context.Context) error {
	if err := waitFor(ctx, d.cache.Filled()); err != nil {
		return err
	}
	watcher, err := d.cache.Watch(watchcache.WatchQuery{State: true, Own: true})
	if err != nil {
		return err
	}
	defer watcher.Close()
	_, d.basis = d.catalog.reservedNames()
	d.known = make(map[string]*customresource.Definition)
	for {
		batch, err := d.next(ctx, watcher)
		if err != nil {
			return err
		}
		for _, change := range batch.Changes {
			d.observe(change)
		}
		if batch.Through > 0 {
			d.sync(ctx)
		}
	}
}

// next waits for changes of the definitions or of the mounts, and for at most retryDefinitions if sync must run again.
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

// observe records one change. If a definition cannot be parsed, because another program wrote it, what it defined before stays served.
func (d *definitions) observe(change watchcache.Change) {
	name := change.Object.Name()
	if change.Type == encoding.Deleted {
		delete(d.known, name)
		return
	}
	definition, err := customresource.Parse(change.Object.JSON)
	if err != nil {
		d.catalog.Logger.Warn("a CustomResourceDefinition is not served as it is now", "name", name, "error", err)
		if before := d.known[name]; before != nil && before.V1.DeletionTimestamp != nil {
			delete(d.known, name) // nothing says any more that its objects are to be deleted
		}
		return
	}
	d.known[name] = definition
}

// sync serves the known definitions, writes their status, and deletes the objects of those that are being deleted.
func (d *definitions) sync(ctx context.Context) {
	list := make([]*customresource.Definition, 0, len(d.known))
	for _, definition := range d.known {
		list = append(list, definition)
	}
	slices.SortFunc(list, func(a, b *customresource.Definition) int {
		return cmp.Or(strings.Compare(a.V1.Spec.Group, b.V1.Spec.Group), strings.Compare(a.V1.Name, b.V1.Name))
	})
	reserved, basis := d.catalog.reservedNames()
	d.basis = basis
	verdicts := customresource.Accept(list, reserved)
	retired := d.apply(ctx, list, verdicts)
	for _, definition := range retired {
		definition.stop()
	}
	d.again = len(d.pending) > 0
	if !d.again && !d.catalog.Complete() {
		close(d.catalog.defined)
	}
	if state := d.claimState(ctx); state.Owner != claim.Own || state.File != "" {
		d.again = d.again || isUnclaimed(state) // the rest follows when the data is revtail's own
		return
	}
	for _, definition := range list {
		if d.pending[definition.V1.Name] != nil {
			continue
		}
		if err := d.writeStatus(ctx, definition, verdicts[definition.V1.Name]); err != nil && ctx.Err() == nil {
			d.catalog.Logger.Debug("the status of a CustomResourceDefinition was not written", "name", definition.V1.Name, "error", err)
			d.again = true
		}
		if definition.V1.DeletionTimestamp != nil {
			d.again = true // its objects may disappear at any time
			d.deleteObjects(ctx, definition)
		}
	}
}

// claimState returns the state of the claim. If a definition is the first write of all, its event may come before the claim knows of the write, and
// claimState waits for that.
func (d *definitions) claimState(ctx context.Context) claim.State {
	if isUnclaimed(d.catalog.Claim.State()) && len(d.known) > 0 {
		bounded, cancel := context.WithTimeout(ctx, retryDefinitions)
		defer cancel()
		_ = d.catalog.Claim.WaitOwned(bounded) // the state says it too
	}
	return d.catalog.Claim.State()
}

func isUnclaimed(state claim.State) bool { return state.Owner == claim.Unclaimed && state.File == "" }

// apply serves the definitions that may have their names, and returns those that are not used any more. A definition with the same
// spec keeps its caches and their watches. The old spec of a changed definition is served until the caches of the new one are filled, and
// as long as the new one is invalid.
func (d *definitions) apply(ctx context.Context, list []*customresource.Definition, verdicts map[string]customresource.Conflict) []*servedDefinition {
	next := make(map[string]*servedDefinition, len(list))
	pending := make(map[string]*servedDefinition)
	for _, definition := range list {
		name := definition.V1.Name
		if verdicts[name] != (customresource.Conflict{}) {
			continue
		}
		held := d.served[name]
		if held != nil {
			next[name] = held
		}
		spec, err := json.Marshal(definition.V1.Spec)
		if held != nil && err == nil && bytes.Equal(held.spec, spec) {
			continue
		}
		fresh := d.pending[name]
		if fresh == nil || !bytes.Equal(fresh.spec, spec) {
			if fresh, err = d.build(ctx, definition, spec); err != nil {
				d.catalog.Logger.Warn("a CustomResourceDefinition is not served as it is now", "name", name, "error", err)
				continue
			}
		}
		pending[name] = fresh
	}
	d.stopPending(pending)
	d.fill(ctx, pending, next)
	d.pending = pending
	return d.replace(list, next)
}

// stopPending stops the caches of definitions that are no longer pending.
func (d *definitions) stopPending(pending map[string]*servedDefinition) {
	for name, before := range d.pending {
		if pending[name] != before {
			before.stop()
		}
	}
}

// fill waits for the caches of pending definitions, and moves filled ones to next. It waits only once for a definition, so that one whose
// objects cannot be listed does not delay the others.
func (d *definitions) fill(ctx context.Context, pending, next map[string]*servedDefinition) {
	ctx, cancel := context.WithTimeout(ctx, fillTimeout)
	defer cancel()
	var late []string
	for name, fresh := range pending {
		waited := d.pending[name] == fresh
		switch {
		case fresh.filled(ctx, !waited):
			next[name] = fresh
			delete(pending, name)
		case waited || !errors.Is(ctx.Err(), context.DeadlineExceeded):
		case fresh.failed():
			d.catalog.Logger.Warn("the objects of a CustomResourceDefinition cannot be read, trying again", "name", name)
		default:
			late = append(late, name)
		}
	}
	if len(late) > 0 {
		d.catalog.Logger.Info("CustomResourceDefinitions are not served yet: their objects are being read", "count", len(late), "example", late[0])
	}
}

// build makes the resources of a definition and starts their caches.
func (d *definitions) build(ctx context.Context, definition *customresource.Definition, spec []byte) (*servedDefinition, error) {
	resources, err := definition.Resources()
	if err != nil {
		return nil, err
	}
	fresh := &servedDefinition{spec: spec}
	if stored := definition.Stored(); stored.AnyVersion {
		fresh.stored = d.catalog.NewCache(stored)
		fresh.stored.start(ctx, d.running)
	}
	for _, res := range resources {
		cache := d.catalog.NewCache(res)
		cache.stored = fresh.stored
		cache.start(ctx, d.running)
		fresh.caches = append(fresh.caches, cache)
	}
	return fresh, nil
}

// replace serves the next definitions instead of the current ones, and returns those that are not served any more.
func (d *definitions) replace(list []*customresource.Definition, next map[string]*servedDefinition) (retired []*servedDefinition) {
	changed := len(next) != len(d.served)
	for name, held := range d.served {
		if next[name] != held {
			changed = true
			retired = append(retired, held)
		}
	}
	d.served = next
	if !changed {
		return nil
	}
	var all []*Cache
	for _, definition := range list {
		if held := next[definition.V1.Name]; held != nil {
			all = append(all, held.caches...)
		}
	}
	d.catalog.replace(func(s *sources) { s.definitions = all })
	return retired
}
