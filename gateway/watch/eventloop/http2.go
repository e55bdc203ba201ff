package eventloop

import (
	"cmp"
	"context"

	"revtail/gateway/netio/socket"
	"revtail/gateway/watch"
	"revtail/gateway/watch/transport"
)

// http2Conn is a hijacked HTTP/2 stream. Its handler waits for the Handover.
type http2Conn struct {
	*watch.Handover
	ignore func() bool // stops the AfterFunc of join
}

func (h *http2Conn) join(l *eventLoop, c *client) bool {
	room := func() { l.guard(c, func() { l.onWritable(c) }) }
	gone := func() { l.close(c, cmp.Or(transport.StreamError(h.Stream.Ended()), socket.ErrPeerGone)) }
	h.Stream.OnRoom(func() { l.post(room) })
	h.ignore = context.AfterFunc(h.Ctx, func() { l.postFor(c, gone) })
	return true
}

func (*http2Conn) chunked() bool { return false }

func (h *http2Conn) ready() bool { return h.Stream.Ready() }

func (h *http2Conn) flushing() bool { return h.Stream.Conn().Draining() }

func (*http2Conn) encrypt(_ *eventLoop, data []byte, _ bool) ([]byte, error) { return data, nil }

func (h *http2Conn) write(l *eventLoop, data []byte) (int, error) {
	n, err := h.Stream.Send(data)
	l.flushLater(h.Stream.Conn())
	return n, transport.StreamError(err)
}

func (*http2Conn) drainRead(*eventLoop, *client) bool { return true }

func (h *http2Conn) close(err error) {
	h.ignore()
	h.Stream.OnRoom(nil) // because a broken connection and its streams may stay in memory for some time
	h.Finish(err)
}

func (h *http2Conn) release(*eventLoop, *watch.Session) error {
	h.ignore()
	h.GiveBack()
	return nil
}
