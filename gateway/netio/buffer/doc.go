// Package buffer has a pool of byte buffers. A buffer serves one batch of frames and returns to the pool. The pool drops buffers that a
// large object has made large.
package buffer
