package claim

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"revtail/etcdstore"
)

// ReadOnlyError is the reason why a write of a client is refused, with what to do.
type ReadOnlyError struct {
	Prefix string
	State  State
}

func (e *ReadOnlyError) Error() string {
	if e.State.File != "" {
		return fmt.Sprintf("revtail serves %s: it can only be read", e.State.File)
	}
	if e.State.Owner == Kubernetes {
		return fmt.Sprintf("revtail serves this etcd read-only: %s, and --writable is refused beside a kube-apiserver. "+
			"Write through that kube-apiserver, or give revtail a prefix of its own: --etcd-prefix /revtail --adopt", e.State.Reason)
	}
	return fmt.Sprintf("revtail serves this etcd read-only: under %s %s. Start revtail with --writable to have it carry out what clients write, "+
		"or with --adopt to make the data revtail's own", e.Prefix, e.State.Reason)
}

// ForClients returns the store for requests of clients. It refuses writes with *ReadOnlyError where the data does not allow them. The
// first write of a client to an etcd whose prefix is empty claims the prefix.
func (c *Claim) ForClients() etcdstore.Store { return &guarded{c.config.Store, c, c.admit} }

// ForItself returns the store for background work. Its writes fail with ErrNotOwn if Verify does.
func (c *Claim) ForItself() etcdstore.Store {
	return &guarded{c.config.Store, c, func(ctx context.Context) (bool, error) { return false, c.Verify(ctx) }}
}

// admit permits a client's write; first: the write must also claim the prefix.
func (c *Claim) admit(ctx context.Context) (first bool, err error) {
	if c.config.File == "" && c.State().Owner == Unclaimed {
		c.mu.Lock()
		defer c.mu.Unlock()
		if err := c.askLocked(ctx); err != nil {
			return false, err
		}
	}
	state := c.State()
	if !state.Writable {
		return false, &ReadOnlyError{c.config.Prefix, state}
	}
	return state.Owner == Unclaimed, nil
}

// guarded is a store whose writes need a permit.
type guarded struct {
	etcdstore.Store
	claim  *Claim
	permit func(context.Context) (first bool, err error)
}

// Scan implements etcdstore.Scanner.
func (g *guarded) Scan(ctx context.Context, prefix string, at etcdstore.Revision) iter.Seq2[etcdstore.Page, error] {
	return etcdstore.Scan(ctx, g.Store, prefix, at)
}

// allow asks for a permit, and claims the prefix before the first write.
func (g *guarded) allow(ctx context.Context) error {
	first, err := g.permit(ctx)
	if err != nil || !first {
		return err
	}
	return g.claim.mark(ctx, becauseEmpty)
}

func (g *guarded) Create(ctx context.Context, key string, value []byte) (etcdstore.Revision, error) {
	first, err := g.permit(ctx)
	switch {
	case err != nil:
		return 0, err
	case !first:
		return g.Store.Create(ctx, key, value)
	}
	done, err := g.transactFirst(ctx, etcdstore.Txn{
		If:   []etcdstore.Condition{{Key: key, Of: etcdstore.OfModified, Is: etcdstore.Equal}},
		Then: []etcdstore.Op{{Verb: etcdstore.Put, Key: key, Value: value}},
	})
	switch {
	case err != nil:
		return 0, fmt.Errorf("create %q: %w", key, err)
	case !done.Succeeded:
		return 0, fmt.Errorf("create %q: %w", key, etcdstore.ErrExists)
	}
	return done.Revision, nil
}

func (g *guarded) CreateGuarded(ctx context.Context, key string, value []byte, guard etcdstore.Guard) (etcdstore.Revision, error) {
	if err := g.allow(ctx); err != nil {
		return 0, err
	}
	return g.Store.CreateGuarded(ctx, key, value, guard)
}

func (g *guarded) Update(ctx context.Context, key string, value []byte, want etcdstore.Revision) (etcdstore.Revision, error) {
	if err := g.allow(ctx); err != nil {
		return 0, err
	}
	return g.Store.Update(ctx, key, value, want)
}

func (g *guarded) Delete(ctx context.Context, key string, want etcdstore.Revision) (etcdstore.Revision, error) {
	if err := g.allow(ctx); err != nil {
		return 0, err
	}
	return g.Store.Delete(ctx, key, want)
}

// Transact always permits a transaction that only reads.
func (g *guarded) Transact(ctx context.Context, t etcdstore.Txn) (etcdstore.TxnResult, error) {
	if !writes(t.Then) && !writes(t.Else) {
		return g.Store.Transact(ctx, t)
	}
	first, err := g.permit(ctx)
	switch {
	case err != nil:
		return etcdstore.TxnResult{}, err
	case !first:
		return g.Store.Transact(ctx, t)
	case max(len(t.Then), len(t.Else)) >= maxOps:
		if err := g.claim.mark(ctx, becauseEmpty); err != nil {
			return etcdstore.TxnResult{}, err
		}
		return g.Store.Transact(ctx, t)
	}
	return g.transactFirst(ctx, t)
}

func (g *guarded) Grant(ctx context.Context, ttl time.Duration) (lease int64, granted time.Duration, err error) {
	if _, err := g.permit(ctx); err != nil {
		return 0, 0, err
	}
	return g.Store.Grant(ctx, ttl)
}

func (g *guarded) Revoke(ctx context.Context, lease int64) error {
	if _, err := g.permit(ctx); err != nil {
		return err
	}
	return g.Store.Revoke(ctx, lease)
}

// maxOps is how many operations a transaction has in etcd's default configuration.
const maxOps = 128

// transactFirst does a transaction, and claims the prefix with it if it writes: one that fails claims nothing, and the claim makes
// no revision of its own.
func (g *guarded) transactFirst(ctx context.Context, t etcdstore.Txn) (etcdstore.TxnResult, error) {
	marker, err := g.claim.put(becauseEmpty)
	if err != nil {
		return etcdstore.TxnResult{}, err
	}
	with := etcdstore.Txn{If: t.If, Then: withMarker(t.Then, marker), Else: withMarker(t.Else, marker)}
	done, err := g.Store.Transact(ctx, with)
	if err != nil {
		return done, err
	}
	asked := t.Then
	if !done.Succeeded {
		asked = t.Else
	}
	if writes(asked) {
		g.claim.claimed()
	}
	done.Results = done.Results[:min(len(asked), len(done.Results))]
	return done, nil
}

func withMarker(ops []etcdstore.Op, marker etcdstore.Op) []etcdstore.Op {
	if !writes(ops) {
		return ops
	}
	return append(slices.Clip(ops), marker)
}

func writes(ops []etcdstore.Op) bool {
	return slices.ContainsFunc(ops, func(op etcdstore.Op) bool { return op.Verb != etcdstore.Get })
}
