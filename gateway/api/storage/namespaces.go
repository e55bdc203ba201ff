package storage

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/etcdstore"
	"revtail/gateway/api/catalog"
	"revtail/gateway/api/object"
	"revtail/gateway/resource"
	"revtail/gateway/watchcache"
)

// systemNamespaces returns the Namespaces that clients expect, and cannot delete, because they exist in every cluster: all four of a cluster if a
// Namespace is required.
func (s *Store) systemNamespaces() []string {
	names := []string{metav1.NamespaceDefault, metav1.NamespaceSystem}
	if s.RequireNamespaces {
		names = append(names, metav1.NamespacePublic, corev1.NamespaceNodeLease)
	}
	return names
}

func (s *Store) namespacesOf() *resource.Resource {
	return s.Catalog.Current().Registry.Lookup("", "v1", "namespaces")
}

const (
	// namespacesDelay is the time from the start to the first search for namespaces without a Namespace.
	namespacesDelay = 10 * time.Second
	// namespacesPeriod is the time between two searches.
	namespacesPeriod = time.Minute
)

// missingNamespaces returns the Namespaces to create together with an object: those of the object and of the system that the cache does not
// have. None on data that is not revtail's own: there revtail writes only what clients ask for.
func (s *Store) missingNamespaces(ref resource.Ref, name string) []string {
	if ref.Resource.Mount != nil || s.Claim.State().IsForeign() {
		return nil
	}
	var missing []string
	candidates := s.systemNamespaces()
	if !s.RequireNamespaces {
		candidates = append(candidates, ref.Scope.Namespace)
	}
	for _, namespace := range candidates {
		self := ref.Resource.IsNamespaces() && namespace == name
		if namespace != "" && !self && !slices.Contains(missing, namespace) && s.namespaces.Peek(namespace) == nil {
			missing = append(missing, namespace)
		}
	}
	return missing
}

// createWithNamespaces creates a key and the Namespaces that are missing, at one revision. False: one of the keys exists, or the guard does
// not hold, so nothing is written.
func (s *Store) createWithNamespaces(ctx context.Context, wr *Request, key string, value []byte) (etcdstore.Revision, bool, error) {
	txn := etcdstore.Txn{If: []etcdstore.Condition{absent(key)}, Then: []etcdstore.Op{{Verb: etcdstore.Put, Key: key, Value: value}}}
	if wr.guard != (etcdstore.Guard{}) {
		txn.If = append(txn.If, etcdstore.Condition{Key: wr.guard.Key, Of: etcdstore.OfModified, Is: etcdstore.Equal, Number: int64(wr.guard.Modified)})
	}
	for _, name := range wr.namespaces {
		op, err := s.newNamespace(ctx, name)
		if err != nil {
			continue // a namespace that no Namespace can be named after
		}
		txn.If, txn.Then = append(txn.If, absent(op.Key)), append(txn.Then, op)
	}
	done, err := s.Etcd.Transact(ctx, txn)
	return done.Revision, done.Succeeded, err
}

func absent(key string) etcdstore.Condition {
	return etcdstore.Condition{Key: key, Of: etcdstore.OfModified, Is: etcdstore.Equal}
}

// newNamespace returns the operation that stores a new Namespace.
func (s *Store) newNamespace(ctx context.Context, name string) (etcdstore.Op, error) {
	now := s.Catalog.Current()
	res := now.Registry.Lookup("", "v1", "namespaces")
	ref := resource.Ref{Resource: res, Scope: resource.Scope{Name: name}}
	wr := &Request{Target: catalog.Target{Ref: ref, Cache: now.Caches[res]}, Options: Options{Manager: "revtail"}}
	d := object.New(map[string]any{"apiVersion": res.APIVersion(), "kind": res.Kind, "metadata": map[string]any{"name": name}})
	if err := wr.prepareCreate(ctx, d); err != nil {
		return etcdstore.Op{}, fmt.Errorf("namespace %s: %w", name, err)
	}
	value, err := encode(res, d)
	return etcdstore.Op{Verb: etcdstore.Put, Key: res.Key(s.Prefix, ref.Scope), Value: value}, err
}

