package response

import (
	"net/http"
	"strconv"
	"strings"

	"revtail/gateway/http/request"
	"revtail/gateway/netio/buffer"
)

const (
	// compressAbove is the size, in bytes, above which an answer is compressed; what is smaller is held back until it is
	// complete, and so has a Content-Length.
	compressAbove = 128 << 10
	// flushSize is how many bytes of a larger answer are collected for one write.
	flushSize = 64 << 10
)

// Body is the body of an answer that is made while it is sent. The caller adds to Bytes, calls spill now and then, and
// finish at the end; after an error, finish alone. The head of the answer is sent with the first bytes.
type Body struct {
	*buffer.Buffer

	writer     http.ResponseWriter
	code       int
	coding     *Coding    // that the client takes; nil: none
	compressor Compressor // nil: not compressed
	open       bool       // the head has been sent
	err        error      // of the connection; what is added afterwards goes nowhere
}

// NewBody makes the body of an answer; the caller sets the headers that are about what is in it. compressors is nil where
// no answer is so large.
func NewBody(w http.ResponseWriter, r *http.Request, code int, compressors *Compressors) *Body {
	p := &Body{Buffer: buffer.Get(), writer: w, code: code}
	if compressors != nil && !request.IsHead(r) {
		p.coding = compressors.preferred(strings.Join(r.Header.Values("Accept-Encoding"), ","))
	}
	return p
}

// FlushLarge sends what has been collected, once it is enough for that. After an error there is no more to add.
func (p *Body) FlushLarge() error {
	if p.err == nil && (p.open && len(p.Bytes) >= flushSize || len(p.Bytes) > compressAbove) {
		p.send()
	}
	return p.err
}

// send sends the buffer as a part of an answer of unknown length.
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

// start sends the head of a large answer.
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

// WriteList makes a list the body. One that is large and not to be compressed goes out as it is: its bytes are never collected.
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
}

// Finish sends the rest, and ends the use of the buffer. A client that has gone away needs no answer: there is no error.
func (p *Body) Finish() {
	defer p.Put()
	if p.err == nil && p.coding != nil && len(p.Bytes) > compressAbove {
		p.send()
	}
	switch {
	case !p.open:
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
