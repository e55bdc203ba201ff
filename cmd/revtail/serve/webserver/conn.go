package webserver

import (
	"errors"
	"net"
	"net/http"

	"revtail/gateway/netio/socket"
	"revtail/gateway/netio/stranger"
)

// maxHandshake is how many bytes a client may send in its TLS handshake. A chain of certificates needs some kilobytes.
const maxHandshake = 64 << 10

var errHandshake = errors.New("the TLS handshake is larger than 64 KiB")

// strangerListener adds the connections that it accepts to a registry of strangers. They are conns, or localConns, which are no strangers.
type strangerListener struct {
	net.Listener
	strangers *stranger.Registry
	secure    bool // TLS is above the connections
}

// Accept implements net.Listener.
func (l strangerListener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &conn{accepted: accepted, shakes: l.secure}
	switch below := accepted.(type) {
	case *net.TCPConn:
		c.TCPConn = below
	case *countedConn:
		c.TCPConn = below.TCPConn
	case unixConn:
		return &localConn{unixConn: below}, nil
	default:
		return accepted, nil
	}
	c.stranger = l.strangers.Add(func() { socket.Abort(c) })
	if !l.secure {
		c.header = &header{stranger: c.stranger}
	}
	return c, nil
}

// conn is a connection that may be a stranger.
type conn struct {
	*net.TCPConn
	accepted net.Conn // is closed instead of TCPConn
	stranger *stranger.Stranger
	header   *header // of the requests; nil: TLS is above
	shakes   bool    // the TLS handshake is not complete
	shaken   int     // bytes of the TLS handshake
}

// Stranger implements the interface of stranger.Of.
func (c *conn) Stranger() *stranger.Stranger { return c.stranger }

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	if c.header != nil {
		return c.header.read(c.TCPConn, p)
	}
	n, err := c.TCPConn.Read(p)
	if c.shakes {
		c.stranger.Charge(n)
		if c.shaken += n; c.shaken > maxHandshake {
			return 0, errHandshake
		}
	}
	return n, err
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.stranger.Leave()
	return c.accepted.Close()
}

// endHandshake is called when the TLS handshake is complete.
func (c *conn) endHandshake() {
	c.shakes = false
	c.stranger.Charge(-c.shaken)
	c.stranger.Step()
}

// localConn is a connection through a unix socket. It is no stranger, because only programs of the gateway's user can connect.
type localConn struct {
	unixConn
	header header
}

// Read implements net.Conn.
func (c *localConn) Read(p []byte) (int, error) { return c.header.read(c.UnixConn, p) }

func (c *localConn) requests() *header { return &c.header }

// requestReader is a connection of HTTP/1.1.
type requestReader interface{ requests() *header }

func (c *conn) requests() *header { return c.header }

// onState is the ConnState of http.Server.
func onState(c net.Conn, state http.ConnState) {
	reader, ok := c.(requestReader)
	if !ok || reader.requests() == nil {
		return
	}
	switch state {
	case http.StateIdle:
		reader.requests().answered()
	case http.StateHijacked:
		reader.requests().stop()
	}
}
