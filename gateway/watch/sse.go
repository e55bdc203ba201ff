package watch

import (
	"math/rand/v2"
	"net/http"
	"strconv"

	"revtail/encoding"
	"revtail/etcdstore"
	"revtail/gateway/http/response"
	"revtail/gateway/http/status"
	"revtail/gateway/netio/buffer"
	"revtail/gateway/watchcache"
)

// sseEncoder wraps the frames of another Encoder as server-sent events, for EventSource. A frame has an id if the client may resume after it,
// because EventSource sends the last id when it reconnects.
type sseEncoder struct {
	encoder   Encoder
	bookmarks bool // the client wants bookmarks; otherwise they have an id and no data, and EventSource dispatches no event
}

// ContentType implements Encoder.
func (sseEncoder) ContentType() string { return response.EventStream }

// Preamble returns the retry field: EventSource reconnects after 1 to 3 s, at random, because not all clients must reconnect at the same moment.
func (sseEncoder) Preamble() []byte {
	return append(strconv.AppendInt([]byte("retry: "), 1000+rand.Int64N(2000), 10), "\n\n"...)
}

// Event implements Encoder.
func (f sseEncoder) Event(dst []byte, c watchcache.Change, last bool) []byte {
	id := int64(0)
	if last {
		id = int64(c.Revision)
	}
	return f.wrap(dst, id, func(line []byte) []byte { return f.encoder.Event(line, c, last) })
}

// Bookmark implements Encoder.
func (f sseEncoder) Bookmark(dst []byte, through etcdstore.Revision, end bool) []byte {
	if !f.bookmarks {
		return append(strconv.AppendInt(append(dst, "id: "...), int64(through), 10), "\n\n"...)
	}
	return f.wrap(dst, int64(through), func(line []byte) []byte { return f.encoder.Bookmark(line, through, end) })
}

// ErrorEvent implements Encoder.
func (f sseEncoder) ErrorEvent(dst []byte, err error) []byte {
	return f.wrap(dst, 0, func(line []byte) []byte { return f.encoder.ErrorEvent(line, err) })
}

// wrap appends the frame that make appends to line, as a server-sent event; an id of zero: the event has none.
func (f sseEncoder) wrap(dst []byte, id int64, make func(line []byte) []byte) []byte {
	line := buffer.Get()
	defer line.Put()
	line.Bytes = make(line.Bytes)
	return encoding.AppendServerSentEvent(dst, line.Bytes, id)
}

// Passes implements Encoder.
func (f sseEncoder) Passes() int { return f.encoder.Passes() }

// Shared implements Encoder.
func (f sseEncoder) Shared() bool { return f.encoder.Shared() }

// AsEventStream changes start so that Follow serves the watch as an event stream, with bookmarks every HeartbeatInterval. It also sets headers
// of w that keep proxies from buffering the stream. The new start.Fail answers a temporary error, one with retryAfterSeconds, with 200 and a
// stream that ends after the ERROR event, because EventSource never reconnects after any other code.
func (s *Service) AsEventStream(w http.ResponseWriter, start *Start) {
	stream, fail := sseEncoder{start.Encoder, start.Bookmarks}, start.Fail
	w.Header().Set("Cache-Control", "no-cache, no-transform")
	w.Header().Set("X-Accel-Buffering", "no")
	start.Encoder, start.Bookmarks, start.BookmarkEvery = stream, true, HeartbeatInterval
	start.Fail = func(w http.ResponseWriter, r *http.Request, err error) {
		if st := status.Of(err); st.Details == nil || st.Details.RetryAfterSeconds == 0 {
			fail(w, r, err)
			return
		}
		s.Responder.Count(err)
		w.Header().Set("Content-Type", response.EventStream)
		_, _ = w.Write(stream.ErrorEvent(stream.Preamble(), err)) // fails only if the client has disconnected
	}
}
