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

// eventLoop serves its clients on one goroutine. It never blocks on a client: it keeps the bytes that a connection does not accept now, and
// does not advance the client's cursor until they are sent.
type eventLoop struct {
	pool   *Pool
	ctx    context.Context       // of Pool.Open
	ready  *watchcache.ReadyList // sessions that may have events
	poller *socket.Poller
	wakeup chan struct{} // capacity 1; signaled by post and by ready

	mu     sync.Mutex // guards the field below
	posted []func()   // functions for the goroutine to call

	// The goroutine owns the fields below.
	clients        map[int32]*client // by tag
	most           int               // clients since the memory for them was allocated
	tag            int32             // of the newest client
	schedule       schedule
	queue          []*client // clients with more events
	lastQueue      []*client // the previous queue, reused for its memory
	now            time.Time
	delays         metrics.Delays // of deliveries; any goroutine may read it
	reader         watchcache.Reader
	limit          watchcache.WorkLimit                // of reader, in this round
	computing      int                                 // clients whose batch a goroutine computes
	evaluating     map[watchcache.Evaluation][]*client // what computing clients evaluate, and the clients that await the results
	encoded        []byte                              // the last frames of encode
	encodedBy      watch.Encoder                       // its encoder; nil: the frames are not shared
	encodedChunked bool                                // whether encoded has chunks
	line           []byte                              // one frame of encoded
	encrypted      []byte                              // output of TLS for one write
	unflushed      []*http2.Conn
	connections    map[*http2.Conn]*connection     // of clients
	owners         []any                           // memory of serveWoken
	woken          []*connection                   // memory of serveWoken
	discard        [512]byte                       // buffer for bytes that are discarded
	refreshing     map[*watchcache.Cache][]*client // clients that refreshCaches serves in this round
}

func newEventLoop(ctx context.Context, pool *Pool) (*eventLoop, error) {
	poller, err := socket.NewPoller()
	if err != nil {
		return nil, err
	}
	l := &eventLoop{
		pool: pool, ctx: ctx, poller: poller, wakeup: make(chan struct{}, 1),
		clients: make(map[int32]*client), connections: make(map[*http2.Conn]*connection), refreshing: make(map[*watchcache.Cache][]*client),
		evaluating: make(map[watchcache.Evaluation][]*client),
	}
	l.ready = watchcache.NewReadyList(l.wake)
	l.limit.Each = maxClientWork
	l.reader.Limit(&l.limit)
	return l, nil
}

func (l *eventLoop) wake() {
	select {
	case l.wakeup <- struct{}{}:
	default:
	}
}

// post makes the loop's goroutine call f. Any goroutine may call post. It does not block.
func (l *eventLoop) post(f func()) {
	l.mu.Lock()
	l.posted = append(l.posted, f)
	l.mu.Unlock()
	l.wake()
}

// postFor posts f, which serves one client. A panic of f ends only that client's session.
func (l *eventLoop) postFor(c *client, f func()) { l.post(func() { l.guard(c, f) }) }

func (l *eventLoop) takePosted() []func() {
	l.mu.Lock()
	defer l.mu.Unlock()
	posted := l.posted
	l.posted = nil
	return posted
}

// poll posts the events of sockets to the loop's goroutine, until the poller is closed.
func (l *eventLoop) poll() {
	signals := make([]socket.Event, 0, 256)
	for {
		var err error
		if signals, err = l.poller.Wait(signals); err != nil {
			return // the poller is closed
		}
		batch := slices.Clone(signals)
		l.post(func() {
			for _, s := range batch {
				l.onEvent(s)
			}
		})
	}
}

// idle is the longest wait of a loop without clients.
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

// work runs one round of the loop. Each client that has events gets one write.
func (l *eventLoop) work() {
	l.limit.Left = maxRoundWork
	for _, f := range l.takePosted() {
		f()
	}
	for _, woken := range l.ready.Take() {
		l.serveWoken(woken)
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
	l.shrink()
}

// shrink gives memory back when most clients have left.
func (l *eventLoop) shrink() {
	l.most = max(l.most, len(l.clients))
	if l.most < watch.ShrinkAt || len(l.clients) >= l.most/watch.ShrinkShare {
		return
	}
	l.most = len(l.clients)
	l.clients, l.connections = watch.Shrunk(l.clients), watch.Shrunk(l.connections)
	l.queue, l.schedule = slices.Clone(l.queue), slices.Clone(l.schedule)
	l.lastQueue, l.owners, l.woken = nil, nil, nil
	l.ready.Shrink()
}

func (l *eventLoop) quit() {
	for _, f := range l.takePosted() {
		f()
	}
	for _, c := range l.clients {
		l.close(c, status.ErrDraining)
	}
	for l.computing > 0 {
		<-l.wakeup
		for _, f := range l.takePosted() {
			f()
		}
	}
	l.poller.Close()
}

// onEvent handles an event of a socket.
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
