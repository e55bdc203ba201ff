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

// writer serves its clients from one goroutine. It never waits for one of them: what a connection does not take now is kept
// until it can, and the client's cursor stays where it is meanwhile.
type writer struct {
	pool   *writers
	ctx    context.Context       // of all
	ready  *watchcache.ReadyList // clients that may have something to deliver
	poller *socket.Poller
	bell   chan struct{} // holds one: something was posted, or is ready

	mu     sync.Mutex // guards the field below
	posted []func()   // for the goroutine to call

	// all below: the goroutine's
	clients   map[int32]*client // by tag
	tag       int32             // of the newest client
	schedule  schedule
	queue     []*client // have something to deliver
	served    []*client // the queue before, for its space
	now       time.Time
	stopwatch stopwatch
	reader    watchcache.Reader
	frames    []byte  // assembled last
	framesOf  framing // for whom
	framed    bool    // in chunks
	line      []byte  // one of them
	sealed    []byte  // what TLS made of them
	unflushed []*http2.Conn
	scrap     [512]byte                       // what clients say
	asking    map[*watchcache.Cache][]*client // that are due, in this round of work
}

func newWriter(ctx context.Context, pool *writers) (*writer, error) {
	poller, err := socket.NewPoller()
	if err != nil {
		return nil, err
	}
	w := &writer{
		pool: pool, ctx: ctx, poller: poller, bell: make(chan struct{}, 1),
		clients: make(map[int32]*client), asking: make(map[*watchcache.Cache][]*client),
	}
	w.ready = watchcache.NewReadyList(w.ring)
	return w, nil
}

func (w *writer) ring() {
	select {
	case w.bell <- struct{}{}:
	default:
	}
}

// post has f called by the writer's goroutine.
func (w *writer) post(f func()) {
	w.mu.Lock()
	w.posted = append(w.posted, f)
	w.mu.Unlock()
	w.ring()
}

func (w *writer) takePosted() []func() {
	w.mu.Lock()
	defer w.mu.Unlock()
	posted := w.posted
	w.posted = nil
	return posted
}

// listen hands what happens to sockets to the writer's goroutine.
func (w *writer) listen() {
	signals := make([]socket.Event, 0, 256)
	for {
		var err error
		if signals, err = w.poller.Wait(signals); err != nil {
			return // closed
		}
		batch := slices.Clone(signals)
		w.post(func() {
			for _, s := range batch {
				w.attend(s)
			}
		})
	}
}

// idle is how long a writer without clients sleeps at most.
const idle = time.Hour

func (w *writer) run(quit <-chan struct{}) {
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
		case <-w.bell:
		case <-timer.C:
		case <-quit:
			w.quit()
			return
		}
	}
}

// work does what there is to do now, and gives each client that has something to deliver one write.
func (w *writer) work() {
	w.stopwatch.start()
	for _, f := range w.takePosted() {
		f()
	}
	for _, woken := range w.ready.Take() {
		for _, watcher := range woken {
			if c, ok := watcher.Owner().(*client); ok && c.writer == w { // it may have gone elsewhere meanwhile
				w.serve(c)
			}
		}
	}
	queue := w.queue
	w.queue = w.served[:0]
	for _, c := range queue {
		w.serve(c)
	}
	clear(queue)
	w.served = queue
	for c := w.schedule.first(w.now); c != nil; c = w.schedule.first(w.now) {
		w.lookAfter(c)
	}
	w.ask()
	w.flush()
}

// flushLater has what was written to streams of a connection leave together.
func (w *writer) flushLater(conn *http2.Conn) {
	if n := len(w.unflushed); n == 0 || w.unflushed[n-1] != conn {
		w.unflushed = append(w.unflushed, conn)
	}
}

func (w *writer) flush() {
	for _, conn := range w.unflushed {
		conn.Flush()
	}
	clear(w.unflushed)
	w.unflushed = w.unflushed[:0]
}

func (w *writer) quit() {
	for _, f := range w.takePosted() {
		f()
	}
	for _, c := range w.clients {
		w.close(c, errDraining)
	}
	w.poller.Close()
}

// join begins with a client.
func (w *writer) join(c *client) {
	w.tag++
	c.tag = w.tag
	w.clients[c.tag] = c
	w.schedule.put(c)
	if c.link.join(w, c) {
		w.serve(c)
	}
}

// serve gives a client what it has to get next, up to the size of a batch. The others come first before it gets more.
func (w *writer) serve(c *client) {
	if c.leaving() {
		w.leave(c)
		return
	}
	if w.deliver(c) && !c.watch.watcher.Waiting() {
		w.queue = append(w.queue, c)
	}
}

// deliver writes a batch; false: there is none, or the client does not take more now.
func (w *writer) deliver(c *client) bool {
	if c.closed || c.ending || c.waiting || len(c.rest) > 0 {
		return false
	}
	defer w.contain(c)
	if !c.link.ready() {
		w.await(c)
		return false
	}
	batch, same, err := w.reader.Poll(c.watch.watcher)
	switch {
	case err != nil:
		w.finish(c, c.endOf(c.watch.traffic.refuse(err)))
	case !c.watch.watcher.CaughtUp():
		w.giveBack(c)
	case len(batch.Changes) > 0:
		w.assemble(c, batch, same)
		c.watch.traffic.delivered(batch, len(w.frames))
		w.send(c, w.frames)
		return !c.closed && len(c.rest) == 0
	}
	return false
}

