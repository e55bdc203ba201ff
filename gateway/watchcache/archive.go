package watchcache

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"revtail/etcdstore"
)

const (
	// abreast is for how long the readers of history wait for those among them that are slow, from the last one on that went
	// on; abreastMost bounds it. Who takes longer is left behind, and taken along the next time.
	abreast     = time.Second
	abreastMost = 10 * time.Second
	// maxHeld bounds the history that readers have not written yet, in bytes, but for the last part that was read.
	maxHeld = 64 << 20
)

// archive reads etcd's own history for the watchers that stand before the log. It reads once for all of them: with one watch
// in etcd, from where the last one stands; the others join where it passes them. Each has room for one part that it has not
// asked for yet, so that the fast ones need not wait for the slow ones, and etcd is read no faster than they write.
type archive struct {
	cache  *Cache
	called chan struct{} // holds one: a reader came, has taken its mail, or has written what it took; or the cache has news for all
	pause  time.Duration // before the next attempt to reach etcd

	mu      sync.Mutex // guards the fields below, and of each reader sent, of each part holders
	readers map[*past]struct{}
	over    bool // nobody reads for them any more
	held    int  // bytes of the parts that are in mail or being written
}

// part is a piece of history: what happened in a scope after one revision, up to another.
type part struct {
	events  []*event
	lost    []etcdstore.Event // those whose state before has been compacted away
	through etcdstore.Revision
	memory  int
	holders int
}

func newArchive(c *Cache) *archive {
	return &archive{cache: c, called: make(chan struct{}, 1), pause: firstPause, readers: make(map[*past]struct{})}
}

// call wakes run.
func (a *archive) call() {
	select {
	case a.called <- struct{}{}:
	default:
	}
}

// run reads for whoever waits, until ctx ends.
func (a *archive) run(ctx context.Context) {
	a.begin(false)
	defer a.end(func(*past) error { return ErrStopped })
	defer a.begin(true)
	for ctx.Err() == nil {
		path, at, somebody := a.last()
		if !somebody {
			a.await(ctx, nil)
			continue
		}
		err := a.pass(ctx, path, at)
		if err == nil {
			a.pause = firstPause
			continue
		}
		a.refuse(at, err)
		for errors.Is(err, etcdstore.ErrUnavailable) && ctx.Err() == nil {
			sleep(ctx, a.pause)
			a.pause = min(2*a.pause, maxPause)
			a.dismiss()
			if _, again := a.cache.Newest(ctx); again == nil {
				break // and etcd has not gone back: a watch would not tell
			}
		}
	}
}

func (a *archive) begin(over bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = over
}

// await waits for a call, or for a timer if there is one.
func (a *archive) await(ctx context.Context, timer *time.Timer) (called bool) {
	var rings <-chan time.Time
	if timer != nil {
		rings = timer.C
	}
	select {
	case <-a.called:
		a.dismiss()
		return true
	case <-rings:
	case <-ctx.Done():
	}
	return false
}

// last tells where the reader stands that has come least far, of those that have room, and what all their paths begin with.
func (a *archive) last() (path string, at etcdstore.Revision, somebody bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for p := range a.readers {
		switch {
		case len(p.mail) > 0:
		case !somebody:
			path, at, somebody = p.path, p.sent, true
		default:
			path, at = common(path, p.path), min(at, p.sent)
		}
	}
	return path, at, somebody
}

// pathOf is what the keys of a scope begin with, below the prefix.
func (a *archive) pathOf(s scope) string {
	if a.cache.config.Path != nil {
		return "" // keys have another order
	}
	return s.path()
}

// common is what two strings begin with.
func common(a, b string) string {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return a[:n]
}

// pass reads what happened below a path, from a revision on, until nobody follows: nil then.
func (a *archive) pass(ctx context.Context, path string, at etcdstore.Revision) error {
	ctx, cancel := context.WithCancel(ctx)
	watcher := a.cache.config.Store.Watch(ctx, a.cache.config.Prefix+path, etcdstore.WatchOptions{After: at, Previous: true})
	defer func() {
		cancel()
		_ = watcher.Close() // what it has to say, Next said
	}()
	for heard := time.Now(); ; {
		followers, free, others := a.crowd(path, at)
		if followers == 0 {
			return nil
		}
		if a.full() {
			a.await(ctx, nil)
			continue
		}
		batch, err := next(ctx, watcher, askGap)
		a.dismiss() // what was received may be of either history
		switch {
		case errors.Is(err, errSilent) && others > 0 && (free == 0 || time.Since(heard) > askEvery):
			return nil // this is the end of history, or near it, and somebody waits for its beginning
		case errors.Is(err, errSilent):
			// Not caught up, or nothing happened: ask which. A failure shows in the watch itself.
			_ = watcher.RequestProgress(ctx)
		case err != nil:
			return err
		default:
			a.pause = firstPause
			a.hand(ctx, path, at, a.part(batch))
			at, heard = batch.Through, time.Now()
		}
	}
}

