package gateway

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"revtail/etcdstore"
	"revtail/gateway/watchcache"
)

const (
	// bookmarkEvery is how often a client is told how far its watch is complete, and bookmarkBefore how long before the end. Proxies
	// cut what is silent for a minute (nginx, many clouds), or for 50 s (HAProxy as Debian has it), if nobody tells them otherwise.
	bookmarkEvery  = 45 * time.Second
	bookmarkBefore = 2 * time.Second
	// heartbeatEvery is how often a client of the plain dialect, or of an event stream, is told how far its watch is complete.
	heartbeatEvery = 15 * time.Second
	// headPatience is how long the head of the answer waits for the state to be fixed. A client that writes as soon as it sees
	// the head then sees its write as an event, and not merged into the state.
	headPatience = 200 * time.Millisecond
	// statePatience is how long a watch whose time is over may go on with its initial state, or with what it is late with.
	statePatience = 2 * time.Second
)

// serve is the watch's time on the goroutine of its request.
func (wt *watch) serve(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	begin(ctx, wt.watcher, headPatience)
	wt.stream = wt.service.transports.newStream(w, r)
	wt.stream.contentType = wt.frames.contentType()
	ctx, err := wt.stream.open(ctx)
	if err != nil || isHead(r) {
		wt.close(nil) // there is nobody to tell
		return
	}
	wt.entry.hold(wt.stream.road())
	wt.access = requestLogOf(r)
	wt.access.keep()
	wt.service.opened(r)
	_ = wt.stream.write(wt.frames.opening()) // kept in the stream
	if tail := tailOf(w); tail != nil {
		tail.watch, tail.turn = wt, &term{of: ctx}
		return
	}
	if err := wt.live(ctx); err != nil {
		panic(http.ErrAbortHandler) // the client must not take what it got for a clean end
	}
}

func begin(ctx context.Context, watcher *watchcache.Watcher, patience time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	watcher.Begin(ctx)
}

// watch is one open watch.
type watch struct {
	service   *watchService
	cache     *watchcache.Cache
	watcher   *watchcache.Watcher
	frames    framing
	stream    *stream // nil: a loop serves the watch
	loan      *loan   // of HTTP/2: the handler waits for its end; nil: there is none
	refused   bool    // by the adopter
	bookmarks bool
	every     time.Duration // between two of them
	deadline  time.Time
	marked    etcdstore.Revision // of the last bookmark

	entry   *openStream
	access  *requestLog // nil until the stream is open: a request that gets none is written down as any other
	traffic *traffic
	done    func() // called at the end
}

// errAdopted ends a watch's time on a goroutine: a writer has it now.
var errAdopted = errors.New("adopted by a writer")

// live serves the watch on the caller's goroutine until it ends or is adopted by a writer; over HTTP/2 it waits for that one. An error:
// the client must see that the stream is broken.
func (wt *watch) live(ctx context.Context) error {
	turn := &term{of: ctx}
	wake, err := wt.advance(turn)
	return wt.wait(turn, wake, err)
}

// wait is live after a first advance. It waits here, where the stack is small, for one channel, which takes less of it than a choice.
func (wt *watch) wait(turn *term, wake <-chan struct{}, err error) error {
	for wake != nil {
		<-wake
		wake, err = wt.advance(turn)
	}
	return err
}

// advance does what there is to do. When wake has something, there may be more; nil: the watch has ended.
func (wt *watch) advance(turn *term) (wake <-chan struct{}, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			logPanic(wt.service.logger, reason, "path", wt.traffic.path)
			wake, err = nil, errInternal
			turn.end()
			wt.close(err)
		}
	}()
	if wt.loan != nil {
		if wt.loan.ended {
			return nil, wt.loan.err
		}
		wt.takeBack(turn)
	}
	if wake, err = wt.run(turn); wake != nil {
		return wake, nil
	}
	if errors.Is(err, errAdopted) {
		return wt.lent(turn), nil
	}
	if err == nil {
		err = wt.stream.end()
	}
	wt.close(err)
	return nil, err
}

