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

// sseEncoder is what browsers read with EventSource. A frame has an id where the client may resume: it comes back with that.
type sseEncoder struct {
	encoder   Encoder
	bookmarks bool // the client wants to see marks; otherwise they have an id and no data, which its program does not notice
}

func (sseEncoder) ContentType() string { return response.EventStream }

// Preamble says when to come back after a break: not all at the same moment.
func (sseEncoder) Preamble() []byte {
	return append(strconv.AppendInt([]byte("retry: "), 1000+rand.Int64N(2000), 10), "\n\n"...)
}

func (f sseEncoder) Event(dst []byte, c watchcache.Change, last bool) []byte {
	id := int64(0)
	if last {
		id = int64(c.Revision)
	}
	return f.wrap(dst, id, func(line []byte) []byte { return f.encoder.Event(line, c, last) })
}

func (f sseEncoder) Bookmark(dst []byte, through etcdstore.Revision, end bool) []byte {
	if !f.bookmarks {
		return append(strconv.AppendInt(append(dst, "id: "...), int64(through), 10), "\n\n"...)
	}
	return f.wrap(dst, int64(through), func(line []byte) []byte { return f.encoder.Bookmark(line, through, end) })
}

func (f sseEncoder) ErrorEvent(dst []byte, err error) []byte {
	return f.wrap(dst, 0, func(line []byte) []byte { return f.encoder.ErrorEvent(line, err) })
}

func (f sseEncoder) wrap(dst []byte, id int64, make func(line []byte) []byte) []byte {
	line := buffer.Get()
	defer line.Put()
	line.Bytes = make(line.Bytes)
	return encoding.AppendServerSentEvent(dst, line.Bytes, id)
}

func (f sseEncoder) Shared() bool { return f.encoder.Shared() }

// AsEventStream has a watch begin as an event stream, and tells proxies not to hold it back. A browser takes any code but 200 for a
// reason never to come back: what will pass, it is told in a stream that ends at once.
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
		_, _ = w.Write(stream.ErrorEvent(stream.Preamble(), err)) // a client that has gone needs no answer
	}
}
