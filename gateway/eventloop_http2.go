package gateway

import (
	"cmp"
	"context"

	"revtail/gateway/netio/socket"
)

// http2Conn is a stream of HTTP/2, whose handler waits.
type http2Conn struct {
	*handover
	ignore func() bool // the end of ctx
}

func (l *http2Conn) join(w *eventLoop, c *client) bool {
	room := func() { w.onWritable(c) }
	gone := func() { w.close(c, cmp.Or(streamError(l.stream.Ended()), socket.ErrPeerGone)) }
	l.stream.OnRoom(func() { w.post(room) })
	l.ignore = context.AfterFunc(l.ctx, func() { w.post(gone) })
	return true
}

func (*http2Conn) chunked() bool { return false }

func (l *http2Conn) ready() bool { return l.stream.Ready() }

func (l *http2Conn) flushing() bool { return l.stream.Conn().Draining() }

func (*http2Conn) encrypt(_ *eventLoop, data []byte, _ bool) ([]byte, error) { return data, nil }

func (l *http2Conn) write(w *eventLoop, data []byte) (int, error) {
	n, err := l.stream.Send(data)
	w.flushLater(l.stream.Conn())
	return n, streamError(err)
}

func (*http2Conn) drainRead(*eventLoop, *client) bool { return true }

func (l *http2Conn) close(err error) {
	l.ignore()
	l.stream.OnRoom(nil) // a connection that broke may be held for some time, with its streams
	l.finish(err)
}

func (l *http2Conn) release(*eventLoop, *session) error {
	l.ignore()
	l.handover.giveBack()
	return nil
}
