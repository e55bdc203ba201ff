package gateway

import (
	"context"
	"slices"
	"sync"
	"time"

	"revtail/gateway/netio/http2"
	"revtail/gateway/netio/socket"
	"revtail/gateway/watchcache"
)

// eventLoop serves its clients from one goroutine. It never waits for one of them: what a connection does not take now is kept
// until it can, and the client's cursor stays where it is meanwhile.
type eventLoop struct {
	pool   *loopPool
	ctx    context.Context   // of all
	ready  *watchcache.Ready // clients that may have something to deliver
	poller *socket.Poller
	wakeup chan struct{} // holds one: something was posted, or is ready

	mu     sync.Mutex // guards the field below
	posted []func()   // for the goroutine to call

	// all below: the goroutine's
	clients        map[int32]*client // by tag
	tag            int32             // of the newest client
	schedule       schedule
	queue          []*client // have something to deliver
	lastQueue      []*client // the queue before, for its space
	now            time.Time
	timer          deliveryTimer
	reader         watchcache.Reader
	encoded        []byte  // assembled last
	encodedBy      encoder // for whom
	encodedChunked bool    // in chunks
	line           []byte  // one of them
	encrypted      []byte  // what TLS made of them
	unflushed      []*http2.Conn
	discard        [512]byte                       // what clients say
	refreshing     map[*watchcache.Cache][]*client // that are due, in this round of work
}

func newEventLoop(ctx context.Context, pool *loopPool) (*eventLoop, error) {
	poller, err := socket.NewPoller()
	if err != nil {
		return nil, err
	}
	w := &eventLoop{
		pool: pool, ctx: ctx, poller: poller, wakeup: make(chan struct{}, 1),
		clients: make(map[int32]*client), refreshing: make(map[*watchcache.Cache][]*client),
	}
	w.ready = watchcache.NewReady(w.wake)
	return w, nil
}

func (w *eventLoop) wake() {
	select {
	case w.wakeup <- struct{}{}:
	default:
	}
}

// post has f called by the writer's goroutine.
func (w *eventLoop) post(f func()) {
	w.mu.Lock()
	w.posted = append(w.posted, f)
	w.mu.Unlock()
	w.wake()
}

func (w *eventLoop) takePosted() []func() {
	w.mu.Lock()
	defer w.mu.Unlock()
	posted := w.posted
	w.posted = nil
	return posted
}

// poll hands what happens to sockets to the writer's goroutine.
func (w *eventLoop) poll() {
	signals := make([]socket.Event, 0, 256)
	for {
		var err error
		if signals, err = w.poller.Wait(signals); err != nil {
			return // closed
		}
		batch := slices.Clone(signals)
		w.post(func() {
			for _, s := range batch {
				w.onEvent(s)
			}
		})
	}
}

// idle is how long a writer without clients sleeps at most.
const idle = time.Hour

func (w *eventLoop) run(quit <-chan struct{}) {
	timer := time.NewTimer(idle)
	defer timer.Stop()
	for {
		w.now = time.Now()
		w.work()
		if len(w.queue) > 0 {
			continue
		}
		wait := idle
		if len(w.schedule) > 0 {
			wait = time.Until(w.schedule[0].due())
		}
		timer.Reset(wait)
		select {
		case <-w.wakeup:
		case <-timer.C:
		case <-quit:
			w.quit()
			return
		}
	}
}

// work does what there is to do now, and gives each client that has something to deliver one write.
func (w *eventLoop) work() {
	w.timer.start()
	for _, f := range w.takePosted() {
		f()
	}
	for _, woken := range w.ready.Take() {
		for _, watcher := range woken {
			if c, ok := watcher.Owner().(*client); ok && c.loop == w { // it may have gone elsewhere meanwhile
				w.serve(c)
			}
		}
	}
	queue := w.queue
	w.queue = w.lastQueue[:0]
	for _, c := range queue {
		w.serve(c)
	}
	clear(queue)
	w.lastQueue = queue
	for c := w.schedule.first(w.now); c != nil; c = w.schedule.first(w.now) {
		w.onDue(c)
	}
	w.refreshCaches()
	w.flush()
}

// flushLater has what was written to streams of a connection leave together.
func (w *eventLoop) flushLater(conn *http2.Conn) {
	if n := len(w.unflushed); n == 0 || w.unflushed[n-1] != conn {
		w.unflushed = append(w.unflushed, conn)
	}
}

func (w *eventLoop) flush() {
	for _, conn := range w.unflushed {
		conn.Flush()
	}
	clear(w.unflushed)
	w.unflushed = w.unflushed[:0]
}

func (w *eventLoop) quit() {
	for _, f := range w.takePosted() {
		f()
	}
	for _, c := range w.clients {
		w.close(c, errDraining)
	}
	w.poller.Close()
}

// onEvent acts on what happened to a socket.
func (w *eventLoop) onEvent(s socket.Event) {
	c := w.clients[s.Tag]
	if c == nil {
		return // it has gone meanwhile
	}
	if s.Readable && !c.conn.drainRead(w, c) {
		return
	}
	if s.Writable && len(c.unsent) > 0 {
		w.sendRest(c)
	}
}
