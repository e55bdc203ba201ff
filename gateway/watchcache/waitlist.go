package watchcache

import "sync"

// sleeper is where the watchers of one topic wait for its next event.
type waitList struct {
	from     uint64 // the first position that may be news to one of them
	position uint64 // when there is one: its position
	woken    bool   // there is one
	groups   []waitGroup
}

// parking are the watchers of one Ready or, without, those that have goroutines of their own.
type waitGroup struct {
	ready    *Ready
	watchers []*Watcher
}

// rouse wakes whoever waits, and returns how many: O(1) for each Ready, whatever the number of its watchers, and a ring for each
// that has a goroutine.
func (s *waitList) wake(position uint64) (woken int) {
	s.position, s.woken = position, true
	for _, p := range s.groups {
		woken += len(p.watchers)
		if p.ready != nil {
			p.ready.add(p.watchers)
			continue
		}
		for _, w := range p.watchers {
			Ring(w.bell)
		}
	}
	s.groups = nil
	return woken
}

func (s *waitList) add(w *Watcher) {
	p := s.group(w.ready)
	if p == nil {
		s.groups = append(s.groups, waitGroup{ready: w.ready})
		p = &s.groups[len(s.groups)-1]
	}
	w.index = len(p.watchers)
	p.watchers = append(p.watchers, w)
}

func (s *waitList) remove(w *Watcher) {
	p := s.group(w.ready)
	last := len(p.watchers) - 1
	moved := p.watchers[last]
	p.watchers[w.index], moved.index = moved, w.index
	p.watchers[last] = nil
	p.watchers = p.watchers[:last]
}

// parkingOf is a search among as many as there are Readys: one for each processor.
func (s *waitList) group(ready *Ready) *waitGroup {
	for i := range s.groups {
		if s.groups[i].ready == ready {
			return &s.groups[i]
		}
	}
	return nil
}

func (s *waitList) empty() bool {
	for _, p := range s.groups {
		if len(p.watchers) > 0 {
			return false
		}
	}
	return true
}

// sleepLocked lets the watcher wait for the next event of its topic: the channel then has something, unless it is attached.
func (w *Watcher) waitLocked() <-chan struct{} {
	s := w.cache.waitLists[w.wakeKey]
	if s == nil {
		s = &waitList{from: w.position}
		w.cache.waitLists[w.wakeKey] = s
	}
	s.from = min(s.from, w.position)
	w.list = s
	s.add(w)
	w.cache.countWaitingLocked()
	if w.ready != nil {
		return nil
	}
	return w.Bell()
}

// restLocked lets an attached watcher sleep as soon as it has read what watchers were told of: what came since is news, and waits.
func (w *Watcher) waitIfPublishedLocked() {
	if w.ready != nil && w.position >= w.cache.notifier.first && !w.query.Latest {
		w.waitLocked()
	}
}

// Asleep tells whether the watcher sleeps since the last Poll, whatever that has given out: it is in its Ready when there is more.
func (w *Watcher) Asleep() bool { return w.list != nil && w.filterErr == nil }

// Bell is the channel that Try returns: it holds one, and whoever puts that in has the watcher's goroutine try again. It is the
// same until Attach.
func (w *Watcher) Bell() chan struct{} {
	if w.bell == nil {
		w.bell = make(chan struct{}, 1)
	}
	return w.bell
}

// Ring puts something into a bell, unless it has something already.
func Ring(bell chan<- struct{}) {
	select {
	case bell <- struct{}{}:
	default:
	}
}

// wakeUpLocked moves the cursor of a watcher that slept: nothing of its topic has happened before the event that woke it, or
// before the news.
func (w *Watcher) leaveWaitListLocked() {
	s := w.list
	if s == nil {
		return
	}
	w.list = nil
	if s.woken {
		w.position = max(w.position, s.position)
		if s.position == 0 {
			w.position = 0
		}
		return
	}
	w.position = max(w.position, w.cache.notifier.first)
	s.remove(w)
	if s.empty() {
		delete(w.cache.waitLists, w.wakeKey)
	}
}

func (c *Cache) wakeForLocked(e *event, position uint64) {
	scopes := scopesOf(e.object())
	for _, in := range scopes {
		c.wakeKeyLocked(wakeKey{scope: in}, position)
	}
	for key, values := range c.indexes.valuesOf(e) {
		for _, in := range scopes {
			for _, value := range values {
				c.wakeKeyLocked(wakeKey{in, key, value}, position)
			}
		}
	}
}

func (c *Cache) wakeKeyLocked(key wakeKey, position uint64) {
	if s := c.waitLists[key]; s != nil && s.from <= position {
		c.notifier.woken += s.wake(position)
		delete(c.waitLists, key)
	}
	c.fanout.Wake() // those that read history too
}

// wakeAllLocked wakes with position zero: each looks for its position itself.
func (c *Cache) wakeAllLocked() {
	for key, s := range c.waitLists {
		s.wake(0)
		delete(c.waitLists, key)
	}
	c.fanout.Wake() // those that read history too
}

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
