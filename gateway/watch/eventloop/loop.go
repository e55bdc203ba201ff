package eventloop

import (
	"context"
	"slices"
	"sync"
	"time"

	"revtail/gateway/http/status"
	"revtail/gateway/metrics"
	"revtail/gateway/netio/http2"
	"revtail/gateway/netio/socket"
	"revtail/gateway/watch"
	"revtail/gateway/watchcache"
)

// eventLoop serves its clients from one goroutine. It never waits for one of them: what a connection does not take now is kept
// until it can, and the client's cursor stays where it is meanwhile.
type eventLoop struct {
	pool   *Pool
	ctx    context.Context       // of all
	ready  *watchcache.ReadyList // clients that may have something to deliver
	poller *socket.Poller
	wakeup chan struct{} // holds one: something was posted, or is ready

	mu     sync.Mutex // guards the field below
	posted []func()   // for the goroutine to call

	// the goroutine owns all below
	clients        map[int32]*client // by tag
	tag            int32             // of the newest client
	schedule       schedule
	queue          []*client // have something to deliver
	lastQueue      []*client // the queue before, for its space
	now            time.Time
	delays         metrics.Delays // of deliveries; any goroutine may read it
	reader         watchcache.Reader
	encoded        []byte        // assembled last
	encodedBy      watch.Encoder // for whom
	encodedChunked bool          // as chunks
	line           []byte        // one of them
	encrypted      []byte        // by TLS, for one write
	unflushed      []*http2.Conn
	discard        [512]byte                       // what clients say
	refreshing     map[*watchcache.Cache][]*client // that are due, in this round of work
}

func newEventLoop(ctx context.Context, pool *Pool) (*eventLoop, error) {
	poller, err := socket.NewPoller()
	if err != nil {
		return nil, err
	}
	l := &eventLoop{
		pool: pool, ctx: ctx, poller: poller, wakeup: make(chan struct{}, 1),
		clients: make(map[int32]*client), refreshing: make(map[*watchcache.Cache][]*client),
	}
	l.ready = watchcache.NewReadyList(l.wake)
	return l, nil
}

func (l *eventLoop) wake() {
	select {
	case l.wakeup <- struct{}{}:
	default:
	}
}

// post makes the loop's goroutine call f.
func (l *eventLoop) post(f func()) {
	l.mu.Lock()
	l.posted = append(l.posted, f)
	l.mu.Unlock()
	l.wake()
}

// postFor posts f, which serves one client.
func (l *eventLoop) postFor(c *client, f func()) { l.post(func() { l.guard(c, f) }) }

func (l *eventLoop) takePosted() []func() {
	l.mu.Lock()
	defer l.mu.Unlock()
	posted := l.posted
	l.posted = nil
	return posted
}

// poll hands what happens to sockets to the loop's goroutine.
func (l *eventLoop) poll() {
	signals := make([]socket.Event, 0, 256)
	for {
		var err error
		if signals, err = l.poller.Wait(signals); err != nil {
			return // closed
		}
		batch := slices.Clone(signals)
		l.post(func() {
			for _, s := range batch {
				l.onEvent(s)
			}
		})
	}
}

// idle is how long a loop without clients sleeps at most.
const idle = time.Hour

func (l *eventLoop) run(quit <-chan struct{}) {
	timer := time.NewTimer(idle)
	defer timer.Stop()
	for {
		l.now = time.Now()
		l.work()
		if len(l.queue) > 0 {
			continue
		}
		wait := idle
		if len(l.schedule) > 0 {
			wait = time.Until(l.schedule[0].due())
		}
		timer.Reset(wait)
		select {
		case <-l.wakeup:
		case <-timer.C:
		case <-quit:
			l.quit()
			return
		}
	}
}

// work does what there is to do now, and gives each client that has something to deliver one write.
func (l *eventLoop) work() {
	for _, f := range l.takePosted() {
		f()
	}
	for _, woken := range l.ready.Take() {
		for _, watcher := range woken {
			if c, ok := watcher.Owner().(*client); ok && c.loop == l { // it may have gone elsewhere meanwhile
				l.serve(c)
			}
		}
	}
	queue := l.queue
	l.queue = l.lastQueue[:0]
	for _, c := range queue {
		l.serve(c)
	}
	clear(queue)
	l.lastQueue = queue
	for c := l.schedule.first(l.now); c != nil; c = l.schedule.first(l.now) {
		l.onDue(c)
	}
	l.refreshCaches()
	l.flush()
}

// flushLater has what was written to streams of a connection leave together.
func (l *eventLoop) flushLater(conn *http2.Conn) {
	if n := len(l.unflushed); n == 0 || l.unflushed[n-1] != conn {
		l.unflushed = append(l.unflushed, conn)
	}
}

func (l *eventLoop) flush() {
	for _, conn := range l.unflushed {
		conn.Flush()
	}
	clear(l.unflushed)
	l.unflushed = l.unflushed[:0]
}

func (l *eventLoop) quit() {
	for _, f := range l.takePosted() {
		f()
	}
	for _, c := range l.clients {
		l.close(c, status.ErrDraining)
	}
	l.poller.Close()
}

// onEvent acts on what happened to a socket.
func (l *eventLoop) onEvent(s socket.Event) {
	c := l.clients[s.Tag]
	if c == nil {
		return // closed since the event
	}
	defer l.recoverSession(c)
	if s.Readable && !c.conn.drainRead(l, c) {
		return
	}
	if s.Writable && len(c.unsent) > 0 {
		l.sendRest(c)
	}
}
