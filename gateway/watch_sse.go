package gateway

import (
	"math/rand/v2"
	"net/http"
	"strconv"

	"revtail/encoding"
	"revtail/etcdstore"
	"revtail/gateway/netio/buffer"
	"revtail/gateway/watchcache"
)

// sseEncoder is what browsers read with EventSource. A frame has an id where the client may resume: it comes back with that.
type sseEncoder struct {
	encoder   encoder
	bookmarks bool // the client wants to see marks; otherwise they have an id and no data, which its program does not notice
}

func (sseEncoder) contentType() string { return eventStreamType }

// preamble says when to come back after a break: not all at the same moment.
func (sseEncoder) preamble() []byte {
	return append(strconv.AppendInt([]byte("retry: "), 1000+rand.Int64N(2000), 10), "\n\n"...)
}

func (f sseEncoder) event(dst []byte, c watchcache.Change, last bool) []byte {
	id := int64(0)
	if last {
		id = int64(c.Revision)
	}
	return f.wrap(dst, id, func(line []byte) []byte { return f.encoder.event(line, c, last) })
}

func (f sseEncoder) bookmark(dst []byte, through etcdstore.Revision, end bool) []byte {
	if !f.bookmarks {
		return append(strconv.AppendInt(append(dst, "id: "...), int64(through), 10), "\n\n"...)
	}
	return f.wrap(dst, int64(through), func(line []byte) []byte { return f.encoder.bookmark(line, through, end) })
}

func (f sseEncoder) errorEvent(dst []byte, err error) []byte {
	return f.wrap(dst, 0, func(line []byte) []byte { return f.encoder.errorEvent(line, err) })
}

func (f sseEncoder) wrap(dst []byte, id int64, make func(line []byte) []byte) []byte {
	line := buffer.Get()
	defer line.Put()
	line.Bytes = make(line.Bytes)
	return encoding.AppendServerSentEvent(dst, line.Bytes, id)
}

func (f sseEncoder) shared() bool { return f.encoder.shared() }

// asEventStream has a watch begin as an event stream, and tells proxies not to hold it back. A browser takes any code but 200 for a
// reason never to come back: what will pass, it is told in a stream that ends at once.
func (s *watchService) asEventStream(w http.ResponseWriter, start *watchStart) {
	stream, fail := sseEncoder{start.encoder, start.bookmarks}, start.fail
	w.Header().Set("Cache-Control", "no-cache, no-transform")
	w.Header().Set("X-Accel-Buffering", "no")
	start.encoder, start.bookmarks, start.bookmarkEvery = stream, true, heartbeatInterval
	start.fail = func(w http.ResponseWriter, r *http.Request, err error) {
		if status := toStatus(err); status.Details == nil || status.Details.RetryAfterSeconds == 0 {
			fail(w, r, err)
			return
		}
		s.responder.refuse(err)
		w.Header().Set("Content-Type", eventStreamType)
		_, _ = w.Write(stream.errorEvent(stream.preamble(), err)) // a client that has gone needs no answer
	}
}
