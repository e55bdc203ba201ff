package watchcache

import "time"

// patienceWithEtcd is how long watches stay open while nothing is heard of etcd. Then they end, cleanly, so that their clients
// may find a gateway that is better off (kube-apiserver: 30 s as well).
const patienceWithEtcd = 30 * time.Second

// contact is when something was heard of etcd last.
type contact struct {
	heard time.Time
	lost  bool // not for patienceWithEtcd
	timer *time.Timer
}

// listen starts the watch over the contact; the caller ends it with the function that it returns.
func (c *Cache) listen() (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.contact.heard = time.Now()
	c.contact.timer = time.AfterFunc(patienceWithEtcd, c.lose)
	return c.contact.timer.Stop
}

// hear notes that the cache is as complete as etcd is at this moment, or was when it said so.
func (c *Cache) hear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.contact.heard, c.contact.lost = time.Now(), false
	c.contact.timer.Reset(patienceWithEtcd)
}

// lose ends the watches: they get ErrStopped, and new ones a *NotReadyError until etcd is heard of again. Lists that may be
// old go on.
func (c *Cache) lose() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.contact.lost = true
	c.wakeAllLocked()
}

// Age is how long ago the cache was known to be complete.
func (c *Cache) Age() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Since(c.contact.heard)
}
