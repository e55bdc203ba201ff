package gateway

import (
	"context"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"revtail/gateway/metrics"
)

// writers serve the watches that have caught up, over connections of HTTP/1.1 and streams of HTTP/2: as many goroutines as there are
// processors, where otherwise each watch has one, or two. A delivery costs little more than its write then.
//
// A watch begins on a goroutine, which sends the head, the initial state and what etcd's history has, waits for nobody and may
// block. When nothing but the log is left to follow it is adopted. One that falls behind the log is given back to a goroutine
// until it has caught up again.
type writers struct {
	logger   *slog.Logger
	stall    time.Duration
	patience time.Duration // with who has not taken yet what was there before the end

	mu       sync.Mutex      // guards the four fields below
	ctx      context.Context // of open: what goes on on a goroutine again ends with it; nil: not running
	each     []*writer       // empty: no watch has been adopted yet
	adopted  int             // so far
	quit     chan struct{}
	serving  sync.WaitGroup // the goroutines of the writers
	borrowed sync.WaitGroup // what the writers have started besides
}

// open lets watches be adopted from now on. One that came before stays on its goroutine.
func (ws *writers) open(ctx context.Context) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.ctx, ws.quit = ctx, make(chan struct{})
}

// run waits until ctx ends, the one of open; the watches that are left are broken then.
func (ws *writers) run(ctx context.Context) {
	<-ctx.Done()
	ws.mu.Lock()
	ws.ctx = nil // from here on nobody joins
	close(ws.quit)
	ws.mu.Unlock()
	ws.serving.Wait()
	ws.borrowed.Wait()
}

// startLocked starts the writers, when the first watch is adopted.
func (ws *writers) startLocked() error {
	for len(ws.each) < runtime.GOMAXPROCS(0) {
		w, err := newWriter(ws.ctx, ws)
		if err != nil {
			return err
		}
		ws.each = append(ws.each, w)
		ws.serving.Go(func() { w.run(ws.quit) })
		ws.serving.Go(w.listen)
	}
	return nil
}

// adopt implements adopter.
func (ws *writers) adopt(wt *watch, h handle) bool {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.ctx == nil || ws.startLocked() != nil {
		return false
	}
	if h.stream != nil { // all streams of a connection have one writer
		w := ws.each[h.stream.Conn().Number()%uint64(len(ws.each))]
		w.take(wt, &streamLink{loan: wt.loan})
	} else {
		w := ws.each[ws.adopted%len(ws.each)]
		link, err := newConnLink(w, h.conn)
		if err != nil {
			return false
		}
		w.take(wt, link)
	}
	ws.adopted++
	return true
}

// take begins to serve a watch.
func (w *writer) take(wt *watch, l link) {
	wt.stream = nil
	c := &client{watch: wt, link: l, writer: w, next: wt.nextBookmark(), place: unscheduled}
	wt.watcher.Attach(w.ready, c)
	w.post(func() {
		wt.entry.adopt(c) // here, and not before: the writer may give it back at once
		w.join(c)
	})
}

// delays are those of the deliveries of each.
func (ws *writers) delays() []*metrics.Delays {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	out := make([]*metrics.Delays, 0, len(ws.each))
	for _, w := range ws.each {
		out = append(out, &w.stopwatch.delays)
	}
	return out
}
