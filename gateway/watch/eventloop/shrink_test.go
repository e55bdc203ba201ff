package eventloop

import (
	"testing"
	"time"

	"revtail/gateway/watch"
	"revtail/gateway/watchcache"
)

// TestShrink checks that a loop whose clients leave keeps the rest and its order, and gives its memory back.
func TestShrink(t *testing.T) {
	const most = 4 * watch.ShrinkAt
	l := &eventLoop{clients: make(map[int32]*client), ready: watchcache.NewReadyList(func() {})}
	start := time.Now()
	for tag := range int32(most) {
		c := &client{tag: tag, loop: l, heapIndex: unscheduled, next: start.Add(-time.Duration(tag))}
		l.clients[tag] = c
		l.schedule.put(c)
	}
	l.shrink()
	large := l.clients
	for tag := range int32(most - 10) {
		l.schedule.remove(l.clients[tag])
		delete(l.clients, tag)
	}
	l.shrink()
	clear(large)
	if len(l.clients) != 10 || l.most != 10 || cap(l.schedule) >= watch.ShrinkAt {
		t.Fatalf("%d clients, %d at most, room for %d", len(l.clients), l.most, cap(l.schedule))
	}
	for tag := int32(most - 1); tag >= most-10; tag-- {
		c := l.schedule.first(start)
		if c == nil || c.tag != tag { // the latest has the earliest time
			t.Fatalf("%+v is due, want client %d", c, tag)
		}
		l.schedule.remove(c)
	}
}
