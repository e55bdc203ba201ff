package watchcache

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"revtail/etcdstore"
)

func (w *world) setGap(gap time.Duration) {
	w.cache.mu.Lock()
	defer w.cache.mu.Unlock()
	w.cache.config.Gap = gap
}

// gap is Config.Gap of these tests.
const gap = 2 * time.Millisecond

// bubbleOfBursts runs a test in a bubble with a gap, in which nothing happens after the write of the revision start.
func bubbleOfBursts(t *testing.T, do func(w *world, start etcdstore.Revision)) {
	t.Helper()
	bubble(t, nil, func(w *world) {
		start := w.put("a/x", "", "")
		w.setGap(gap)
		<-time.After(gap)
		do(w, start)
	})
}

// The events of a burst are published together, the first event after a quiet time at once. No event of another scope, or that was read
// before, wakes a watcher.
func TestGapCollectsBursts(t *testing.T) {
	bubbleOfBursts(t, func(w *world, start etcdstore.Revision) {
		began := time.Now()
		c := newCrew(w)
		all := c.attach("all", start, WatchQuery{})
		c.attach("b", start, WatchQuery{Namespace: "b"})
		var log []string
		serve := func(after time.Duration, watchers int) {
			t.Helper()
			<-time.After(time.Until(began.Add(after)))
			synctest.Wait()
			if woken := c.serve(); woken != watchers {
				t.Errorf("after %v %d watchers wake, want %d", after, woken, watchers)
			}
			log = append(log, fmt.Sprint(after, " ", len(c.got["all"]), " ", len(c.got["b"])))
		}
		w.put("a/x", "", "") // after a quiet time
		serve(0, 1)
		w.put("a/x", "", "")
		w.put("b/x", "", "")
		w.put("a/x", "", "")
		serve(0, 0)
		serve(gap-1, 0)
		serve(gap, 2)
		serve(2*gap, 0)
		w.put("b/x", "", "")
		serve(2*gap, 2)
		w.put("a/x", "", "")
		c.poll(all) // as for a bookmark
		serve(10*gap, 0)
		w.put("a/x", "", "")
		serve(10*gap, 1)
		want := []string{"0s 1 0", "0s 1 0", "1.999999ms 1 0", "2ms 4 1", "4ms 4 1", "4ms 5 2", "20ms 6 2", "20ms 7 2"}
		if diff := cmp.Diff(want, log); diff != "" {
			t.Errorf("time, events of all, events of b (- want, + got):\n%s", diff)
		}
	})
}

// However long the gap is, events are published before the log drops them.
func TestGapEndsBeforeTheLogDropsEvents(t *testing.T) {
	bubble(t, nil, func(w *world) {
		w.put("a/x", "", "")
		w.cache.mu.Lock()
		w.cache.config.Gap = time.Hour
		w.cache.log.limit = 8
		w.cache.log.reset(w.cache.through)
		w.cache.mu.Unlock()
		start := w.put("a/x", "", "")
		c := newCrew(w)
		c.attach("b", start, WatchQuery{Namespace: "b"})
		last := w.put("b/x", "", "")
		for range 8 {
			last = w.put("a/x", "", "")
			c.serve()
		}
		if want := []string{fmt.Sprint("ADDED b/x ", start+1)}; !cmp.Equal(c.got["b"], want) {
			t.Errorf("at revision %d the watcher of b has %v, want %v", last, c.got["b"], want)
		}
	})
}

// The gap grows with the time that watchers need to deliver: until most of them wait again, and half as long after that, up to a limit.
func TestGapGrowsWithTheTimeOfDeliveries(t *testing.T) {
	bubbleOfBursts(t, func(w *world, start etcdstore.Revision) {
		began := time.Now()
		c := newCrew(w)
		for i := range 16 {
			c.attach(fmt.Sprint(i), start, WatchQuery{})
		}
		published := func(after time.Duration, want bool) {
			t.Helper()
			<-time.After(time.Until(began.Add(after)))
			synctest.Wait()
			w.cache.mu.Lock()
			defer w.cache.mu.Unlock()
			if got := w.cache.notifier.first == w.cache.log.next; got != want {
				t.Errorf("after %v all is published: %v, want %v", after, got, want)
			}
		}
		w.put("a/x", "", "")
		published(0, true) // after a quiet time
		w.put("a/x", "", "")
		published(10*time.Millisecond, false) // the watchers are busy
		c.serve()
		w.put("a/x", "", "")
		published(15*time.Millisecond-1, false)
		published(15*time.Millisecond, true)
		w.put("a/x", "", "")
		published(15*time.Millisecond+maxGap-1, false) // the watchers are busy for longer
		published(15*time.Millisecond+maxGap, true)
		c.serve()
		published(time.Second, true)
		w.put("a/x", "", "")
		published(time.Second, true) // a quiet time later
	})
}

