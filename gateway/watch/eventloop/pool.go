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

// Pool serves the sessions that have caught up, over HTTP/1.1 connections and HTTP/2 streams, with one event loop for each processor. A
// delivery costs little more than its write. Without a Pool each watch has one or two goroutines.
//
// A watch begins on a goroutine, which sends the header, the initial events and the events from etcd's history, and may block. The pool
// adopts the session when only the log remains to be followed. The pool releases a session that falls behind the log to a goroutine until
// it has caught up.
//
// Any goroutine may call Adopt and Delays.
type Pool struct {
	logger       *slog.Logger
	writeTimeout time.Duration
	endTimeout   time.Duration // how long a blocked client may delay the end of its watch

	mu         sync.Mutex      // guards the four fields below
	ctx        context.Context // of Open; released sessions end with it; nil: not running
	loops      []*eventLoop    // empty: no session has been adopted yet
	adopted    int             // number of sessions adopted
	quit       chan struct{}
	serving    sync.WaitGroup // the goroutines of the loops
	background sync.WaitGroup // the goroutines that loops have started
}

// New returns a pool that adopts no sessions before Open. It starts no goroutines.
func New(logger *slog.Logger) *Pool {
	return &Pool{logger: logger, writeTimeout: socket.WriteTimeout, endTimeout: watch.InitialEventsTimeout}
}

// Open makes the pool adopt sessions until the context of Run ends. Sessions that began earlier stay on their goroutines. ctx is the
// context of released sessions.
func (p *Pool) Open(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ctx, p.quit = ctx, make(chan struct{})
}

// Run blocks until ctx ends, which must be the context of Open. Then it breaks the streams of the remaining sessions and waits for all
// goroutines of the pool. Open must be called before.
func (p *Pool) Run(ctx context.Context) {
	<-ctx.Done()
	p.mu.Lock()
	p.ctx = nil // Adopt returns false from now on
	close(p.quit)
	p.mu.Unlock()
	p.serving.Wait()
	p.background.Wait()
}

// startLocked starts the loops when the first session is adopted.
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

// Adopt gives a session to an event loop, which then owns h. It reports false, and leaves the session and h unchanged, if the pool is not
// open, a loop cannot be started, or the connection is not a socket. It does not wait for the loop. It implements the adopter of package
// watch.
func (p *Pool) Adopt(s *watch.Session, h transport.Handle) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx == nil || p.startLocked() != nil {
		return false
	}
	if h.Stream != nil { // all streams of a connection use the same loop
		l := p.loops[h.Stream.Conn().Number()%uint64(len(p.loops))]
		l.add(s, &http2Conn{stream: h.Stream})
	} else {
		l := p.loops[p.adopted%len(p.loops)]
		conn, err := newHTTP1Conn(l, h)
		if err != nil {
			return false
		}
		l.add(s, conn)
	}
	p.adopted++
	return true
}

// Delays returns the delivery times of each loop. The loops continue to update them.
func (p *Pool) Delays() []*metrics.Delays {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]*metrics.Delays, 0, len(p.loops))
	for _, l := range p.loops {
		out = append(out, &l.delays)
	}
	return out
}