// assemble makes the frames of a batch. Clients that get the same ones, one after the other, get those of the first.
func (w *writer) assemble(c *client, batch watchcache.Batch, same bool) {
	f, chunked := c.watch.frames, c.link.chunked()
	shared := f.shared()
	if same && shared && w.framed == chunked && w.framesOf == f {
		return
	}
	w.framesOf, w.framed = nil, chunked
	if shared {
		w.framesOf = f
	}
	if cap(w.frames) > collectMost {
		w.frames, w.line = nil, nil // a large object had come by
	}
	w.frames = w.frames[:0]
	for i, change := range batch.Changes {
		if !chunked {
			w.frames = f.event(w.frames, change, lastOfRevision(batch, i))
			continue
		}
		w.line = f.event(w.line[:0], change, lastOfRevision(batch, i))
		w.frames = appendChunk(w.frames, w.line)
	}
}

// send writes what the connection takes, and keeps the rest.
func (w *writer) send(c *client, data []byte) {
	sealed, err := c.link.seal(w, data, c.ending)
	if err != nil {
		w.close(c, err)
		return
	}
	w.sendSealed(c, sealed)
}

func (w *writer) sendSealed(c *client, data []byte) {
	if len(c.rest) > 0 {
		c.rest = append(c.rest, data...)
		return
	}
	n, err := c.link.write(w, data)
	switch {
	case err != nil:
		w.close(c, err)
	case n < len(data):
		c.rest, c.stalled = slices.Clone(data[n:]), w.now
		c.watch.traffic.late(w.now)
		w.schedule.put(c)
	default:
		w.sent(c)
	}
}

// sent is called when the system has taken all that was written to a client.
func (w *writer) sent(c *client) {
	w.stopwatch.taken(c.watch.traffic)
	if c.ending {
		w.close(c, nil)
	}
}

// attend acts on what happened to a socket.
func (w *writer) attend(s socket.Event) {
	c := w.clients[s.Tag]
	if c == nil {
		return // it has gone meanwhile
	}
	if s.Readable && !c.link.hear(w, c) {
		return
	}
	if s.Writable && len(c.rest) > 0 {
		w.sendRest(c)
	}
}

func (w *writer) sendRest(c *client) {
	n, err := c.link.write(w, c.rest)
	if err != nil {
		w.close(c, err)
		return
	}
	if n == 0 {
		return
	}
	c.stalled = w.now
	if c.rest = c.rest[n:]; len(c.rest) > 0 {
		w.schedule.put(c)
		return
	}
	c.rest, c.stalled = nil, time.Time{}
	c.watch.traffic.late(time.Time{})
	if w.sent(c); c.closed {
		return
	}
	w.schedule.put(c)
	w.serve(c)
}

// await is called when a client takes nothing now.
func (w *writer) await(c *client) {
	c.waiting = true
	c.watch.traffic.late(w.now)
	if !c.link.moving() {
		c.stalled = w.now
		w.schedule.put(c)
	}
}

// room is called when a client may take something again.
func (w *writer) room(c *client) {
	if c.closed {
		return
	}
	c.waiting = false
	if len(c.rest) > 0 {
		w.sendRest(c)
		return
	}
	c.watch.traffic.late(time.Time{})
	if !c.stalled.IsZero() {
		c.stalled = time.Time{}
		w.schedule.put(c)
	}
	w.serve(c)
}

// lookAfter is called when a client is due: it is cut when it takes nothing, and otherwise gets a bookmark or the end.
func (w *writer) lookAfter(c *client) {
	switch {
	case !c.stalled.IsZero() && !w.now.Before(c.stalled.Add(w.pool.stall)):
		w.lookAtStalled(c)
	case c.leaving():
		w.leave(c)
	case c.watch.over(w.now):
		w.mark(c, true)
	default:
		w.mark(c, false)
	}
}

// lookAtStalled cuts a client that has taken nothing for too long, unless it has got everything that its connection let through.
func (w *writer) lookAtStalled(c *client) {
	if !c.link.moving() {
		w.close(c, socket.ErrStalled)
		return
	}
	c.stalled = w.now
	w.schedule.put(c)
}

// finish sends the last that a client gets.
func (w *writer) finish(c *client, tail []byte) {
	c.ending = true
	w.send(c, tail)
	if !c.closed {
		w.schedule.put(c)
	}
}

// giveBack lets a goroutine go on with a client: etcd's history must be read, and that takes waiting.
func (w *writer) giveBack(c *client) {
	w.forget(c)
	c.watch.watcher.Detach()
	if err := c.link.giveBack(w, c.watch); err != nil {
		c.watch.close(err)
	}
}

// close ends a client; without an error, all it got is complete.
func (w *writer) close(c *client, err error) {
	if c.closed {
		return
	}
	w.forget(c)
	c.watch.close(err)
	c.link.close(err) // a handler may return now
}

func (w *writer) forget(c *client) {
	c.closed, c.rest = true, nil
	delete(w.clients, c.tag)
	w.schedule.drop(c)
}

// contain keeps a mistake of ours from ending more than one stream.
func (w *writer) contain(c *client) {
	if reason := recover(); reason != nil {
		logPanic(w.pool.logger, reason, "path", c.watch.traffic.path)
		w.close(c, errInternal)
	}
}
