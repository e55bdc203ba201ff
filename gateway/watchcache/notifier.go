package watchcache

import "time"

const (
	// maxUnpublished bounds the bytes of the events that wait for the gap to pass.
	maxUnpublished = 1 << 20
	// maxGap bounds how long events wait while watchers are busy with the events before.
	maxGap = 25 * time.Millisecond
	// burstEvents events that are published at once make a burst; another burst is likely within burstWindow.
	burstEvents = 8
	burstWindow = 100 * time.Millisecond
)

// notifier decides when watchers learn of the newest events of the log.
//
// Waking a thousand watchers costs a thousand writes, whether of one event or of ten. So the gap between two wake-ups grows with
// the time that watchers need: the next one comes when they wait again, and half of that time has passed again. After a quiet
// time, events are published at once. After a burst, the first event waits half as long as watchers need, because etcd writes the
// first of many concurrent changes alone, and then the others together.
type notifier struct {
	first uint64 // position of the first unpublished event
	bytes int
	timer *time.Timer // until the next publish; nil: no event waits

	lastPublish time.Time
	woken       int           // watchers that the last publish woke
	waiting     int           // watchers that wait again since
	took        time.Duration // from lastPublish until most of them waited; zero: not yet
	burst       int           // events of the last publish, or half of the former burst
}

func (n *notifier) add(e *event) { n.bytes += e.memory }

// published records that watchers know of all events before a position.
func (n *notifier) published(next uint64) {
	if n.timer != nil {
		n.timer.Stop() // a timer that has fired finds nothing to publish
	}
	*n = notifier{first: next, lastPublish: time.Now(), burst: max(int(next-n.first), n.burst/2)}
}

// mostWoken leaves out an eighth, because a client that stops reading does not wait again.
func (n *notifier) mostWoken() int { return n.woken - n.woken/8 }

// delay is how long a new event waits before it is published.
func (n *notifier) delay(gap time.Duration) time.Duration {
	passed := time.Since(n.lastPublish)
	wait := n.interval(gap) - passed
	if n.burst >= burstEvents && passed < burstWindow && gap > 0 {
		wait = max(wait, gap, min(n.took, maxGap)/2)
	}
	return wait
}

// interval is the least time between two publishes.
func (n *notifier) interval(gap time.Duration) time.Duration {
	switch {
	case gap == 0:
		return 0
	case n.waiting < n.mostWoken():
		return max(gap, maxGap)
	}
	return max(gap, min(n.took+n.took/2, maxGap))
}

// schedulePublishLocked publishes the new events now, or after the delay.
func (c *Cache) schedulePublishLocked() {
	if c.notifier.timer != nil || c.notifier.first == c.log.next {
		return
	}
	if wait := c.notifier.delay(c.config.Gap); wait > 0 {
		c.notifier.timer = time.AfterFunc(wait, func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.publishLocked()
		})
		return
	}
	c.publishLocked()
}

func (c *Cache) publishLocked() {
	if c.notifier.first == c.log.next {
		return
	}
	from := max(c.notifier.first, c.log.first)
	c.notifier.published(c.log.next)
	for p := from; p < c.log.next && len(c.waitLists) > 0; p++ {
		c.wakeForLocked(c.log.at(p), p)
	}
}

// countWaitingLocked counts a watcher that has delivered all events.
func (c *Cache) countWaitingLocked() {
	n := &c.notifier
	if n.waiting++; n.waiting != n.mostWoken() {
		return
	}
	n.took = time.Since(n.lastPublish)
	if n.timer != nil {
		n.timer.Reset(n.interval(c.config.Gap) - n.took)
	}
}
