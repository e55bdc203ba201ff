package main

import (
	"net"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// addressLimit bounds the connections of one address, before anything is read from them. Loopback has no limit: what is on this
// machine has other ways to hurt it, and a proxy there speaks for everybody. A watch whose connection a writer has taken is not
// counted any more; watches have a limit of their own.
type addressLimit struct {
	most    int // zero: no limit
	exempt  func(net.IP) bool
	refused prometheus.Counter

	mu   sync.Mutex // guards the field below
	open map[string]int
}

func newAddressLimit(most int) *addressLimit {
	return &addressLimit{
		most: most, exempt: net.IP.IsLoopback, open: make(map[string]int),
		refused: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "revtail_connections_refused_total", Help: "Connections that were closed at once, since their address had too many.",
		}),
	}
}

// listen makes a listener keep the limit.
func (a *addressLimit) listen(l net.Listener) net.Listener {
	if a.most == 0 {
		return l
	}
	return &limitedListener{l, a}
}

type limitedListener struct {
	net.Listener
	limit *addressLimit
}

// Accept implements net.Listener. A connection too many is reset: its end costs nothing here.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		tcp, isTCP := conn.(*net.TCPConn)
		if err != nil || !isTCP {
			return conn, err
		}
		peer, isTCP := tcp.RemoteAddr().(*net.TCPAddr)
		if !isTCP || l.limit.exempt(peer.IP) {
			return conn, nil
		}
		if address := peer.IP.String(); l.limit.take(address) {
			return &countedConn{TCPConn: tcp, done: sync.OnceFunc(func() { l.limit.release(address) })}, nil
		}
		l.limit.refused.Inc()
		_ = tcp.SetLinger(0) // closed in any case
		_ = tcp.Close()
	}
}

func (a *addressLimit) take(address string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open[address] >= a.most {
		return false
	}
	a.open[address]++
	return true
}

func (a *addressLimit) release(address string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open[address]--; a.open[address] == 0 {
		delete(a.open, address)
	}
}

// countedConn is a connection that counts until it is closed.
type countedConn struct {
	*net.TCPConn
	done func()
}

// Close implements net.Conn.
func (c *countedConn) Close() error {
	c.done()
	return c.TCPConn.Close()
}
