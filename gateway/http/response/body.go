package response

import (
	"net/http"
	"strconv"
	"strings"

	"revtail/gateway/http/request"
	"revtail/gateway/netio/buffer"
	"revtail/gateway/watchcache"
)

const (
	// compressAbove is the size, in bytes, above which a body is compressed. A smaller body is buffered and has a Content-Length.
	compressAbove = 128 << 10
	// flushSize is the size, in bytes, of the writes of a larger body.
	flushSize = 64 << 10
)

// Body writes the body of a response piece by piece. The caller appends to Bytes, calls FlushLarge after each piece, and Finish at the end
// or after an error. The status and headers are sent with the first bytes.
type Body struct {
	*buffer.Buffer

	writer     http.ResponseWriter
	code       int
	coding     *Coding    // that the client accepts; nil: none
	compressor Compressor // nil: not compressed
	open       bool       // the status and headers have been sent
	err        error      // of the connection; later bytes are dropped
}

// NewBody returns the body of a response with a status code. The caller sets the headers of the content before the first FlushLarge or
// Finish. compressors is nil for responses that are never compressed.
func NewBody(w http.ResponseWriter, r *http.Request, code int, compressors *Compressors) *Body {
	p := &Body{Buffer: buffer.Get(), writer: w, code: code}
	if compressors != nil && !request.IsHead(r) {
		p.coding = compressors.preferred(strings.Join(r.Header.Values("Accept-Encoding"), ","))
	}
	return p
}

// FlushLarge sends Bytes if there are enough of them. After an error the caller only calls Finish.
func (p *Body) FlushLarge() error {
	if p.err == nil && p.large() {
		p.send()
	}
	return p.err
}

// large reports whether FlushLarge sends Bytes.
func (p *Body) large() bool {
	return p.open && len(p.Bytes) >= flushSize || len(p.Bytes) > compressAbove
}

// send sends Bytes as a part of a body of unknown length.
func (p *Body) send() {
	if !p.open {
		p.start()
	}
	if p.compressor != nil {
		_, p.err = p.compressor.Write(p.Bytes)
	} else {
		_, p.err = p.writer.Write(p.Bytes)
	}
	p.Bytes = p.Bytes[:0]
}

// start sends the status and headers of a large body.
func (p *Body) start() {
	p.open = true
	if p.coding != nil {
		header := p.writer.Header()
		header.Set("Content-Encoding", p.coding.Name)
		header.Add("Vary", "Accept-Encoding")
		p.compressor = p.coding.Pool.Get().(Compressor)
		p.compressor.Reset(p.writer)
	}
	p.writer.WriteHeader(p.code)
}

// WriteList writes a list as the whole body. It does not copy a large list that is not compressed.
func (p *Body) WriteList(l *CachedList, r *http.Request) {
	if l.size > flushSize && (p.coding == nil || l.size <= compressAbove) {
		p.open = true
		p.writer.Header().Set("Content-Length", strconv.Itoa(l.size))
		p.writer.WriteHeader(p.code)
		if !request.IsHead(r) {
			p.err = l.Write(p.writer, r)
		}
		return
	}
	for piece := range l.pieces {
		p.Bytes = append(p.Bytes, piece...)
		if p.FlushLarge() != nil {
			return
		}
	}
	p.err = l.list.Err()
}

// WriteItems writes a list as the whole body: its head, and each object as item returns it, in a format. The turn of the list pays for that.
func (p *Body) WriteItems(f Format, head []byte, list *watchcache.List, item func(*watchcache.Object) []byte) {
	p.Bytes = f.AppendHead(p.Bytes, head)
	defer list.Turn.End()
	empty := true
	for object := range list.Objects {
		_ = list.Turn.ContinueBytes(len(object.JSON)) // a list that has begun goes on: its time is limited
		p.Bytes = f.AppendItem(p.Bytes, item(object), empty)
		empty = false
		if p.large() {
			list.Turn.End() // the client may be slow
		}
		if p.FlushLarge() != nil {
			return
		}
		if p.err = list.Err(); p.err != nil {
			return
		}
	}
	p.Bytes = f.AppendTail(p.Bytes, empty)
}

// Err returns why the body is incomplete: the error of the connection, or of the list.
func (p *Body) Err() error { return p.err }

// Finish sends the rest and returns the buffer to its pool. It has no error, because nothing can be sent to a client that has gone away.
func (p *Body) Finish() {
	defer p.Put()
	if p.err == nil && p.coding != nil && len(p.Bytes) > compressAbove {
		p.send()
	}
	switch {
	case !p.open && p.err == nil:
		p.writer.Header().Set("Content-Length", strconv.Itoa(len(p.Bytes)))
		p.writer.WriteHeader(p.code)
		_, _ = p.writer.Write(p.Bytes)
	case p.err == nil:
		p.send()
	}
	if p.compressor == nil {
		return
	}
	if p.err == nil {
		_ = p.compressor.Close()
	}
	p.compressor.Reset(nil)
	p.coding.Pool.Put(p.compressor)
}
