package eventloop

import (
	"context"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"revtail/gateway/metrics"
	"revtail/gateway/netio/socket"
	"revtail/gateway/watch"
	"revtail/gateway/watch/transport"
)

// Pool serves the sessions that have caught up, over HTTP/1.1 connections and HTTP/2 streams, with one event loop for each processor.
// Without it each watch has a goroutine, or two. A delivery costs little more than its write.
//
// A watch begins on a goroutine, which sends the header, the initial events and what is read from etcd's history, and may block. The pool
// adopts the session when nothing but the log is left to follow. A session that falls behind the log is released to a goroutine until it
// has caught up.
type Pool struct {
	logger       *slog.Logger
	writeTimeout time.Duration
	endTimeout   time.Duration // of a client that has not taken yet what was there before the end

	mu         sync.Mutex      // guards the four fields below
	ctx        context.Context // of open: a released session ends with it; nil: not running
	loops      []*eventLoop    // empty: no session has been adopted yet
	adopted    int             // so far
	quit       chan struct{}
	serving    sync.WaitGroup // the goroutines of the loops
	background sync.WaitGroup // the goroutines that loops have started
}

// New returns a pool that adopts no sessions before Open.
func New(logger *slog.Logger) *Pool {
	return &Pool{logger: logger, writeTimeout: socket.WriteTimeout, endTimeout: watch.InitialEventsTimeout}
}

// Open lets sessions be adopted from now on. Earlier ones stay on their goroutines.
func (p *Pool) Open(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ctx, p.quit = ctx, make(chan struct{})
}

// Run waits until ctx, the one of open, ends. It breaks the sessions that are left.
func (p *Pool) Run(ctx context.Context) {
	<-ctx.Done()
	p.mu.Lock()
	p.ctx = nil // from here on nothing is adopted
	close(p.quit)
	p.mu.Unlock()
	p.serving.Wait()
	p.background.Wait()
}

// startLocked starts the loops, when the first session is adopted.
func (p *Pool) startLocked() error {
	for len(p.loops) < runtime.GOMAXPROCS(0) {
		l, err := newEventLoop(p.ctx, p)
		if err != nil {
			return err
		}
		p.loops = append(p.loops, l)
		p.serving.Go(func() { l.run(p.quit) })
		p.serving.Go(l.poll)
	}
	return nil
}

// Adopt implements adopter.
func (p *Pool) Adopt(s *watch.Session, h transport.Handle) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx == nil || p.startLocked() != nil {
		return false
	}
	if h.Stream != nil { // all streams of a connection have one loop
		l := p.loops[h.Stream.Conn().Number()%uint64(len(p.loops))]
		l.add(s, &http2Conn{Handover: s.Handover})
	} else {
		l := p.loops[p.adopted%len(p.loops)]
		conn, err := newHTTP1Conn(l, h.Conn)
		if err != nil {
			return false
		}
		l.add(s, conn)
	}
	p.adopted++
	return true
}

// Delays are the delivery times of each loop.
func (p *Pool) Delays() []*metrics.Delays {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]*metrics.Delays, 0, len(p.loops))
	for _, l := range p.loops {
		out = append(out, &l.delays)
	}
	return out
}
