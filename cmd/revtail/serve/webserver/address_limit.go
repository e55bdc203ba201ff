package webserver

import (
	"net"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// AddressLimit limits the open connections per client address. It resets a connection above the limit before reading from it.
// Loopback has no limit, because a proxy there connects for all of its clients. The limit does not count the connection of a
// hijacked watch; watches have a limit of their own.
type AddressLimit struct {
	maximum int // zero: no limit
	exempt  func(net.IP) bool
	Refused prometheus.Counter // of connections

	mu   sync.Mutex // guards the field below
	open map[string]int
}

// NewAddressLimit makes a limit; zero means none.
func NewAddressLimit(maxPerAddress int) *AddressLimit {
	return &AddressLimit{
		maximum: maxPerAddress, exempt: net.IP.IsLoopback, open: make(map[string]int),
		Refused: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "revtail_connections_refused_total", Help: "Connections that were closed at once, since their address or the process had too many.",
		}),
	}
}

// listen applies the limit to a listener.
func (a *AddressLimit) listen(l net.Listener) net.Listener {
	if a.maximum == 0 {
		return l
	}
	return &limitedListener{l, a}
}

type limitedListener struct {
	net.Listener
	limit *AddressLimit
}

// Accept implements net.Listener. It resets a connection above the limit, because a reset leaves no TIME_WAIT state.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		tcp, isTCP := conn.(*net.TCPConn)
		if err != nil || !isTCP {
			return conn, err
		}
		if admitted, ok := l.limit.admit(tcp); ok {
			return admitted, nil
		}
		_ = tcp.SetLinger(0) // Close follows in any case
		_ = tcp.Close()
	}
}

// admit counts a connection until it is closed. It reports false above the limit.
func (a *AddressLimit) admit(conn *net.TCPConn) (net.Conn, bool) {
	peer, isTCP := conn.RemoteAddr().(*net.TCPAddr)
	if a.maximum == 0 || !isTCP || a.exempt(peer.IP) {
		return conn, true
	}
	address := peer.IP.String()
	if !a.acquire(address) {
		a.Refused.Inc()
		return nil, false
	}
	return &countedConn{TCPConn: conn, done: sync.OnceFunc(func() { a.release(address) })}, true
}

func (a *AddressLimit) acquire(address string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open[address] >= a.maximum {
		return false
	}
	a.open[address]++
	return true
}

func (a *AddressLimit) release(address string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open[address]--; a.open[address] == 0 {
		delete(a.open, address)
	}
}

// countedConn is a connection that counts for the limit until it is closed.
type countedConn struct {
	*net.TCPConn
	done func()
}

// Close implements net.Conn.
func (c *countedConn) Close() error {
	c.done()
	return c.TCPConn.Close()
}
