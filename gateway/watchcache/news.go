package watchcache

import "time"

// maxNews is how many bytes of events may wait for the gap to pass.
const maxNews = 1 << 20

// news are the newest events of the log, of which sleeping watchers have not been told yet.
type news struct {
	from  uint64 // their first position
	bytes int
	last  time.Time   // when watchers were told before
	timer *time.Timer // until they may be told again; nil: nothing waits
}

func (n *news) add(e *event) { n.bytes += e.memory }

// told says that watchers know of all events before a position.
func (n *news) told(next uint64) {
	if n.timer != nil {
		n.timer.Stop() // one that runs already finds nothing to tell
	}
	*n = news{from: next, last: time.Now()}
}

// tellSoonLocked tells watchers of the news now, or when the gap since the last time has passed.
func (c *Cache) tellSoonLocked() {
	if c.news.timer != nil || c.news.from == c.log.next {
		return
	}
	if wait := c.config.Gap - time.Since(c.news.last); wait > 0 {
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
	for p := max(c.news.from, c.log.first); p < c.log.next && len(c.sleepers) > 0; p++ {
		c.wakeLocked(c.log.at(p), p)
	}
	c.news.told(c.log.next)
}
