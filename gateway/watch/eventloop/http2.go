package eventloop

import (
	"revtail/gateway/netio/http2"
	"revtail/gateway/watch"
	"revtail/gateway/watch/transport"
)

// http2Conn is a hijacked HTTP/2 stream. It is the owner of the stream.
type http2Conn struct {
	stream *http2.Stream
	client *client     // set by join
	of     *connection // of stream; set by join
}

func (h *http2Conn) join(l *eventLoop, c *client) bool {
	h.client, h.of = c, l.enter(h.stream.Conn())
	h.stream.SetOwner(h)
	return true
}

// OnRoom implements http2.Owner.
func (h *http2Conn) OnRoom() {
	l, c := h.client.loop, h.client
	l.postFor(c, func() { l.onWritable(c) })
}

// OnEnd implements http2.Owner.
func (h *http2Conn) OnEnd() {
	l, c := h.client.loop, h.client
	l.postFor(c, func() { l.close(c, transport.StreamError(h.stream.Ended())) })
}

func (h *http2Conn) connection() *connection { return h.of }

func (h *http2Conn) leave(l *eventLoop) {
	if h.of != nil { // otherwise it has not joined
		l.leave(h.of)
	}
}

func (*http2Conn) chunked() bool { return false }

func (h *http2Conn) ready() bool { return h.stream.Ready() }

func (h *http2Conn) flushing() bool { return h.stream.Conn().Draining() }

func (*http2Conn) encrypt(_ *eventLoop, data []byte, _ bool) ([]byte, error) { return data, nil }

func (h *http2Conn) write(l *eventLoop, data []byte) (int, error) {
	n, err := h.stream.Send(data)
	l.flushLater(h.stream.Conn())
	return n, transport.StreamError(err)
}

func (*http2Conn) drainRead(*eventLoop, *client) bool { return true }

func (h *http2Conn) close(_ *eventLoop, err error) {
	if err == nil {
		h.stream.End()
	} else {
		h.stream.Reset()
	}
}

func (h *http2Conn) release(l *eventLoop, s *watch.Session) error {
	l.pool.background.Go(func() { s.Resume(l.ctx, transport.Handle{Stream: h.stream}) })
	return nil
}
