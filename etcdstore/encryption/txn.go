package encryption

import (
	"context"
	"fmt"
	"slices"

	"revtail/etcdstore"
)

// Transact implements etcdstore.Store. It is one request, except for a transaction with a condition on an encrypted value.
func (s *Store) Transact(ctx context.Context, t etcdstore.Txn) (etcdstore.TxnResult, error) {
	if slices.ContainsFunc(t.If, func(c etcdstore.Condition) bool { return c.Of == etcdstore.OfValue && s.encrypts(c.Key) }) {
		return s.transactOnValues(ctx, t)
	}
	return s.transact(ctx, t)
}

// encrypts reports whether a value in etcd may differ from the one that was written.
func (s *Store) encrypts(key string) bool {
	of, ok := s.config.Resource(key)
	return ok && s.config.Providers().Names(of)
}

// transact encrypts the values to write, and decrypts those that were read.
func (s *Store) transact(ctx context.Context, t etcdstore.Txn) (_ etcdstore.TxnResult, err error) {
	if err := t.Check(); err != nil {
		return etcdstore.TxnResult{}, err
	}
	for _, ops := range []*[]etcdstore.Op{&t.Then, &t.Else} {
		if *ops, err = s.encryptOps(ctx, *ops); err != nil {
			return etcdstore.TxnResult{}, err
		}
	}
	done, err := s.config.Store.Transact(ctx, t)
	if err != nil {
		return done, err
	}
	for i, result := range done.Results {
		if result.KV == nil {
			continue
		}
		kv, err := s.decrypt(context.WithoutCancel(ctx), *result.KV)
		if err != nil { // the transaction is done all the same
			kv = *result.KV
			kv.Unreadable = &etcdstore.UnreadableError{Key: kv.Key, Reason: err.Error()}
		}
		done.Results[i].KV = &kv
	}
	return done, nil
}

// encryptOps returns new operations.
func (s *Store) encryptOps(ctx context.Context, ops []etcdstore.Op) (_ []etcdstore.Op, err error) {
	ops = slices.Clone(ops)
	for i, op := range ops {
		if op.Verb != etcdstore.Put {
			continue
		}
		if ops[i].Value, err = s.encrypt(ctx, op.Key, op.Value); err != nil {
			return nil, err
		}
	}
	return ops, nil
}

// transactOnValues executes a transaction with a condition on an encrypted value, which etcd cannot compare: equal values are stored as
// different bytes. It reads the keys of all conditions, decides, and executes the operations on condition that these keys have not
// changed since; otherwise nothing was executed, and it decides again.
func (s *Store) transactOnValues(ctx context.Context, t etcdstore.Txn) (etcdstore.TxnResult, error) {
	if err := t.Check(); err != nil {
		return etcdstore.TxnResult{}, err
	}
	for {
		states, err := s.read(ctx, t.If)
		if err != nil {
			return etcdstore.TxnResult{}, err
		}
		decided, holds, err := decide(t, states)
		if err != nil {
			return etcdstore.TxnResult{}, err
		}
		done, err := s.transact(ctx, decided)
		if err != nil || done.Succeeded {
			done.Succeeded = done.Succeeded && holds
			return done, err
		}
		if ctx.Err() != nil {
			return etcdstore.TxnResult{}, fmt.Errorf("transaction: %w", ctx.Err())
		}
	}
}

// read reads the keys of conditions at one revision. Keys that do not exist have no state.
func (s *Store) read(ctx context.Context, conditions []etcdstore.Condition) (map[string]*etcdstore.KV, error) {
	states := make(map[string]*etcdstore.KV, len(conditions))
	var reads etcdstore.Txn
	for _, c := range conditions {
		if _, known := states[c.Key]; !known {
			states[c.Key] = nil
			reads.Then = append(reads.Then, etcdstore.Op{Verb: etcdstore.Get, Key: c.Key})
		}
	}
	done, err := s.transact(ctx, reads)
	if err != nil {
		return nil, err
	}
	for i, result := range done.Results {
		states[reads.Then[i].Key] = result.KV
	}
	return states, nil
}

// decide returns the operations of a transaction that states select, on condition of these states. A condition on a value that cannot be
// read is an error.
func decide(t etcdstore.Txn, states map[string]*etcdstore.KV) (decided etcdstore.Txn, holds bool, err error) {
	holds = true
	for _, c := range t.If {
		state := states[c.Key]
		if c.Of == etcdstore.OfValue && state != nil && state.Unreadable != nil {
			return decided, false, state.Unreadable
		}
		holds = holds && c.Holds(state)
	}
	decided.Then = t.Else
	if holds {
		decided.Then = t.Then
	}
	for key, state := range states {
		unchanged := etcdstore.Condition{Key: key, Of: etcdstore.OfModified, Is: etcdstore.Equal}
		if state != nil {
			unchanged.Number = int64(state.Modified)
		}
		decided.If = append(decided.If, unchanged)
	}
	return decided, holds, nil
}