// For a while after a burst an event waits for others, for a shorter time after each wait without another event. After a quiet time it does
// not wait.
func TestGapKeepsBurstsTogether(t *testing.T) {
	bubbleOfBursts(t, func(w *world, start etcdstore.Revision) {
		c := newCrew(w)
		c.attach("all", start, WatchQuery{})
		sent := 0
		put := func(events int) {
			for range events {
				w.put("a/x", "", "")
				sent++
			}
		}
		waiting := func(after time.Duration, want int) {
			t.Helper()
			<-time.After(after)
			synctest.Wait()
			c.serve()
			if got := sent - len(c.got["all"]); got != want {
				t.Errorf("%d events were sent and %d wait, want %d", sent, got, want)
			}
		}
		burst := func() {
			t.Helper()
			put(1)
			waiting(0, 0) // after a quiet time
			put(4 * burstEvents)
			waiting(gap, 0)
		}
		burst()
		for range 3 {
			<-time.After(burstWindow / 2)
			put(1)
			waiting(gap-1, 1)
			waiting(1, 0)
		}
		<-time.After(burstWindow / 2)
		put(1)
		waiting(0, 0)
		<-time.After(burstWindow)
		burst()
		<-time.After(burstWindow)
		put(1)
		waiting(0, 0)
	})
}

// Watchers that have read all published events wait, at any position, and later events wake them.
func TestGapEndsForWaitingWatchers(t *testing.T) {
	bubbleOfBursts(t, func(w *world, start etcdstore.Revision) {
		one, other := newCrew(w), newCrew(w)
		first, last, further := one.attach("first", start, WatchQuery{}), one.attach("last", start, WatchQuery{}), other.attach("further", start, WatchQuery{})
		w.put("a/x", "", "")
		read := func(c *crew, watcher *Watcher, events int) {
			t.Helper()
			batch, _, err := c.reader.Poll(watcher)
			if err != nil || len(batch.Changes) != events || !watcher.Waiting() {
				t.Fatalf("%d changes (%v), waiting: %v; want %d, and waiting", len(batch.Changes), err, watcher.Waiting(), events)
			}
		}
		read(one, first, 1)
		first.Detach()          // no watcher waits now
		w.put("a/x", "", "")    // is not published
		read(other, further, 2) // reads unpublished events too
		read(one, last, 1)      // gets what the first one got
		one.ready.Take()
		<-time.After(gap)
		synctest.Wait()
		if woken := one.serve(); woken != 1 || len(one.got["last"]) != 1 {
			t.Errorf("%d watchers wake, and get %q; want one event for the last one", woken, one.got["last"])
		}
	})
}

// Attached watchers get ErrStopped too, after all earlier events.
func TestStopEndsAttachedWatchers(t *testing.T) {
	bubble(t, nil, func(w *world) {
		start := w.put("a/x", "", "")
		c := newCrew(w)
		all := c.attach("all", start, WatchQuery{})
		w.put("a/x", "", "")
		w.stop()
		batch, _, err := c.reader.Poll(all)
		if err != nil || len(batch.Changes) != 1 || all.Waiting() {
			t.Fatalf("%d changes (%v), waiting: %v; want one, and no waiting", len(batch.Changes), err, all.Waiting())
		}
		if _, _, err := c.reader.Poll(all); !errors.Is(err, ErrStopped) {
			t.Errorf("then %v", err)
		}
	})
}

// Unpublished events are delivered before the end when the cache stops.
func TestStopLosesNoUnpublishedEvents(t *testing.T) {
	bubble(t, nil, func(w *world) {
		start := w.put("a/x", "", "")
		w.setGap(time.Hour)
		watcher := w.watch(WatchQuery{After: start})
		var got []Change
		ended := make(chan error)
		go func() {
			for {
				batch, err := watcher.Next(w.t.Context())
				if err != nil {
					ended <- err
					return
				}
				got = append(got, batch.Changes...)
			}
		}()
		synctest.Wait()
		w.put("a/x", "", "")
		w.put("a/y", "", "")
		w.stop()
		if err := <-ended; !errors.Is(err, ErrStopped) || len(got) != 2 {
			t.Errorf("%d events were delivered, want 2, and then %v", len(got), err)
		}
	})
}
