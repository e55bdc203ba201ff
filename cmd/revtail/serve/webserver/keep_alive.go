package webserver

import (
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"revtail/gateway/netio/socket"
	"revtail/gateway/watch/transport"
)

// keptListener is a listener of connections whose streams have ended. http.Server serves their next requests, as if they had just connected.
type keptListener struct {
	server   *Server
	accepted chan net.Conn
	closing  chan struct{}
	running  sync.WaitGroup // the goroutines of the idle connections

	mu     sync.Mutex // guards the fields below
	idle   map[servedConn]struct{}
	closed bool
}

func newKeptListener(s *Server) *keptListener {
	return &keptListener{server: s, accepted: make(chan net.Conn), closing: make(chan struct{}), idle: make(map[servedConn]struct{})}
}

// keep is the transport.KeepAlive of the server. Connections over TLS are those of transport.Listen.
func (l *keptListener) keep(conn net.Conn, received []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		_ = conn.Close() // the response is complete
		return
	}
	l.running.Go(func() { l.await(conn, received) })
}

// await waits for the next request of a connection, and passes it to Accept.
func (l *keptListener) await(conn net.Conn, received []byte) {
	served, ok := l.server.readmit(conn)
	if !ok {
		_ = conn.Close() // as above
		return
	}
	if received = l.first(served, conn, received); len(received) == 0 {
		_ = served.Close() // as above
		return
	}
	served.requests().received = received
	select {
	case l.accepted <- served:
	case <-l.closing:
		_ = served.Close() // as above
	}
}

// first returns the beginning of the next request: what was received, or its first byte. It returns nothing if none comes while a connection may be
// idle.
func (l *keptListener) first(served servedConn, conn net.Conn, received []byte) []byte {
	if len(received) > 0 {
		return received
	}
	if !l.begin(served) {
		return nil
	}
	defer l.end(served)
	received = make([]byte, 1)
	_ = conn.SetReadDeadline(time.Now().Add(l.server.http.IdleTimeout)) // the read fails too
	n, _ := conn.Read(received)                                         // without a byte the connection is closed
	_ = conn.SetReadDeadline(time.Time{})                               // the next read fails too
	return received[:n]
}

// begin adds an idle connection, which Close closes. It reports false if the listener is closed.
func (l *keptListener) begin(idle servedConn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.idle[idle] = struct{}{}
	return !l.closed
}

func (l *keptListener) end(idle servedConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.idle, idle)
}

// Accept implements net.Listener.
func (l *keptListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.accepted:
		return conn, nil
	case <-l.closing:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener. It closes the idle connections, below TLS, which would write to each of them.
func (l *keptListener) Close() error {
	for _, conn := range l.close() {
		_ = socket.Base(conn).Close() // it is not used again
	}
	return nil
}

// close returns the idle connections; nothing if the listener is closed.
func (l *keptListener) close() []servedConn {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	close(l.closing)
	return slices.Collect(maps.Keys(l.idle))
}

// Addr implements net.Listener.
func (l *keptListener) Addr() net.Addr { return keptAddr{} }

// keptAddr is the address of a listener that listens nowhere.
type keptAddr struct{}

// Network and String implement net.Addr.
func (keptAddr) Network() string { return "kept" }
func (keptAddr) String() string  { return "kept" }

// servedConn is a connection that http.Server serves.
type servedConn interface {
	net.Conn
	requestReader
}

// readmit returns a connection whose stream has ended for its next requests. If an event loop has served the stream, the connection that was accepted is
// closed, and the limits apply again: readmit reports false above a limit.
func (s *Server) readmit(kept net.Conn) (servedConn, bool) {
	below, under, secure := transport.UnwrapTLS(kept)
	var c *conn
	switch below := below.(type) {
	case *localConn:
		return &localConn{unixConn: below.unixConn}, true
	case unixConn:
		return &localConn{unixConn: below}, true
	case *net.UnixConn:
		return &localConn{unixConn: unixConn{below}}, true
	case *conn:
		c = below
	case *countedConn: // it still counts
		c = s.strange(below, below.TCPConn)
	case *net.TCPConn:
		admitted, ok := s.limit.admit(below)
		if !ok {
			return nil, false
		}
		c = s.strange(admitted, below)
	default:
		return nil, false
	}
	if secure == nil {
		c.header = &header{stranger: c.stranger}
		return c, true
	}
	under.Restore(c)
	return &secureConn{Conn: secure, header: header{stranger: c.stranger}}, true
}

// strange makes a stranger of a connection that was admitted, if the server has strangers.
func (s *Server) strange(admitted net.Conn, tcp *net.TCPConn) *conn {
	c := &conn{TCPConn: tcp, accepted: admitted}
	if s.strangers != nil {
		c.stranger = s.strangers.Add(func() { socket.Abort(c) })
	}
	return c
}