// createSystemNamespaces creates the Namespaces of the system that are missing. Data that is not revtail's own gets none.
func (s *Store) createSystemNamespaces(ctx context.Context) {
	for _, name := range s.missingNamespaces(resource.Ref{Resource: s.namespacesOf()}, "") {
		op, err := s.newNamespace(ctx, name)
		if err == nil {
			_, err = s.Etcd.Transact(ctx, etcdstore.Txn{If: []etcdstore.Condition{absent(op.Key)}, Then: []etcdstore.Op{op}})
		}
		if err != nil && ctx.Err() == nil {
			s.Logger.Warn("a namespace of the system was not created; the first object of any namespace brings it", "namespace", name, "error", err)
		}
	}
}

// keepNamespaces creates the Namespaces of namespaces in use, as other programs and earlier releases leave them out, until ctx ends.
func (s *Store) keepNamespaces(ctx context.Context) {
	next := time.NewTimer(namespacesDelay)
	defer next.Stop()
	for {
		select {
		case <-next.C:
			next.Reset(namespacesPeriod)
		case <-ctx.Done():
			return
		}
		if s.RequireNamespaces {
			s.createSystemNamespaces(ctx) // one of them may have been deleted
			continue
		}
		for _, name := range s.namespacesInUse(ctx) {
			if s.namespaces.Peek(name) != nil {
				continue
			}
			if err := s.createInUse(ctx, name); err != nil && ctx.Err() == nil {
				s.Logger.Debug("a namespace in use has no Namespace", "namespace", name, "error", err)
			}
		}
	}
}

// namespacesInUse returns the namespaces that have objects, according to the caches.
func (s *Store) namespacesInUse(ctx context.Context) []string {
	found := map[string]bool{}
	for res, cache := range s.Catalog.Current().Caches {
		if !res.Namespaced || res.Mount != nil {
			continue
		}
		for after := ""; ; {
			list, err := cache.AsStored().List(ctx, watchcache.ListQuery{After: after, Limit: 1, Own: true})
			if err != nil {
				break // no state yet, or values that cannot be decrypted: the next search tries again
			}
			namespace := ""
			for o := range list.Objects {
				namespace = o.Namespace()
			}
			if namespace == "" {
				break
			}
			found[namespace] = true
			after = namespace + "0" // the first path after all of "namespace/…"
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// createInUse creates the Namespace of a namespace, if etcd has an object in it and no such Namespace.
func (s *Store) createInUse(ctx context.Context, name string) error {
	op, err := s.newNamespace(ctx, name) // fails before etcd is read if no Namespace can have this name
	if err != nil {
		return err
	}
	if err = s.Claim.Verify(ctx); err != nil {
		return err
	}
	if used, failed := s.hasObjects(ctx, name); failed != nil || !used {
		return failed
	}
	done, err := s.Etcd.Transact(ctx, etcdstore.Txn{If: []etcdstore.Condition{absent(op.Key)}, Then: []etcdstore.Op{op}})
	if err == nil && done.Succeeded {
		s.Logger.Info("created the Namespace of a namespace in use", "namespace", name)
	}
	return err
}

// hasObjects reports whether etcd has an object in a namespace.
func (s *Store) hasObjects(ctx context.Context, namespace string) (bool, error) {
	for res := range s.Catalog.Current().Caches {
		if !res.Namespaced || res.Mount != nil {
			continue
		}
		page, err := s.Etcd.List(ctx, res.Key(s.Prefix, resource.Scope{Namespace: namespace}), etcdstore.ListOptions{Limit: 1, KeysOnly: true})
		if err != nil || len(page.KVs) > 0 {
			return err == nil, err
		}
	}
	return false, nil
}