// lent is closed when a writer has done with the watch; nil: nobody waits for that.
func (wt *watch) lent(turn *term) <-chan struct{} {
	if wt.loan == nil {
		return nil
	}
	turn.of = nil // it has ended, and need not be held
	return wt.loan.over
}

// takeBack goes on with a watch that a writer has given back to its handler.
func (wt *watch) takeBack(turn *term) {
	turn.of = wt.entry.goOn(wt.loan.ctx)
	wt.stream = wt.service.transports.resumeHTTP2(wt.loan.ctx, wt.loan.stream)
	wt.entry.hold(wt.stream.road())
	wt.loan = nil
}

// goOn is live for a watch that a writer has given back with its connection.
func (wt *watch) goOn(ctx context.Context, conn net.Conn) {
	wt.stream, ctx = wt.service.transports.resumeStream(wt.entry.goOn(ctx), conn)
	wt.entry.hold(wt.stream.road())
	_ = wt.live(ctx) // the connection tells the client
}

// close frees what the watch holds. err says why it broke; nil: it ended well.
func (wt *watch) close(err error) {
	if err != nil {
		wt.service.logger.Debug("watch broken", "path", wt.traffic.path, "error", err)
	}
	if wt.stream != nil {
		wt.stream.close()
	}
	wt.watcher.Close()
	wt.service.watching.end(wt.traffic, wt.reason(err))
	if why := wt.entry.revoked.Load(); why != nil {
		wt.access.cutOff(*why)
	}
	wt.done()
	wt.access.end()
	wt.entry.done()
}

// run writes what there is, and returns what to wait for; nil: the deadline, the client or the server has ended the watch, or a
// writer adopts it. Its error is one of the connection, or errAdopted.
func (wt *watch) run(turn *term) (wake <-chan struct{}, err error) {
	ctx := turn.of
	for {
		if turn.ctx == nil {
			if wt.tryAdopt() { // without a term: few watches need more than the time until here
				return nil, errAdopted
			}
			turn.begin(ctx, wt.nextBookmark(), wt.watcher.Bell())
		}
		wake, ended, err := wt.deliver(turn.ctx)
		if wake != nil {
			return wake, nil
		}
		turn.end()
		switch {
		case err != nil:
			return nil, err
		case ended:
			return nil, nil
		case ctx.Err() != nil && !errors.Is(context.Cause(ctx), errDraining):
			return nil, nil // the client has gone
		}
		last := ctx.Err() != nil || wt.over(time.Now())
		if err := wt.catchUp(last); err != nil || last {
			return nil, err
		}
	}
}

// tryAdopt gives the watch to the adopter, if the log is all that it follows.
func (wt *watch) tryAdopt() bool {
	if wt.service.adopter == nil || wt.refused || !wt.watcher.Follows() {
		return false
	}
	h, ok := wt.stream.detach()
	if !ok {
		return false
	}
	if h.stream != nil {
		wt.loan = &loan{stream: h.stream, ctx: h.ctx, over: make(chan struct{})}
	}
	if wt.service.adopter.adopt(wt, h) {
		return true // and the watch is no longer ours
	}
	wt.refused, wt.loan = true, nil
	return false
}

// over tells whether the watch's time is over.
func (wt *watch) over(now time.Time) bool { return !now.Before(wt.deadline) }

// deliver writes what the cursor has, and returns what to wait for; nil: ctx has ended or, with ended, the watch is over, after an
// ERROR frame where one is due.
func (wt *watch) deliver(ctx context.Context) (wake <-chan struct{}, ended bool, err error) {
	for {
		if !wt.watcher.Follows() {
			wt.stream.attend()
			wt.watcher.Begin(ctx)
		}
		if wt.tryAdopt() {
			return nil, true, errAdopted
		}
		wt.stream.attend()
		batch, wake, err := wt.watcher.Try(ctx)
		if why := wt.entry.revoked.Load(); why != nil {
			return nil, true, wt.stream.write(wt.frames.failure(nil, *why))
		}
		switch {
		case ctx.Err() != nil && (err != nil || wake != nil):
			return nil, false, nil //nolint:nilerr // the stream is over, and whoever waits for ctx says why
		case wake != nil:
			return wake, false, nil
		case err == nil:
			if err := wt.write(batch); err != nil {
				return nil, true, err
			}
		case errors.Is(err, watchcache.ErrStopped):
			return nil, true, nil
		default:
			return nil, true, wt.stream.write(wt.frames.failure(nil, wt.traffic.refuse(err)))
		}
	}
}

