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

// eventStream is what browsers read with EventSource. A frame has an id where the client may resume: it comes back with that.
type eventStream struct {
	frames framing
	marks  bool // the client wants to see marks; otherwise they have an id and no data, which its program does not notice
}

func (eventStream) contentType() string { return eventStreamType }

// opening says when to come back after a break: not all at the same moment.
func (eventStream) opening() []byte {
	return append(strconv.AppendInt([]byte("retry: "), 1000+rand.Int64N(2000), 10), "\n\n"...)
}

func (f eventStream) event(dst []byte, c watchcache.Change, last bool) []byte {
	id := int64(0)
	if last {
		id = int64(c.Revision)
	}
	return f.wrap(dst, id, func(line []byte) []byte { return f.frames.event(line, c, last) })
}

func (f eventStream) mark(dst []byte, through etcdstore.Revision, end bool) []byte {
	if !f.marks {
		return append(strconv.AppendInt(append(dst, "id: "...), int64(through), 10), "\n\n"...)
	}
	return f.wrap(dst, int64(through), func(line []byte) []byte { return f.frames.mark(line, through, end) })
}

func (f eventStream) failure(dst []byte, err error) []byte {
	return f.wrap(dst, 0, func(line []byte) []byte { return f.frames.failure(line, err) })
}

func (f eventStream) wrap(dst []byte, id int64, make func(line []byte) []byte) []byte {
	line := buffer.Get()
	defer line.Put()
	line.Bytes = make(line.Bytes)
	return encoding.AppendServerSentEvent(dst, line.Bytes, id)
}

func (f eventStream) shared() bool { return f.frames.shared() }

// asEventStream has a watch begin as an event stream, and tells proxies not to hold it back. A browser takes any code but 200 for a
// reason never to come back: what will pass, it is told in a stream that ends at once.
func (s *watchService) asEventStream(w http.ResponseWriter, start *watchStart) {
	stream, fail := eventStream{start.frames, start.marks}, start.fail
	w.Header().Set("Cache-Control", "no-cache, no-transform")
	w.Header().Set("X-Accel-Buffering", "no")
	start.frames, start.marks, start.every = stream, true, heartbeatEvery
	start.fail = func(w http.ResponseWriter, r *http.Request, err error) {
		if status := toStatus(err); status.Details == nil || status.Details.RetryAfterSeconds == 0 {
			fail(w, r, err)
			return
		}
		s.responder.refuse(err)
		w.Header().Set("Content-Type", eventStreamType)
		_, _ = w.Write(stream.failure(stream.opening(), err)) // a client that has gone needs no answer
	}
}
