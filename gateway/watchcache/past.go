package watchcache

import (
	"context"

	"revtail/etcdstore"
)

// past is the place of one watcher in etcd's history.
type past struct {
	archive *archive
	era     int // of the cache when the watch was opened
	own     bool
	scope   scope
	path    string             // of the scope
	after   etcdstore.Revision // the client has everything up to here, but for a part of this revision itself
	through etcdstore.Revision // delivered up to here
	taken   *part              // what was delivered last

	mail chan letter        // holds one
	sent etcdstore.Revision // up to here everything was delivered or is in mail
}

// letter is what a reader gets next, or why it gets nothing more.
type letter struct {
	part *part
	err  error
}

// read has a watcher read history after a revision. The caller closes what it returns.
func (a *archive) read(w *Watcher, after etcdstore.Revision) *past {
	p := &past{archive: a, era: w.era, own: w.query.Own, scope: w.topic.scope, path: a.pathOf(w.topic.scope), after: w.through, through: after, sent: after, mail: make(chan letter, 1)}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.readers[p] = struct{}{}
	a.call()
	return p
}

// nextPast delivers the next step of history, and turns back to the log once the two meet.
func (w *Watcher) nextPast(ctx context.Context) (Batch, error) {
	if w.query.Latest {
		err := w.gatherPast(ctx)
		return Batch{Through: w.known()}, err
	}
	events, err := w.readPast(ctx)
	changes := w.matching(nil, events)
	return Batch{Changes: changes, Through: w.through}, err
}

func (w *Watcher) readPast(ctx context.Context) ([]*event, error) {
	events, err := w.past.next(ctx)
	if err != nil {
		return nil, err
	}
	if w.past.through >= w.through { // else nothing is known yet of the revision that the client resumes at
		events, w.through = w.resumeIn(events), w.past.through
	}
	if w.past.meetsLog() {
		w.past.close()
		w.past, w.position = nil, 0
	}
	return events, nil
}

// meetsLog tells whether the log holds everything that follows.
func (p *past) meetsLog() bool {
	c := p.archive.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ready && p.through >= c.log.floor
}

// next waits for what comes next. What it returned before is given back.
func (p *past) next(ctx context.Context) ([]*event, error) {
	p.giveBack(p.taken)
	p.taken = nil
	if p.forgotten() {
		return nil, ErrStopped
	}
	var l letter
	select {
	case l = <-p.mail:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if l.err != nil {
		return nil, l.err
	}
	p.taken = l.part
	p.archive.call()
	if err := p.archive.cache.serves(p.era, p.after, p.own); err != nil {
		return nil, err
	}
	if err := p.expired(l.part); err != nil {
		return nil, err
	}
	events := laterThan(p.through, l.part.events)
	p.through = l.part.through
	return events, nil
}

// forgotten tells whether nothing will come any more.
func (p *past) forgotten() bool {
	a := p.archive
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.over && len(p.mail) == 0
}

// expired fails for a part with a change whose state before has been compacted away: it cannot be told to a client.
func (p *past) expired(next *part) error {
	for _, e := range next.lost {
		if e.Revision > p.after && p.scope.contains(newObject(p.archive.cache.path(e.Key), 0)) {
			return &ExpiredError{Requested: p.after, Oldest: e.Revision}
		}
	}
	return nil
}

// giveBack frees the memory of a part when nobody else has it.
func (p *past) giveBack(done *part) {
	if done == nil {
		return
	}
	a := p.archive
	a.mu.Lock()
	defer a.mu.Unlock()
	if done.holders--; done.holders == 0 {
		a.held -= done.memory
		a.call()
	}
}

func (p *past) close() {
	a := p.archive
	a.mu.Lock()
	delete(a.readers, p)
	a.mu.Unlock()
	p.giveBack(p.taken)
	select {
	case l := <-p.mail:
		p.giveBack(l.part)
	default:
	}
	a.call()
}
