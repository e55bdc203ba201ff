package gateway

import (
	"context"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"revtail/gateway/metrics"
)

// loopPool serve the watches that have caught up, over connections of HTTP/1.1 and streams of HTTP/2: as many goroutines as there are
// processors, where otherwise each watch has one, or two. A delivery costs little more than its write then.
//
// A watch begins on a goroutine, which sends the head, the initial state and what etcd's history has, waits for nobody and may
// block. When nothing but the log is left to follow it is adopted. One that falls behind the log is given back to a goroutine
// until it has caught up again.
type loopPool struct {
	logger       *slog.Logger
	writeTimeout time.Duration
	endTimeout   time.Duration // with who has not taken yet what was there before the end

	mu         sync.Mutex      // guards the four fields below
	ctx        context.Context // of open: what goes on on a goroutine again ends with it; nil: not running
	loops      []*eventLoop    // empty: no watch has been adopted yet
	adopted    int             // so far
	quit       chan struct{}
	serving    sync.WaitGroup // the goroutines of the writers
	background sync.WaitGroup // what the writers have started besides
}

// open lets watches be adopted from now on. One that came before stays on its goroutine.
func (ws *loopPool) open(ctx context.Context) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.ctx, ws.quit = ctx, make(chan struct{})
}

// run waits until ctx ends, the one of open; the watches that are left are broken then.
func (ws *loopPool) run(ctx context.Context) {
	<-ctx.Done()
	ws.mu.Lock()
	ws.ctx = nil // from here on nobody joins
	close(ws.quit)
	ws.mu.Unlock()
	ws.serving.Wait()
	ws.background.Wait()
}

// startLocked starts the writers, when the first watch is adopted.
func (ws *loopPool) startLocked() error {
	for len(ws.loops) < runtime.GOMAXPROCS(0) {
		w, err := newEventLoop(ws.ctx, ws)
		if err != nil {
			return err
		}
		ws.loops = append(ws.loops, w)
		ws.serving.Go(func() { w.run(ws.quit) })
		ws.serving.Go(w.poll)
	}
	return nil
}

// adopt implements adopter.
func (ws *loopPool) adopt(wt *session, h handle) bool {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.ctx == nil || ws.startLocked() != nil {
		return false
	}
	if h.stream != nil { // all streams of a connection have one writer
		w := ws.loops[h.stream.Conn().Number()%uint64(len(ws.loops))]
		w.add(wt, &http2Conn{handover: wt.handover})
	} else {
		w := ws.loops[ws.adopted%len(ws.loops)]
		link, err := newHTTP1Conn(w, h.conn)
		if err != nil {
			return false
		}
		w.add(wt, link)
	}
	ws.adopted++
	return true
}

// delays are those of the deliveries of each.
func (ws *loopPool) delays() []*metrics.Delays {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	out := make([]*metrics.Delays, 0, len(ws.loops))
	for _, w := range ws.loops {
		out = append(out, &w.timer.delays)
	}
	return out
}
