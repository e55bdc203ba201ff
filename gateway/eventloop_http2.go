package gateway

import (
	"cmp"
	"context"

	"revtail/gateway/netio/socket"
)

// http2Conn is an HTTP/2 stream whose handler waits.
type http2Conn struct {
	*handover
	ignore func() bool // stops join from watching ctx
}

func (h *http2Conn) join(l *eventLoop, c *client) bool {
	room := func() { l.onWritable(c) }
	gone := func() { l.close(c, cmp.Or(streamError(h.stream.Ended()), socket.ErrPeerGone)) }
	h.stream.OnRoom(func() { l.post(room) })
	h.ignore = context.AfterFunc(h.ctx, func() { l.post(gone) })
	return true
}

func (*http2Conn) chunked() bool { return false }

func (h *http2Conn) ready() bool { return h.stream.Ready() }

func (h *http2Conn) flushing() bool { return h.stream.Conn().Draining() }

func (*http2Conn) encrypt(_ *eventLoop, data []byte, _ bool) ([]byte, error) { return data, nil }

func (h *http2Conn) write(l *eventLoop, data []byte) (int, error) {
	n, err := h.stream.Send(data)
	l.flushLater(h.stream.Conn())
	return n, streamError(err)
}

func (*http2Conn) drainRead(*eventLoop, *client) bool { return true }

func (h *http2Conn) close(err error) {
	h.ignore()
	h.stream.OnRoom(nil) // a connection that broke may be held for some time, with its streams
	h.finish(err)
}

func (h *http2Conn) release(*eventLoop, *session) error {
	h.ignore()
	h.handover.giveBack()
	return nil
}
