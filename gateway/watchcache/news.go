package watchcache

import "time"

const (
	// maxNews is how many bytes of events may wait for the gap to pass.
	maxNews = 1 << 20
	// longestGap is how long they may wait at most, when watchers are busy with what came before.
	longestGap = 25 * time.Millisecond
	// many is how many events that are told at once make a burst, and lately how long ago it was when another one is likely.
	many   = 8
	lately = 100 * time.Millisecond
)

// news are the newest events of the log, of which sleeping watchers have not been told yet.
//
// What wakes a thousand watchers costs a thousand writes, whether of one event or of ten. So the gap grows with what they take:
// they are left to deliver, and then half as long again, before they are told of more. Those that sleep through a quiet time are
// told at once. Where many events came lately, the first one of some more waits for the others half as long as watchers take: etcd
// writes it alone, and then what has come meanwhile together.
type news struct {
	from  uint64 // their first position
	bytes int
	timer *time.Timer // until watchers may be told; nil: nothing waits

	last  time.Time     // when watchers were told before
	woken int           // how many were asleep then, and woke
	back  int           // how many have gone to sleep since
	took  time.Duration // from last until most of them had; zero: not yet
	burst int           // how many events they were told of then, or half of what it was before
}

func (n *news) add(e *event) { n.bytes += e.memory }

// told says that watchers know of all events before a position.
func (n *news) told(next uint64) {
	if n.timer != nil {
		n.timer.Stop() // one that runs already finds nothing to tell
	}
	*n = news{from: next, last: time.Now(), burst: max(int(next-n.from), n.burst/2)}
}

// most of those that were woken; a client that has just stopped to read does not go to sleep again.
func (n *news) most() int { return n.woken - n.woken/8 }

// wait is how long from now on until watchers may be told of what has just come.
func (n *news) wait(gap time.Duration) time.Duration {
	passed := time.Since(n.last)
	wait := n.rest(gap) - passed
	if n.burst >= many && passed < lately && gap > 0 {
		wait = max(wait, gap, min(n.took, longestGap)/2)
	}
	return wait
}

// rest is how long after watchers were told before they may be told of more.
func (n *news) rest(gap time.Duration) time.Duration {
	switch {
	case gap == 0:
		return 0
	case n.back < n.most():
		return max(gap, longestGap)
	}
	return max(gap, min(n.took+n.took/2, longestGap))
}

// tellSoonLocked tells watchers of the news now, or when the gap since the last time has passed.
func (c *Cache) tellSoonLocked() {
	if c.news.timer != nil || c.news.from == c.log.next {
		return
	}
	if wait := c.news.wait(c.config.Gap); wait > 0 {
		c.news.timer = time.AfterFunc(wait, func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.tellLocked()
		})
		return
	}
	c.tellLocked()
}

func (c *Cache) tellLocked() {
	if c.news.from == c.log.next {
		return
	}
	from := max(c.news.from, c.log.first)
	c.news.told(c.log.next)
	for p := from; p < c.log.next && len(c.sleepers) > 0; p++ {
		c.wakeLocked(c.log.at(p), p)
	}
}

// asleepLocked counts a watcher that has delivered all there was.
func (c *Cache) asleepLocked() {
	n := &c.news
	if n.back++; n.back != n.most() {
		return
	}
	n.took = time.Since(n.last)
	if n.timer != nil {
		n.timer.Reset(n.rest(c.config.Gap) - n.took)
	}
}
