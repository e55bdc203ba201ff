package watchcache

import "time"

// patienceWithEtcd is how long watches stay open while nothing is heard of etcd. Then they end, cleanly, so that their clients
// may find a gateway that is better off (kube-apiserver: 30 s as well).
const livenessTimeout = 30 * time.Second

// contact is when something was heard of etcd last.
type liveness struct {
	lastContact time.Time
	expired     bool // not for patienceWithEtcd
	timer       *time.Timer
}

// listen starts the watch over the contact; the caller ends it with the function that it returns.
func (c *Cache) startLiveness() (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.liveness.lastContact = time.Now()
	c.liveness.timer = time.AfterFunc(livenessTimeout, c.expireLiveness)
	return c.liveness.timer.Stop
}

// hear notes that the cache is as complete as etcd is at this moment, or was when it said so.
func (c *Cache) markLive() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.liveness.lastContact, c.liveness.expired = time.Now(), false
	c.liveness.timer.Reset(livenessTimeout)
}

// lose ends the watches: they get ErrStopped, and new ones a *NotReadyError until etcd is heard of again. Lists that may be
// old go on.
func (c *Cache) expireLiveness() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.liveness.expired = true
	c.wakeAllLocked()
}

// Age is how long ago the cache was known to be complete.
func (c *Cache) Age() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Since(c.liveness.lastContact)
}
