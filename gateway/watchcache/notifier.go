package watchcache

import "time"

const (
	// maxNews is how many bytes of events may wait for the gap to pass.
	maxUnpublished = 1 << 20
	// longestGap is how long they may wait at most, when watchers are busy with what came before.
	maxGap = 25 * time.Millisecond
	// many is how many events that are told at once make a burst, and lately how long ago it was when another one is likely.
	burstEvents = 8
	burstWindow = 100 * time.Millisecond
)

// news are the newest events of the log, of which sleeping watchers have not been told yet.
//
// What wakes a thousand watchers costs a thousand writes, whether of one event or of ten. So the gap grows with what they take:
// they are left to deliver, and then half as long again, before they are told of more. Those that sleep through a quiet time are
// told at once. Where many events came lately, the first one of some more waits for the others half as long as watchers take: etcd
// writes it alone, and then what has come meanwhile together.
type notifier struct {
	first uint64 // their first position
	bytes int
	timer *time.Timer // until watchers may be told; nil: nothing waits

	lastPublish time.Time     // when watchers were told before
	woken       int           // how many were asleep then, and woke
	waiting     int           // how many have gone to sleep since
	took        time.Duration // from last until most of them had; zero: not yet
	burst       int           // how many events they were told of then, or half of what it was before
}

func (n *notifier) add(e *event) { n.bytes += e.memory }

// told says that watchers know of all events before a position.
func (n *notifier) published(next uint64) {
	if n.timer != nil {
		n.timer.Stop() // one that runs already finds nothing to tell
	}
	*n = notifier{first: next, lastPublish: time.Now(), burst: max(int(next-n.first), n.burst/2)}
}

// most of those that were woken; a client that has just stopped to read does not go to sleep again.
func (n *notifier) mostWoken() int { return n.woken - n.woken/8 }

// wait is how long from now on until watchers may be told of what has just come.
func (n *notifier) delay(gap time.Duration) time.Duration {
	passed := time.Since(n.lastPublish)
	wait := n.interval(gap) - passed
	if n.burst >= burstEvents && passed < burstWindow && gap > 0 {
		wait = max(wait, gap, min(n.took, maxGap)/2)
	}
	return wait
}

// rest is how long after watchers were told before they may be told of more.
func (n *notifier) interval(gap time.Duration) time.Duration {
	switch {
	case gap == 0:
		return 0
	case n.waiting < n.mostWoken():
		return max(gap, maxGap)
	}
	return max(gap, min(n.took+n.took/2, maxGap))
}

// tellSoonLocked tells watchers of the news now, or when the gap since the last time has passed.
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

// asleepLocked counts a watcher that has delivered all there was.
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
