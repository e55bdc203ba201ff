package eventloop

import (
	"revtail/gateway/netio/http2"
	"revtail/gateway/watchcache"
)

// maxUnflushed is how many connections of HTTP/2 have frames that are not encrypted yet. With more of them a round would hold all frames of an event
// for every watcher of the loop, and the first client would get nothing before the last frame is made.
const maxUnflushed = 64

// connection is a connection of HTTP/2 with clients of the loop.
type connection struct {
	conn    *http2.Conn
	clients int       // number of its clients
	woken   []*client // that serveWoken serves next
}

// enter returns the connection of a client that joins, and leave removes that of a client that is removed.
func (l *eventLoop) enter(conn *http2.Conn) *connection {
	of := l.connections[conn]
	if of == nil {
		of = &connection{conn: conn}
		l.connections[conn] = of
	}
	of.clients++
	return of
}

func (l *eventLoop) leave(of *connection) {
	if of.clients--; of.clients == 0 {
		delete(l.connections, of.conn)
	}
}

// serveWoken serves the clients of watchers that have woken together. It serves the clients of an HTTP/2 connection one after the other, because their
// frames then leave in one write, whatever the order in which the watchers have waited. They wait in the order in which they are served.
func (l *eventLoop) serveWoken(watchers []*watchcache.Watcher) {
	l.owners = watchcache.Owners(l.owners, watchers)
	for _, owner := range l.owners {
		c, ok := owner.(*client)
		if !ok || c.loop != l { // another loop or a goroutine may serve the session now
			continue
		}
		of := c.conn.connection()
		if of == nil {
			l.serve(c)
			continue
		}
		if len(of.woken) == 0 {
			l.woken = append(l.woken, of)
		}
		of.woken = append(of.woken, c)
	}
	clear(l.owners)
	l.ready.Reuse(watchers)
	for _, of := range l.woken {
		for _, c := range of.woken {
			l.serve(c)
		}
		clear(of.woken)
		of.woken = of.woken[:0]
		l.flush()
	}
	clear(l.woken)
	l.woken = l.woken[:0]
}

// flushLater makes flush write the frames of all streams of conn together, at the end of the round at the latest.
func (l *eventLoop) flushLater(conn *http2.Conn) {
	if n := len(l.unflushed); n > 0 && l.unflushed[n-1] == conn {
		return
	}
	if len(l.unflushed) >= maxUnflushed {
		l.flush()
	}
	l.unflushed = append(l.unflushed, conn)
}

func (l *eventLoop) flush() {
	for _, conn := range l.unflushed {
		conn.Flush()
	}
	clear(l.unflushed)
	l.unflushed = l.unflushed[:0]
}
