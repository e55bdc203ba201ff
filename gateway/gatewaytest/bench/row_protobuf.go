package main

import (
	"bytes"
	"context"
	"encoding/binary"
)

// protobufType is the media type of protobuf.
const protobufType = "application/vnd.kubernetes.protobuf"

// feedMessages splits the stream into messages, which have their length in four bytes before them.
func (l *lines) feedMessages(p []byte) {
	const head = 4
	l.partial = append(l.partial, p...)
	rest := l.partial
	for len(rest) >= head {
		end := head + int(binary.BigEndian.Uint32(rest))
		if len(rest) < end {
			break
		}
		l.handle(rest[head:end])
		rest = rest[end:]
	}
	l.partial = append(l.partial[:0], rest...)
}

// The beginnings of events in protobuf, and what is before the length and the digits of a resourceVersion: the uid of the objects.
var (
	messageBookmark = []byte("\n\x08BOOKMARK")
	messageError    = []byte("\n\x05ERROR")
	messageVersion  = []byte("*$5ad16b2c-9d0a-4b44-8f0e-1d6ab6a0c1f72")
)

// message reads an event in protobuf.
func (w *watcher) message(message []byte) {
	switch {
	case bytes.HasPrefix(message, messageError):
		w.fail("%.300q", message)
	case bytes.HasPrefix(message, messageBookmark):
	default:
		revision := int64(0)
		if _, rest, ok := bytes.Cut(message[:min(near, len(message))], messageVersion); ok && len(rest) > int(rest[0]) {
			revision, _ = revisionAfter(rest[1:1+rest[0]], nil)
		}
		w.event(revision)
	}
}

// messageListRow measures lists in protobuf, which have no peer: encoding them is the work.
func messageListRow(name string, objects func(size) int, clients int, figures []figure) row {
	return row{name: name, figures: figures, open: func(ctx context.Context, s *stage) ([]contender, error) {
		o := new(opening)
		e, _, err := s.openStored(ctx, o, objects(s.size))
		if err != nil {
			return o.end(err)
		}
		for _, product := range s.products {
			p, err := s.openProduct(ctx, o, product.binary, e, plain)
			if err != nil {
				return o.end(err)
			}
			all, err := acceptListers(ctx, o, p.endpoint, protobufType, 0, clients)
			if err != nil {
				return o.end(err)
			}
			if err := s.addListers(o, product.name, p.Process, all); err != nil {
				return o.end(err)
			}
		}
		return o.end(nil)
	}}
}
