package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"revtail/etcdstore"
	"revtail/etcdstore/journal/delta"
)

// checkKeys reads the states of every key. The index of keys is read along with them: it names the keys whose states cannot be read.
func (v *verifier) checkKeys(ctx context.Context, r *reader) error {
	if err := v.countKeys(r); err != nil {
		v.damaged(fmt.Errorf("the index of keys of %q: %w", v.known.Prefix, err))
	}
	at := v.position(r, head(stateKind, v.known.Number), "")
	last := ""
	for key, err := range r.keys("", etcdstore.ListOptions{}) {
		if err != nil {
			break // countKeys has reported it
		}
		for at != nil && *at < key {
			v.missesIndex(*at)
			at = v.checkKey(r, *at)
		}
		if last = key; at == nil || *at != key { // no state, or none that can be read
			at = v.position(r, stateKey(v.known.Number, key, 0), key)
		}
		if at == nil || *at != key {
			v.damaged(fmt.Errorf("the index of keys has %q, which has no state that can be read", key))
			continue
		}
		at = v.checkKey(r, key)
		v.progress.show("verifying states of "+v.known.Prefix, v.sum.Keys, v.keys)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	for at = v.position(r, afterKey(v.known.Number, last), last); at != nil; at = v.checkKey(r, *at) {
		if *at != last {
			v.missesIndex(*at)
		}
	}
	return nil
}

func (v *verifier) countKeys(r *reader) error {
	for _, err := range r.keys("", etcdstore.ListOptions{}) {
		if err != nil {
			return err
		}
		v.keys++
	}
	return nil
}

func (v *verifier) missesIndex(key string) {
	if v.known.Indexed {
		v.damaged(fmt.Errorf("%q has states, and is not in the index of keys", key))
	}
}

// position moves to the first state at from or later, and returns its key; nil: there is none, or none that can be read.
func (v *verifier) position(r *reader, from []byte, near string) *string {
	return v.keyAt(r, r.states.SeekGE(from), near)
}

// keyAt returns the key under the iterator. Keys that cannot be parsed are reported, and left out.
func (v *verifier) keyAt(r *reader, ok bool, near string) *string {
	for ; ok; ok = r.states.Next() {
		key, _, err := parseStateKey(r.states.Key())
		if err == nil {
			return &key
		}
		v.damaged(fmt.Errorf("a state after those of %q: %w", near, err))
	}
	if err := r.states.Error(); err != nil {
		v.damaged(fmt.Errorf("the states of %q, or of keys after it: %w", near, err))
	}
	return nil
}

// checkKey reads the states of a key, the first of which is under the iterator, and returns the next key.
func (v *verifier) checkKey(r *reader, key string) *string {
	v.sum.Keys++
	end, ok := afterKey(v.known.Number, key), true
	var before verified
	for ; ok && bytes.Compare(r.states.Key(), end) < 0; ok = r.states.Next() {
		v.sum.States++
		revision, next, err := before.next(r, key)
		if err != nil {
			v.damaged(damagedError(key, revision, err))
		}
		if before = next; v.known.hasEvent(revision) {
			v.needed++
		}
	}
	return v.keyAt(r, ok, key)
}

// verified is a state that was read.
type verified struct {
	depth int
	value []byte
	whole bool // it has a value, and so the next one may be a difference to it
}

// next reads the state under the iterator, which follows v.
func (v verified) next(r *reader, key string) (etcdstore.Revision, verified, error) {
	name, revision, err := parseStateKey(r.states.Key())
	if err != nil || name != key {
		return revision, verified{}, errors.Join(errEntry, err)
	}
	e, err := parseEntry(r.states.Value())
	switch {
	case err != nil || e.deleted || e.omitted:
		return revision, verified{}, err
	case e.depth == 0:
		return revision, verified{0, bytes.Clone(e.value), true}, nil
	case !v.whole || v.depth != e.depth-1:
		return revision, verified{}, fmt.Errorf("%w: it is a difference to a state that is missing", errEntry)
	}
	value, err := delta.AppendValue(nil, v.value, e.value)
	return revision, verified{e.depth, value, err == nil}, err
}
