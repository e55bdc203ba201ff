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

// framing is what of the events of a watch its client gets to see, and how that is written. It does not change, and all that a
// watch writes comes from it, whatever the transport.
type framing interface {
	contentType() string
	// opening is what comes before the first frame; nil: nothing.
	opening() []byte
	// event appends the frame of a change. last: nothing of its revision follows, so that a client may resume there.
	event(dst []byte, c watchcache.Change, last bool) []byte
	// mark appends what says that the watch is complete up to a revision; end: and that the state which it began with is.
	mark(dst []byte, through etcdstore.Revision, end bool) []byte
	// failure appends the frame that ends the watch.
	failure(dst []byte, err error) []byte
	// shared tells whether clients with the same framing get the same bytes; only then is it compared.
	shared() bool
}

const eventStreamType = "text/event-stream"

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

// refusal is how a client is told, before the head of the answer, that there is no stream for it.
type refusal func(w http.ResponseWriter, r *http.Request, err error)

// asEventStream wraps frames for a client that wants an event stream, and tells proxies not to hold it back. A browser takes any
// code but 200 for a reason never to come back: what will pass, it is told in a stream that ends at once.
func (s *Server) asEventStream(w http.ResponseWriter, frames framing, marks bool, fail refusal) (framing, refusal) {
	stream := eventStream{frames, marks}
	w.Header().Set("Cache-Control", "no-cache, no-transform")
	w.Header().Set("X-Accel-Buffering", "no")
	return stream, func(w http.ResponseWriter, r *http.Request, err error) {
		if status := toStatus(err); status.Details == nil || status.Details.RetryAfterSeconds == 0 {
			fail(w, r, err)
			return
		}
		s.responder.refuse(err)
		w.Header().Set("Content-Type", eventStreamType)
		_, _ = w.Write(stream.failure(stream.opening(), err)) // a client that has gone needs no answer
	}
}

// wantsEventStream tells whether a client reads an event stream rather than JSON: the better clause of Accept decides.
func wantsEventStream(r *http.Request) bool {
	if wantsWebSocket(r) {
		return false
	}
	for _, c := range acceptedClauses(r) {
		switch {
		case c.media == eventStreamType:
			return true
		case c.mediaType() == jsonType:
			return false
		}
	}
	return false
}

// lastEventID is where a client of an event stream says that it stands: by the header that EventSource sends when it
// reconnects, or by the query, which a page can set when it begins. The header is the newer one.
func lastEventID(r *http.Request) string {
	if id := r.Header.Get("Last-Event-ID"); id != "" {
		return id
	}
	return queryOf(r).Get("lastEventId")
}