// part makes what the log would hold.
func (a *archive) part(batch etcdstore.Batch) *part {
	p := &part{events: make([]*event, 0, len(batch.Events)), through: batch.Through}
	for _, e := range batch.Events {
		if e.PrevLost() {
			p.lost = append(p.lost, e)
		}
		if shown := a.cache.pastEvent(e); shown != nil {
			p.events = append(p.events, shown)
			p.memory += shown.memory
		}
	}
	return p
}

// crowd counts who reads on from a revision, or later, below a path; those of them who have room; and others who have.
func (a *archive) crowd(path string, at etcdstore.Revision) (followers, free, others int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for p := range a.readers {
		follows, room := p.sent >= at && strings.HasPrefix(p.path, path), len(p.mail) == 0
		switch {
		case follows && room:
			followers, free = followers+1, free+1
		case follows:
			followers++
		case room:
			others++
		}
	}
	return followers, free, others
}

// hand gives a part, of what happened below a path after a revision, to all who stand there, or within it. It returns when all
// have it, or when those that have not, have had their time and somebody else waits.
func (a *archive) hand(ctx context.Context, path string, after etcdstore.Revision, next *part) {
	most, patient := time.Now().Add(abreastMost), time.NewTimer(abreast)
	defer patient.Stop()
	for given := 0; ; {
		now, busy, others := a.give(path, after, next)
		if given += now; busy == 0 || ctx.Err() != nil {
			return
		}
		if now > 0 && time.Now().Before(most) {
			patient.Reset(abreast)
		}
		if a.await(ctx, patient) {
			continue
		}
		if given+others > 0 {
			return
		}
		patient.Reset(abreast) // nobody else waits for these readers
	}
}

// give puts a part into the mail of those who stand where it begins and have room. busy are those who have none, others those
// who wait for another part.
func (a *archive) give(path string, after etcdstore.Revision, next *part) (given, busy, others int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for p := range a.readers {
		room := len(p.mail) == 0
		switch {
		case p.sent < after || !strings.HasPrefix(p.path, path):
			if room {
				others++
			}
		case p.sent > next.through, p.sent == next.through && (!room || len(next.events) > 0):
			// has it, or comes later; but who waits where nothing happens looks whether the log has come there meanwhile
		case room:
			p.mail <- letter{part: next}
			p.sent = next.through
			given++
			if next.holders++; next.holders == 1 {
				a.held += next.memory
			}
		default:
			busy++
		}
	}
	return given, busy, others
}

// size is how many readers there are.
func (a *archive) size() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.readers)
}

func (a *archive) full() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.held >= maxHeld
}

// dismiss ends the readers that have no history to read any more.
func (a *archive) dismiss() {
	a.end(func(p *past) error { return a.cache.serves(p.era, p.after, p.own) })
}

// refuse tells why the history after a revision cannot be read, to those who need it.
func (a *archive) refuse(after etcdstore.Revision, err error) {
	var compacted *etcdstore.CompactedError
	a.end(func(p *past) error {
		switch {
		case errors.As(err, &compacted):
			if p.sent <= after || p.sent+1 < compacted.Compacted {
				return &ExpiredError{Requested: p.after, Oldest: compacted.Compacted}
			}
		case !errors.Is(err, etcdstore.ErrUnavailable) && !errors.Is(err, context.Canceled):
			return err
		}
		return nil
	})
}

// end sends an error to those for whom there is one, as soon as they have room for it.
func (a *archive) end(why func(*past) error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for p := range a.readers {
		if len(p.mail) > 0 {
			continue
		}
		if err := why(p); err != nil {
			p.mail <- letter{err: err}
			delete(a.readers, p)
		}
	}
}

// pastEvent makes an event of one that etcd tells of the past; nil: it shows nothing.
func (c *Cache) pastEvent(e etcdstore.Event) *event {
	var current, previous *Object
	if e.Prev != nil {
		previous = c.Decode(*e.Prev)
	}
	if e.KV != nil {
		current = c.Decode(*e.KV)
	}
	return newEvent(e.Revision, current, previous)
}
