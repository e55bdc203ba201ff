package buffer

import "sync"

// Buffer holds what is written at once: the frames of a batch, or a part of an answer. An idle watch holds no buffer.
type Buffer struct{ Bytes []byte }

var pool = sync.Pool{New: func() any { return new(Buffer) }}

// maxKept is the capacity above which a buffer is not used again.
const maxKept = 256 << 10

// Get returns an empty buffer.
func Get() *Buffer { return pool.Get().(*Buffer) }

// Put returns the buffer to the pool, unless a large object has made it larger than maxKept.
func (b *Buffer) Put() {
	if cap(b.Bytes) <= maxKept {
		b.Bytes = b.Bytes[:0]
		pool.Put(b)
	}
}
