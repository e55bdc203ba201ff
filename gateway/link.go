package gateway

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"

	"revtail/gateway/netio/socket"
)

// link is the way of a writer to a client: a connection, or a stream of one. It is the writer's, and nothing of it waits.
type link interface {
	// join begins to hear of the client; false: it has gone.
	join(w *writer, c *client) bool
	// chunked tells whether each frame is a chunk of its own, and a last one is the end.
	chunked() bool
	// ready tells whether the client takes something. If not, w.room is called when it may.
	ready() bool
	// seal is what is written for data, and with last for the end. It stands in memory that will be used again.
	seal(w *writer, data []byte, last bool) ([]byte, error)
	// write writes what the client takes now.
	write(w *writer, sealed []byte) (n int, err error)
	// hear throws away what the client has said; false: it has gone.
	hear(w *writer, c *client) bool
	// moving tells whether somebody else sees to it that the client takes what was written.
	moving() bool
	// close ends it; with an error the client sees a broken stream.
	close(err error)
	// giveBack has a goroutine go on with the watch. After an error nobody does.
	giveBack(w *writer, wt *watch) error
}

// connLink is a connection of HTTP/1.1.
type connLink struct {
	socket socket.Socket
	wire   *wire     // between TLS and the socket; nil: no TLS
	secure *tls.Conn // on the wire
	heard  int       // bytes that the client has sent after its request
}

// newConnLink takes a connection. Without an error it is the link's, and conn of no more use.
func newConnLink(w *writer, conn net.Conn) (*connLink, error) {
	below, under, secure := layers(conn)
	if !socket.Pollable(below) || secure != nil && under == nil {
		return nil, socket.ErrNotPollable
	}
	s, err := socket.New(below)
	if err != nil {
		return nil, err
	}
	if under != nil {
		under.take(s, &w.sealed)
	}
	return &connLink{socket: s, wire: under, secure: secure}, nil
}

func (l *connLink) join(w *writer, c *client) bool {
	if err := w.poller.Add(l.socket, c.tag); err != nil {
		w.close(c, err)
		return false
	}
	return l.secure == nil || l.hear(w, c) // TLS may have read more of what the client said than it was asked for
}

func (*connLink) chunked() bool { return true }

func (*connLink) ready() bool { return true }

func (*connLink) moving() bool { return false }

func (l *connLink) seal(w *writer, data []byte, last bool) ([]byte, error) {
	if l.secure == nil {
		return data, nil
	}
	if cap(w.sealed) > 2*collectMost {
		w.sealed = nil // a large object had come by
	}
	w.sealed = w.sealed[:0]
	_, err := l.secure.Write(data) // by way of the wire
	if err == nil && last {
		err = l.secure.CloseWrite()
	}
	return w.sealed, err
}

func (l *connLink) write(_ *writer, sealed []byte) (int, error) { return l.socket.Write(sealed) }

func (l *connLink) hear(w *writer, c *client) bool {
	w.sealed = w.sealed[:0]
	for {
		n, more, err := l.read(w.scrap[:])
		if l.heard += n; err == nil && l.heard > maxUnasked {
			err = socket.ErrPeerGone
		}
		if err != nil {
			w.close(c, socket.ErrPeerGone)
			return false
		}
		if !more {
			break
		}
	}
	if len(w.sealed) > 0 { // TLS has answered something
		w.sendSealed(c, w.sealed)
	}
	return !c.closed
}

// read reads what the client has said; more: it may say more at once.
func (l *connLink) read(into []byte) (n int, more bool, err error) {
	if l.secure == nil {
		return l.socket.Read(into)
	}
	n, err = l.secure.Read(into)
	if errors.Is(err, nothingYet{}) {
		return n, false, nil
	}
	return n, true, err
}

func (l *connLink) close(err error) {
	if err == nil {
		l.socket.Close()
	} else {
		l.socket.Abort()
	}
}

func (l *connLink) giveBack(w *writer, wt *watch) error {
	w.poller.Remove(l.socket)
	conn, err := l.socket.Conn()
	if err != nil {
		return err
	}
	if l.wire != nil {
		l.wire.giveBack(conn)
		conn = l.secure
	}
	w.pool.borrowed.Go(func() { wt.goOn(w.ctx, conn) })
	return nil
}

// streamLink is a stream of HTTP/2, whose handler waits.
type streamLink struct {
	*loan
	ignore func() bool // the end of ctx
}

func (l *streamLink) join(w *writer, c *client) bool {
	room := func() { w.room(c) }
	gone := func() { w.close(c, cmp.Or(streamError(l.stream.Ended()), socket.ErrPeerGone)) }
	l.stream.OnRoom(func() { w.post(room) })
	l.ignore = context.AfterFunc(l.ctx, func() { w.post(gone) })
	return true
}

func (*streamLink) chunked() bool { return false }

func (l *streamLink) ready() bool { return l.stream.Ready() }

func (l *streamLink) moving() bool { return l.stream.Conn().Draining() }

func (*streamLink) seal(_ *writer, data []byte, _ bool) ([]byte, error) { return data, nil }

func (l *streamLink) write(w *writer, data []byte) (int, error) {
	n, err := l.stream.Send(data)
	w.flushLater(l.stream.Conn())
	return n, streamError(err)
}

func (*streamLink) hear(*writer, *client) bool { return true }

func (l *streamLink) close(err error) {
	l.ignore()
	l.stream.OnRoom(nil) // a connection that broke may be held for some time, with its streams
	l.finish(err)
}

func (l *streamLink) giveBack(*writer, *watch) error {
	l.ignore()
	l.loan.giveBack()
	return nil
}
