package robustness

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

// Proxy is a TCP proxy from a gateway to a member of etcd, which can delay, drop and cut connections.
type Proxy struct {
	// Address is its address.
	Address string

	ctx      context.Context
	target   string
	listener net.Listener
	running  sync.WaitGroup

	mu    sync.Mutex // guards the fields below
	conns map[net.Conn]bool
	there gate // data to the target
	back  gate // data from the target
	delay time.Duration
}

// gate holds the data of one direction back. Neither end notices.
type gate struct {
	open chan struct{} // closed while data passes
}

func newGate() gate {
	g := gate{make(chan struct{})}
	close(g.open)
	return g
}

// StartProxy starts a proxy to an address. The caller closes it.
func StartProxy(ctx context.Context, target string) (*Proxy, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{ctx: ctx, Address: l.Addr().String(), target: target, listener: l, conns: make(map[net.Conn]bool), there: newGate(), back: newGate()}
	p.running.Go(p.accept)
	return p, nil
}

// Close ends the proxy, and all connections.
func (p *Proxy) Close() error {
	err := p.listener.Close()
	p.Heal()
	p.Cut()
	p.running.Wait()
	return err
}

func (p *Proxy) accept() {
	for {
		from, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		p.running.Go(func() { p.serve(from) })
	}
}

func (p *Proxy) serve(from net.Conn) {
	defer func() { _ = from.Close() }()
	p.keep(from)
	defer p.drop(from)
	<-p.gate(&p.there)
	to, err := (&net.Dialer{Timeout: time.Second}).DialContext(p.ctx, "tcp", p.target)
	if err != nil {
		return
	}
	defer func() { _ = to.Close() }()
	p.keep(to)
	defer p.drop(to)
	var both sync.WaitGroup
	both.Go(func() { p.copy(to, from, &p.there) })
	both.Go(func() { p.copy(from, to, &p.back) })
	both.Wait()
}

// copy forwards until one of the two ends is closed, and closes the other.
func (p *Proxy) copy(to, from net.Conn, through *gate) {
	defer func() { _ = errors.Join(to.Close(), from.Close()) }()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		<-p.gate(through)
		if delay := p.latency(); delay > 0 {
			<-time.After(delay)
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

func (p *Proxy) keep(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns[c] = true
}

func (p *Proxy) drop(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
}

func (p *Proxy) gate(g *gate) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return g.open
}

func (p *Proxy) latency() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.delay
}

// Swallow drops all data without closing connections: a black hole. Heal ends it.
func (p *Proxy) Swallow() { p.set(true, true, 0) }

// SwallowAnswers drops the data from etcd.
func (p *Proxy) SwallowAnswers() { p.set(false, true, 0) }

// Delay delays the data in each direction.
func (p *Proxy) Delay(d time.Duration) { p.set(false, false, d) }

// Heal ends all faults. Data that was held back arrives.
func (p *Proxy) Heal() { p.set(false, false, 0) }

func (p *Proxy) set(there, back bool, delay time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = delay
	setGate(&p.there, there)
	setGate(&p.back, back)
}

func setGate(g *gate, shut bool) {
	open := false
	select {
	case <-g.open:
		open = true
	default:
	}
	switch {
	case shut && open:
		g.open = make(chan struct{})
	case !shut && !open:
		close(g.open)
	}
}

// Cut breaks all connections; new ones are accepted.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // a reset, as by a firewall
		}
		_ = c.Close()
	}
}
