package buffer

import "sync"

// Buffer holds the bytes of one write: the frames of a batch, or a part of a response. An idle watch holds no buffer. A Buffer is not safe
// for concurrent use.
type Buffer struct{ Bytes []byte }

var pool = sync.Pool{New: func() any { return new(Buffer) }}

// maxKept is the capacity, in bytes, above which Put does not return a buffer to the pool.
const maxKept = 256 << 10

// Get returns an empty buffer from the pool. The caller owns it until Put.
func Get() *Buffer { return pool.Get().(*Buffer) }

// Put returns the buffer to the pool, unless a large object has made it larger than maxKept. The caller must not use the buffer or its
// Bytes afterwards.
func (b *Buffer) Put() {
	if cap(b.Bytes) <= maxKept {
		b.Bytes = b.Bytes[:0]
		pool.Put(b)
	}
}
