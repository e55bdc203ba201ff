package watchcache

import "sync"

// Ready collects the watchers that have something to deliver, for the one goroutine that serves all of them: no watcher then
// needs a goroutine of its own.
type Ready struct {
	ring func()

	mu    sync.Mutex   // guards the field below
	woken [][]*Watcher // as they were parked together
}

// NewReady makes one. ring is called, with locks held, when there is something to take after there was nothing: it must not
// block, and not call back.
func NewReady(ring func()) *Ready { return &Ready{ring: ring} }

func (r *Ready) add(watchers []*Watcher) {
	if len(watchers) == 0 {
		return
	}
	r.mu.Lock()
	first := len(r.woken) == 0
	r.woken = append(r.woken, watchers)
	r.mu.Unlock()
	if first {
		r.ring()
	}
}

// Take returns the watchers that have woken since the last call: each polls until nothing is there, and then waits again. A
// watcher that has been closed meanwhile can be among them.
func (r *Ready) Take() [][]*Watcher {
	r.mu.Lock()
	defer r.mu.Unlock()
	woken := r.woken
	r.woken = nil
	return woken
}

// Attach makes ready what the watcher wakes from its next Poll on; Next is not to be called until Detach. It must Follow.
// owner is for whoever takes it from there.
func (w *Watcher) Attach(ready *Ready, owner any) {
	w.cache.mu.Lock()
	defer w.cache.mu.Unlock()
	w.leaveWaitListLocked()
	w.ready, w.owner, w.bell = ready, owner, nil
}

// Detach takes Attach back.
func (w *Watcher) Detach() {
	w.cache.mu.Lock()
	defer w.cache.mu.Unlock()
	w.leaveWaitListLocked()
	w.ready, w.owner = nil, nil
}

// Owner is what Attach was told; nil: the watcher is not attached any more.
func (w *Watcher) Owner() any {
	w.cache.mu.Lock()
	defer w.cache.mu.Unlock()
	return w.owner
}
