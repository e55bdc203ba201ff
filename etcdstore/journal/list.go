package journal

import (
	"context"
	"errors"
	"sync"

	"revtail/etcdstore"
)

const (
	// listChunk is how many keys of a list are read at a time: it bounds the memory for keys that do not exist at the revision.
	listChunk = 4096
	// listReaders is how many goroutines read a chunk, listShare the fewest keys for which one is started.
	listReaders, listShare = 4, 512
)

// List lists as etcdstore.Store does. o.At must not be zero. The error is ErrUnknown if the journal does not have the revision, or a value.
func (j *Journal) List(ctx context.Context, history uint64, prefix string, o etcdstore.ListOptions) (etcdstore.Page, error) {
	return j.list(ctx, history, prefix, o, false)
}

// ListRecorded is List of what is recorded: states whose values are not kept have none, and keys that a range excludes do not exist.
func (j *Journal) ListRecorded(ctx context.Context, history uint64, prefix string, o etcdstore.ListOptions) (etcdstore.Page, error) {
	return j.list(ctx, history, prefix, o, true)
}

func (j *Journal) list(ctx context.Context, history uint64, prefix string, o etcdstore.ListOptions, partial bool) (etcdstore.Page, error) {
	remainders := j.remainders.Load() // before the range is looked at: truncate replaces them afterwards
	known, ok := j.rangeAt(history, prefix, o.At, partial)
	if !ok || !known.Has(o.At) {
		return etcdstore.Page{}, ErrUnknown
	}
	r, err := j.newReader(known.Number)
	if err != nil {
		return etcdstore.Page{}, err
	}
	defer r.close()
	r.omitted = partial
	l := lister{reader: r, options: o, page: etcdstore.Page{Revision: o.At}}
	total, counted := remainders.get(position{known.Number, prefix, o.After, o.At})
	for key, err := range r.keys(prefix, o) {
		if counted && l.room() == 0 {
			break
		}
		if err == nil {
			err = l.add(ctx, key)
		}
		if err != nil {
			return etcdstore.Page{}, err
		}
	}
	if err := l.read(ctx); err != nil {
		return etcdstore.Page{}, err
	}
	// It may have been pruned meanwhile.
	if again, ok := j.rangeAt(history, prefix, o.At, partial); !ok || again.Number != known.Number || !again.Has(o.At) {
		return etcdstore.Page{}, ErrUnknown
	}
	if counted {
		l.page.Remaining = total - int64(len(l.page.KVs))
	}
	if n := len(l.page.KVs); n > 0 && l.page.Remaining > 0 {
		remainders.put(position{known.Number, prefix, l.page.KVs[n-1].Key, o.At}, l.page.Remaining)
	}
	return l.page, nil
}

// lister reads the keys of a list in chunks.
type lister struct {
	reader  *reader
	options etcdstore.ListOptions
	keys    []string // the chunk
	page    etcdstore.Page
}

// room returns how many keys the page has room for; zero: it is full, and what follows is counted.
func (l *lister) room() int {
	if l.options.Limit <= 0 {
		return listChunk
	}
	return max(l.options.Limit-len(l.page.KVs), 0)
}

// add adds a key to the chunk. A chunk has no more keys than the page has room for, so that no value is read for nothing.
func (l *lister) add(ctx context.Context, key string) error {
	l.keys = append(l.keys, key)
	size := listChunk
	if room := l.room(); room > 0 {
		size = min(size, room)
	}
	if len(l.keys) < size {
		return nil
	}
	return l.read(ctx)
}

// read reads the chunk.
func (l *lister) read(ctx context.Context) error {
	full := l.room() == 0
	kvs, err := l.states(ctx, l.options.KeysOnly || full)
	switch {
	case err != nil:
		return err
	case full:
		l.page.Remaining += int64(len(kvs))
	default:
		l.page.KVs = append(l.page.KVs, kvs...)
	}
	l.keys = l.keys[:0]
	return nil
}

// states returns the states of the keys of the chunk that exist, in their order. A large chunk is read by several goroutines.
func (l *lister) states(ctx context.Context, keysOnly bool) ([]etcdstore.KV, error) {
	parts := min(len(l.keys)/listShare, listReaders)
	if parts < 2 {
		return l.reader.kvs(ctx, l.keys, l.options.At, keysOnly)
	}
	kvs, errs := make([][]etcdstore.KV, parts), make([]error, parts)
	var running sync.WaitGroup
	for i := range parts {
		keys := l.keys[i*len(l.keys)/parts : (i+1)*len(l.keys)/parts]
		running.Go(func() {
			own, err := l.reader.clone()
			if err != nil {
				errs[i] = err
				return
			}
			defer own.close()
			kvs[i], errs[i] = own.kvs(ctx, keys, l.options.At, keysOnly)
		})
	}
	running.Wait()
	var out []etcdstore.KV
	for _, part := range kvs {
		out = append(out, part...)
	}
	return out, errors.Join(errs...)
}

// kvs returns the states of those keys that exist at a revision.
func (r *reader) kvs(ctx context.Context, keys []string, at etcdstore.Revision, keysOnly bool) ([]etcdstore.KV, error) {
	var out []etcdstore.KV
	for _, key := range keys {
		kv, err := r.kv(key, at, keysOnly)
		if err = errors.Join(err, ctx.Err()); err != nil {
			return nil, err
		}
		if kv != nil {
			out = append(out, *kv)
		}
	}
	return out, nil
}