func (wt *watch) write(batch watchcache.Batch) error {
	if wt.entry.revoked.Load() != nil {
		return nil // deliver says why
	}
	wt.traffic.late(time.Now()) // until it is taken
	wt.add(batch)
	if batch.Synced && wt.bookmarks {
		wt.bookmark(batch.Through, true)
	}
	err := wt.stream.flush()
	wt.traffic.late(time.Time{})
	wt.traffic.delivered(batch, wt.stream.takeSent())
	if err == nil && wt.traffic.timed() {
		wt.traffic.taken(&wt.service.watching.delays, time.Now())
	}
	return err
}

// add adds the frames of a batch.
func (wt *watch) add(batch watchcache.Batch) {
	for i, change := range batch.Changes {
		if i > 0 && change.Revision != batch.Changes[i-1].Revision {
			wt.stream.settle()
		}
		last := lastOfRevision(batch, i)
		wt.stream.add(func(dst []byte) []byte { return wt.frames.event(dst, change, last) })
	}
}

func (wt *watch) bookmark(through etcdstore.Revision, end bool) {
	wt.stream.add(func(dst []byte) []byte { return wt.frames.mark(dst, through, end) })
	wt.marked = through
}

// nextBookmark is when run has to look up from waiting: at the next bookmark, or at the end.
func (wt *watch) nextBookmark() time.Time {
	if !wt.bookmarks {
		return wt.deadline
	}
	now := time.Now()
	next := now.Add(wt.every)
	if before := wt.deadline.Add(-bookmarkBefore); before.After(now) && before.Before(next) {
		next = before
	}
	if wt.deadline.Before(next) {
		return wt.deadline
	}
	return next
}

// wantsBookmark tells whether there is something to say: the last one of a watch is left out when it would say nothing new. None
// says that a client has all of the revision at which it resumes while a part of it may still have to come.
func (wt *watch) wantsBookmark(through etcdstore.Revision, last bool) bool {
	return wt.bookmarks && through > 0 && !(last && through == wt.marked) && !wt.watcher.Resuming()
}

// catchUp writes what is ready, and a bookmark that says how far the client is now. What was acknowledged before comes first. With last
// the client gets all of that, and of its initial state, if it is to be had soon.
func (wt *watch) catchUp(last bool) error {
	if wt.bookmarks || last {
		through, _ := wt.cache.Refresh(context.Background()) //nolint:forbidigo // a moment, also when the watch's own time is over
		if last {
			if err := wt.complete(through); err != nil {
				return err
			}
		}
	}
	batch, err := wt.watcher.Poll()
	if err != nil {
		return nil //nolint:nilerr // Next returns the same error, and deliver writes it; a watch that ends needs none
	}
	if err := wt.write(batch); err != nil {
		return err
	}
	if !batch.Synced && wt.wantsBookmark(batch.Through, last) {
		wt.bookmark(batch.Through, false)
	}
	return wt.stream.flush()
}

// complete writes the rest of the initial state, and what comes after it up to a revision that the cache has.
func (wt *watch) complete(through etcdstore.Revision) error {
	ctx, cancel := context.WithTimeout(context.Background(), statePatience) //nolint:forbidigo // the watch's own time is over
	defer cancel()
	for wt.watcher.Beginning() || wt.watcher.Through() < through {
		batch, wake, err := wt.watcher.Try(ctx)
		if wake != nil || err != nil {
			return nil // it ends anyway
		}
		if err := wt.write(batch); err != nil {
			return err
		}
	}
	return nil
}

// lastOfRevision tells whether nothing of the revision of a change follows. False within the state that a watch begins with: a
// client cannot resume there.
func lastOfRevision(batch watchcache.Batch, i int) bool {
	if batch.Through == 0 || batch.Synced {
		return false
	}
	return i == len(batch.Changes)-1 || batch.Changes[i].Revision != batch.Changes[i+1].Revision
}
