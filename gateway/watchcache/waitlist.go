package watchcache

import (
	"slices"
	"sync"
)

// waitList holds the watchers that wait for the next event of one wake key.
type waitList struct {
	from     uint64 // no event before this position concerns the watchers
	position uint64 // of the event that woke them
	woken    bool
	groups   []waitGroup
}

// waitGroup holds the watchers of one ReadyList or, with nil, those with their own goroutines.
type waitGroup struct {
	ready    *ReadyList
	watchers []*Watcher
}

// wake wakes all watchers and counts them. It is O(1) for each ReadyList and for each watcher with a goroutine.
func (s *waitList) wake(position uint64) (woken int) {
	s.position, s.woken = position, true
	for _, p := range s.groups {
		woken += len(p.watchers)
		if p.ready != nil {
			p.ready.add(p.watchers)
			continue
		}
		for _, w := range p.watchers {
			notify(w.wakeChan)
		}
	}
	s.groups = nil
	return woken
}

func (s *waitList) add(w *Watcher) {
	p := s.group(w.readyList)
	if p == nil {
		s.groups = append(s.groups, waitGroup{ready: w.readyList})
		p = &s.groups[len(s.groups)-1]
	}
	w.index = len(p.watchers)
	if w.index == cap(p.watchers) && p.ready != nil {
		p.watchers = p.ready.grow(p.watchers)
	}
	p.watchers = append(p.watchers, w)
}

func (s *waitList) remove(w *Watcher) {
	p := s.group(w.readyList)
	last := len(p.watchers) - 1
	moved := p.watchers[last]
	p.watchers[w.index], moved.index = moved, w.index
	p.watchers = slices.Delete(p.watchers, last, last+1)
}

// group searches linearly, because there is one ReadyList for each processor.
func (s *waitList) group(ready *ReadyList) *waitGroup {
	for i := range s.groups {
		if s.groups[i].ready == ready {
			return &s.groups[i]
		}
	}
	return nil
}

// waitLocked adds the watcher to the wait list of its key. The channel gets a value at the next event; nil: attached.
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
	if w.readyList != nil {
		return nil
	}
	if w.wakeChan == nil {
		w.wakeChan = make(chan struct{}, 1)
	}
	return w.wakeChan
}

// waitIfPublishedLocked adds an attached watcher to its wait list when it has read all published events, because later ones wait.
func (w *Watcher) waitIfPublishedLocked() {
	if w.readyList != nil && w.position >= w.cache.notifier.first && !w.query.Latest {
		w.waitLocked()
	}
}

// Waiting reports whether the watcher waits since the last Poll, with or without a batch: the ReadyList gets it when there is more.
func (w *Watcher) Waiting() bool { return w.list != nil && w.eventErr == nil }

// notify puts a value into a channel for one, unless it holds a value already.
func notify(wakeChan chan<- struct{}) {
	select {
	case wakeChan <- struct{}{}:
	default:
	}
}

// leaveWaitListLocked moves the position of a watcher that waited: no event of its key comes before the one that woke it, or
// before the first unpublished event.
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
	if !slices.ContainsFunc(s.groups, func(p waitGroup) bool { return len(p.watchers) > 0 }) {
		delete(w.cache.waitLists, w.wakeKey)
	}
}

func (c *Cache) wakeForLocked(e *event, position uint64) {
	if e.unreadable != nil { // it has no labels and fields
		for key := range c.waitLists {
			if key.contains(e.object()) {
				c.wakeKeyLocked(key, position)
			}
		}
		return
	}
	scopes := scopesOf(e.object())
	for _, in := range scopes {
		c.wakeKeyLocked(wakeKey{scope: in}, position)
	}
	for key, known := range c.indexes {
		for _, value := range known.valuesOf(e) {
			for _, in := range scopes {
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
	c.fanout.Wake() // watchers that read history check for an end
}

// wakeAllLocked wakes with position zero: each watcher looks for its position again.
func (c *Cache) wakeAllLocked() {
	for key, s := range c.waitLists {
		s.wake(0)
		delete(c.waitLists, key)
	}
	c.fanout.Wake() // watchers that read history check for an end
}

// ReadyList collects the woken watchers for the one goroutine that serves them, so that a watcher needs no goroutine of its own.
type ReadyList struct {
	notify func()

	mu    sync.Mutex   // guards the fields below
	woken [][]*Watcher // by wait group
	spare []*Watcher   // empty memory for a wait group
}

// NewReadyList makes one. notify is called, with locks held, when the list was empty before: it must not block, and not call back.
func NewReadyList(notify func()) *ReadyList { return &ReadyList{notify: notify} }

func (r *ReadyList) add(watchers []*Watcher) {
	if len(watchers) == 0 {
		return
	}
	r.mu.Lock()
	first := len(r.woken) == 0
	r.woken = append(r.woken, watchers)
	r.mu.Unlock()
	if first {
		r.notify()
	}
}

// Take returns the watchers that have woken since the last call: the caller polls each until it is Waiting. A closed watcher can
// be among them.
func (r *ReadyList) Take() [][]*Watcher {
	r.mu.Lock()
	defer r.mu.Unlock()
	woken := r.woken
	r.woken = nil
	return woken
}

// Reuse makes later wait groups use the memory of one that Take has returned, because a large one would be allocated, and grow, for each event.
// The caller does not use it any more.
func (r *ReadyList) Reuse(watchers []*Watcher) {
	clear(watchers)
	r.mu.Lock()
	defer r.mu.Unlock()
	if cap(watchers) > cap(r.spare) {
		r.spare = watchers[:0]
	}
}

// Shrink gives back the memory of Reuse.
func (r *ReadyList) Shrink() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.spare = nil
}

// grow moves the watchers of a wait group to the memory of Reuse, unless that is too small, or so large that the group would waste it.
func (r *ReadyList) grow(watchers []*Watcher) []*Watcher {
	const most = 8 // times the size of the group
	r.mu.Lock()
	defer r.mu.Unlock()
	if spare := cap(r.spare); spare <= len(watchers) || spare > most*len(watchers) {
		return watchers
	}
	watchers = append(r.spare, watchers...)
	r.spare = nil
	return watchers
}

// Attach makes the ReadyList get the watcher when it wakes, from its next Poll on; Next must not be called until Detach. The
// watcher must have CaughtUp.
func (w *Watcher) Attach(ready *ReadyList, owner any) {
	w.cache.mu.Lock()
	defer w.cache.mu.Unlock()
	w.leaveWaitListLocked()
	w.readyList, w.owner, w.wakeChan = ready, owner, nil
}

// Detach undoes Attach.
func (w *Watcher) Detach() {
	w.cache.mu.Lock()
	defer w.cache.mu.Unlock()
	w.leaveWaitListLocked()
	w.readyList, w.owner = nil, nil
}

// Owners returns the owners of Attach of watchers that Take has returned together. The owner of a watcher that is not attached is nil. dst is
// used as memory.
func Owners(dst []any, woken []*Watcher) []any {
	const together = 256 // because other goroutines wait for the lock
	dst = slices.Grow(dst[:0], len(woken))
	for some := range slices.Chunk(woken, together) {
		dst = appendOwners(dst, some[0].cache, some)
	}
	return dst
}

func appendOwners(dst []any, c *Cache, watchers []*Watcher) []any {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range watchers {
		dst = append(dst, w.owner)
	}
	return dst
}
