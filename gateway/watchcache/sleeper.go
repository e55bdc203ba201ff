package watchcache

// sleeper is where the watchers of one topic wait for its next event.
type sleeper struct {
	from   uint64 // the first position that may be news to one of them
	at     uint64 // when there is one: its position
	done   bool   // there is one
	parked []parking
}

// parking are the watchers of one Ready or, without, those that have goroutines of their own.
type parking struct {
	ready    *Ready
	watchers []*Watcher
}

// rouse wakes whoever waits, and returns how many: O(1) for each Ready, whatever the number of its watchers, and a ring for each
// that has a goroutine.
func (s *sleeper) rouse(position uint64) (woken int) {
	s.at, s.done = position, true
	for _, p := range s.parked {
		woken += len(p.watchers)
		if p.ready != nil {
			p.ready.add(p.watchers)
			continue
		}
		for _, w := range p.watchers {
			Ring(w.bell)
		}
	}
	s.parked = nil
	return woken
}

func (s *sleeper) park(w *Watcher) {
	p := s.parkingOf(w.ready)
	if p == nil {
		s.parked = append(s.parked, parking{ready: w.ready})
		p = &s.parked[len(s.parked)-1]
	}
	w.seat = len(p.watchers)
	p.watchers = append(p.watchers, w)
}

func (s *sleeper) unpark(w *Watcher) {
	p := s.parkingOf(w.ready)
	last := len(p.watchers) - 1
	moved := p.watchers[last]
	p.watchers[w.seat], moved.seat = moved, w.seat
	p.watchers[last] = nil
	p.watchers = p.watchers[:last]
}

// parkingOf is a search among as many as there are Readys: one for each processor.
func (s *sleeper) parkingOf(ready *Ready) *parking {
	for i := range s.parked {
		if s.parked[i].ready == ready {
			return &s.parked[i]
		}
	}
	return nil
}

func (s *sleeper) empty() bool {
	for _, p := range s.parked {
		if len(p.watchers) > 0 {
			return false
		}
	}
	return true
}

// sleepLocked lets the watcher wait for the next event of its topic: the channel then has something, unless it is attached.
func (w *Watcher) sleepLocked() <-chan struct{} {
	s := w.cache.sleepers[w.topic]
	if s == nil {
		s = &sleeper{from: w.position}
		w.cache.sleepers[w.topic] = s
	}
	s.from = min(s.from, w.position)
	w.sleeper = s
	s.park(w)
	w.cache.asleepLocked()
	if w.ready != nil {
		return nil
	}
	return w.Bell()
}

// restLocked lets an attached watcher sleep as soon as it has read what watchers were told of: what came since is news, and waits.
func (w *Watcher) restLocked() {
	if w.ready != nil && w.position >= w.cache.news.from && !w.query.Latest {
		w.sleepLocked()
	}
}

// Asleep tells whether the watcher sleeps since the last Poll, whatever that has given out: it is in its Ready when there is more.
func (w *Watcher) Asleep() bool { return w.sleeper != nil && w.broken == nil }

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
func (w *Watcher) wakeUpLocked() {
	s := w.sleeper
	if s == nil {
		return
	}
	w.sleeper = nil
	if s.done {
		w.position = max(w.position, s.at)
		if s.at == 0 {
			w.position = 0
		}
		return
	}
	w.position = max(w.position, w.cache.news.from)
	s.unpark(w)
	if s.empty() {
		delete(w.cache.sleepers, w.topic)
	}
}

func (c *Cache) wakeLocked(e *event, position uint64) {
	scopes := scopesOf(e.object())
	for _, in := range scopes {
		c.rouseLocked(topic{scope: in}, position)
	}
	for key, values := range c.indexes.valuesOf(e) {
		for _, in := range scopes {
			for _, value := range values {
				c.rouseLocked(topic{in, key, value}, position)
			}
		}
	}
}

func (c *Cache) rouseLocked(about topic, position uint64) {
	if s := c.sleepers[about]; s != nil && s.from <= position {
		c.news.woken += s.rouse(position)
		delete(c.sleepers, about)
	}
	c.fanout.Wake() // those that read history too
}

// wakeAllLocked wakes with position zero: each looks for its position itself.
func (c *Cache) wakeAllLocked() {
	for about, s := range c.sleepers {
		s.rouse(0)
		delete(c.sleepers, about)
	}
	c.fanout.Wake() // those that read history too
}
