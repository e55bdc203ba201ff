package watchcache

import (
	"context"
	"iter"
	"time"

	"revtail/etcdstore"
	"revtail/gateway/watchcache/history"
)

// fills holds one for each fill of the process that reads now. More at once would hold more pages in memory.
var fills = make(chan struct{}, 4)

// fill reads the whole state as of one revision.
func (r *reflector) fill(ctx context.Context) error {
	if r.cache.config.Readable == nil { // no other fill waits for a webhook
		select {
		case fills <- struct{}{}:
			defer func() { <-fills }()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	store := r.cache.config.Store
	identity, filling := store.History(), r.cache.startProgress()
	defer filling.end()
	m, revision, err := r.cache.read(ctx, 0, filling.add)
	if err != nil {
		return err
	}
	r.identity = store.History()
	if identity != 0 && identity != r.identity {
		return history.ErrMismatch
	}
	m.objects.released = r.mirror.objects.released + r.mirror.objects.size + changeSize // the former state, which may be empty, is another one
	r.mirror, r.since, r.through = m, revision, revision
	return nil
}

// read reads the state as of a revision from the store; zero: the newest one, whose revision it returns. It reports to progress how many objects of
// a page were read, and how many remain.
func (c *Cache) read(ctx context.Context, at etcdstore.Revision, progress func(objects, remaining int)) (m *mirror, revision etcdstore.Revision, err error) {
	b, unordered, ordered := newBuilder(c), []etcdstore.KV(nil), c.config.Path == nil
	for page, err := range ahead(ctx, func(ctx context.Context) iter.Seq2[etcdstore.Page, error] {
		return etcdstore.Scan(ctx, c.config.Store, c.config.Prefix, at)
	}) {
		if err != nil {
			return nil, 0, err
		}
		revision = page.Revision
		if ordered {
			b.add(page.KVs)
		} else { // paths have another order than keys, so all of them must be known
			unordered = append(unordered, page.KVs...)
		}
		progress(len(page.KVs), int(page.Remaining))
		if ordered && page.Release != nil {
			page.Release()
		}
	}
	if ctx.Err() != nil {
		return nil, 0, ctx.Err() // the pages may have ended early
	}
	b.flush()
	b.mirror.fill(c.decodeAll(unordered))
	return b.mirror, revision, nil
}

// ahead yields the pages of a sequence that runs in a goroutine of its own, so that the next page is read while the last one is decoded. The context of
// the sequence ends when no more is wanted.
func ahead(parent context.Context, read func(context.Context) iter.Seq2[etcdstore.Page, error]) iter.Seq2[etcdstore.Page, error] {
	type result struct {
		page etcdstore.Page
		err  error
	}
	return func(yield func(etcdstore.Page, error) bool) {
		ctx, cancel := context.WithCancel(parent)
		results := make(chan result)
		go func() {
			defer close(results)
			for page, err := range read(ctx) {
				select {
				case results <- result{page, err}:
				case <-ctx.Done():
					return
				}
			}
		}()
		defer func() {
			cancel()
			for range results { // until the goroutine has ended
			}
		}()
		for r := range results {
			if !yield(r.page, r.err) {
				return
			}
		}
	}
}

// builder makes a mirror of keys in the order of their paths. It decodes the objects of a block into memory that is used again after the block has its
// copy: objects and documents that have memory of their own before would be garbage, and twice the cost.
type builder struct {
	cache  *Cache
	mirror *mirror

	objects []Object  // the memory of those of block; nil before the first one
	buffer  []byte    // its length is that of the documents of block
	block   []*Object // the next ones
	size    int       // of block
}

func newBuilder(c *Cache) *builder { return &builder{cache: c, mirror: newMirror()} }

// add decodes keys. The last objects wait for others, or for flush.
func (b *builder) add(kvs []etcdstore.KV) {
	if b.objects == nil && len(kvs) > 0 { // most resources have none
		b.objects, b.buffer = make([]Object, blockObjects), make([]byte, 0, 2*blockSize)
	}
	for _, kv := range kvs {
		var next Object
		free := b.buffer[len(b.buffer):cap(b.buffer)]
		b.cache.decodeTo(&next, free[:0], kv)
		buffered := len(next.JSON) > 0 && len(free) > 0 && &next.JSON[0] == &free[0]
		if len(b.block) == blockObjects || b.size+next.size() > blockSize {
			b.flush()
			if buffered { // at the place of the block
				next.JSON = append(b.buffer, next.JSON...)
			}
		}
		o := &b.objects[len(b.block)]
		if buffered {
			b.buffer, next.shared = b.buffer[:len(b.buffer)+len(next.JSON)], true
		} else {
			o = new(Object) // it may be in no block
		}
		*o = next
		b.block, b.size = append(b.block, o), b.size+o.size()
	}
}

// flush adds the objects of the block to the mirror.
func (b *builder) flush() {
	b.mirror.fill(b.block)
	clear(b.block)
	b.buffer, b.block, b.size = b.buffer[:0], b.block[:0], 0
}

// progressPeriod is the time between two log lines of a fill. A shorter one has none.
const progressPeriod = 5 * time.Second

// Progress is how far a fill has come.
type Progress struct {
	Began time.Time // zero: the cache is not being filled
	Read  int       // objects
	Of    int       // all of them; zero: unknown
}

// progress reports the progress of a fill in the log and in Stats.
type progress struct {
	cache  *Cache
	logged time.Time
}

func (c *Cache) startProgress() *progress {
	p := &progress{c, time.Now()}
	p.set(Progress{Began: p.logged})
	return p
}

func (p *progress) set(now Progress) {
	p.cache.mu.Lock()
	defer p.cache.mu.Unlock()
	p.cache.counters.Filling = now
}

// add counts objects that have been read, before the remaining ones.
func (p *progress) add(objects, remaining int) {
	now := p.cache.Stats().Filling
	now.Read += objects
	now.Of = now.Read + remaining
	p.set(now)
	if time.Since(p.logged) >= progressPeriod {
		p.logged = time.Now()
		p.cache.config.Logger.Info("cache filling", "prefix", p.cache.config.Prefix, "objects", now.Read, "of", now.Of, "seconds", int(time.Since(now.Began).Seconds()))
	}
}

func (p *progress) end() { p.set(Progress{}) }
