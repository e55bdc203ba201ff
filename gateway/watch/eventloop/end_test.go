package eventloop

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"

	"revtail/encoding"
	"revtail/etcdstore"
	"revtail/etcdstore/memory"
	"revtail/gateway/gatewaytest/rawhttp"
	"revtail/gateway/netio/socket"
)

// tardy is a store that can delay reads. After hold, the first call of Revision returns the revision that was newest at the call, but only
// when answer is closed. Watches return no events before the second call.
type tardy struct {
	*memory.Store

	mu      sync.Mutex // guards the fields below
	holding bool
	read    chan struct{} // closed by the first call of Revision after hold
	answer  chan struct{} // closed by the test to let that call return
	asked   chan struct{} // closed by the second call
}

func newTardy() *tardy {
	return &tardy{Store: memory.New(), read: make(chan struct{}), answer: make(chan struct{}), asked: make(chan struct{})}
}

func (s *tardy) hold() {
	s.mu.Lock()
	s.holding = true
	s.mu.Unlock()
}

// heldUp returns the channel that a call must wait for; nil: none. A read waits if it is the first one; a watch waits for the second read.
func (s *tardy) heldUp(read bool) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.holding || isClosed(s.asked):
		return nil
	case !read:
		return s.asked
	case isClosed(s.read):
		close(s.asked)
		return nil
	}
	close(s.read)
	return s.answer
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func (s *tardy) Revision(ctx context.Context) (etcdstore.Revision, error) {
	newest, err := s.Store.Revision(ctx)
	return newest, waitUnless(ctx, s.heldUp(true), err)
}

// waitUnless waits until c is closed. It returns at once if c is nil or there is an error.
func waitUnless(ctx context.Context, c <-chan struct{}, err error) error {
	if c == nil || err != nil {
		return err
	}
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *tardy) Watch(ctx context.Context, prefix string, o etcdstore.WatchOptions) etcdstore.Watcher {
	return &tardyWatcher{Watcher: s.Store.Watch(ctx, prefix, o), store: s}
}

type tardyWatcher struct {
	etcdstore.Watcher
	store *tardy
	next  *etcdstore.Batch // not returned yet; nil: none
}

func (w *tardyWatcher) Next(ctx context.Context) (etcdstore.Batch, error) {
	if w.next == nil {
		batch, err := w.Watcher.Next(ctx)
		if err != nil {
			return batch, err
		}
		w.next = &batch
	}
	if err := waitUnless(ctx, w.store.heldUp(false), nil); err != nil {
		return etcdstore.Batch{}, err
	}
	batch := *w.next
	w.next = nil
	return batch, nil
}

// A watch that ends during the read for its bookmark does not end with the result of that read, which may be older than the end: it gets
// all events that were acknowledged before the server began to drain.
func TestWatchEndsWithWhatWasAcknowledged(t *testing.T) {
	for _, v := range variants {
		if !v.adopts() {
			continue
		}
		t.Run(v.String(), func(t *testing.T) {
			store := newTardy()
			s := newLoopServerThrough(t, store.Store, store, v, socket.WriteTimeout)
			revision := s.create("first")
			_, marked := s.watchFrom(revision, "&allowWatchBookmarks=1")
			_, unmarked := s.watchFrom(revision, "")
			store.hold()
			s.clients(func(c *client) { c.loop.requestBookmark(c, false) })
			<-store.read
			s.sized(1, 1)
			drained := make(chan error, 1)
			go func() { drained <- s.watches.Registry.Drain(context.WithoutCancel(t.Context())) }()
			rawhttp.Await(t, "the watches to end", func() bool { return s.count(func(c *client) bool { return !c.endRequested }) == 0 })
			close(store.answer)
			for _, body := range []io.Reader{marked, unmarked} {
				if got, err := io.ReadAll(body); err != nil || !strings.Contains(string(got), `"value":"1x`) {
					t.Errorf("a watch ended with %q, %v; want what was written before", got, err)
				}
			}
			if err := <-drained; err != nil {
				t.Error(err)
			}
		})
	}
}

// A client that is blocked when its watch ends still gets the events that were acknowledged before the end, if it accepts them soon.
func TestWatchEndsWithWhatWaits(t *testing.T) {
	for name, test := range map[string]struct {
		patience time.Duration
		want     int // events
	}{"soon": {time.Hour, 3}, "too late": {0, 1}} {
		t.Run(name, func(t *testing.T) {
			overLoops(t, func(t *testing.T, s *loopServer) {
				s.pool.endTimeout = test.patience
				_, body := s.watchFrom(s.create("first"), "&allowWatchBookmarks=1")
				s.large(0)
				rawhttp.Await(t, "the watch to be blocked", func() bool { return s.blocked() == 1 })
				s.large(1)
				s.large(2)
				drained := make(chan error, 1)
				go func() { drained <- s.watches.Registry.Drain(context.WithoutCancel(t.Context())) }()
				rawhttp.Await(t, "the watch to leave", func() bool { return s.count(func(c *client) bool { return c.endsSoon() || c.ending }) == 1 })
				s.expectLarge(body, 0, test.want-1)
				rest, err := io.ReadAll(body)
				if err != nil || !strings.HasPrefix(string(rest), `{"type":"`+string(encoding.Bookmark)) {
					t.Errorf("at the end: %.100q, %v", rest, err)
				}
				if err := <-drained; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A watch on a goroutine of its own also ends with all these events, however many there are.
func TestWatchOnAGoroutineEndsWithWhatWasAcknowledged(t *testing.T) {
	const events = 600 // more than two batches
	store := newTardy()
	s := newLoopServerThrough(t, store.Store, store, variant{protocol: "plain"}, socket.WriteTimeout)
	response := rawhttp.Get(t, s.front.Client(), fmt.Sprintf("%s/?resourceVersion=%v", s.front.URL, s.create("first")), "Accept-Encoding", "gzip")
	store.hold()
	close(store.answer)
	if _, err := store.Revision(t.Context()); err != nil { // the next call of Revision is the second one, which releases the watches
		t.Fatal(err)
	}
	for i := range events {
		store.Txn(map[string][]byte{"/registry/configmaps/default/many": fmt.Appendf(nil, `{"metadata":{"name":"many"},"data":{"value":"%d"}}`, i)}, nil)
	}
	if err := s.watches.Registry.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	plain, err := gzip.NewReader(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(plain)
	if n := strings.Count(string(got), "\n"); n != events || err != nil {
		t.Errorf("the watch ended with %d events, %v; want the %d that were written before", n, err, events)
	}
}
