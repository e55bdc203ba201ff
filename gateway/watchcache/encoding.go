package watchcache

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// Encoding encodes objects for watchers in another form than the JSON of the cache. It is of a comparable type, because watchers with equal
// Encodings share the forms. Its methods may be called by any goroutine.
type Encoding interface {
	// Encode returns an object in another form, which nothing modifies afterwards. An error ends the watch.
	Encode(o *Object) ([]byte, error)
	// EncodeStored is Encode for an object of the state, which lists and other watches show too.
	EncodeStored(o *Object) ([]byte, error)
	// Passes returns how often Encode reads the document, as WatchQuery.Passes does.
	Passes() int
	// Common reports whether all clients together use few such Encodings. Events keep the forms then, which are made once for all
	// watchers, and before the event wakes watchers that get all events, because the first of these watchers would delay the others.
	Common() bool
}

// encode returns an object of an event in another form.
func (e *event) encode(by Encoding, o *Object) ([]byte, error) {
	if by.Common() {
		return e.encodings.of(by, o)
	}
	return by.Encode(o)
}

// encodings are the common forms of the objects of one event, made when the first watcher needs one. The zero value is empty.
type encodings struct{ newest atomic.Pointer[encodedObject] }

var errEncoderPanic = errors.New("the encoding of an object has failed")

type encodedObject struct {
	by     Encoding
	object *Object
	next   *encodedObject

	once sync.Once
	done atomic.Bool
	form []byte
	err  error
}

// of returns an object of the event in another form. Concurrent callers wait for the one that encodes it.
func (e *encodings) of(by Encoding, o *Object) ([]byte, error) {
	found := e.find(by, o)
	for added := (*encodedObject)(nil); found == nil; found = e.find(by, o) {
		if added == nil {
			added = &encodedObject{by: by, object: o}
		}
		added.next = e.newest.Load()
		if e.newest.CompareAndSwap(added.next, added) {
			found = added
			break
		}
	}
	found.once.Do(func() {
		found.err = errEncoderPanic // for the other watchers, if Encode does not return
		found.form, found.err = by.Encode(o)
		found.done.Store(true)
	})
	return found.form, found.err
}

func (e *encodings) find(by Encoding, o *Object) *encodedObject {
	for one := e.newest.Load(); one != nil; one = one.next {
		if one.object == o && one.by == by {
			return one
		}
	}
	return nil
}

// getsAll reports whether a watcher gets every event, or every one of its namespace, in a common Encoding.
func (q *WatchQuery) getsAll() bool {
	return q.Encoding != nil && q.Name == "" && !q.selects() && q.Encoding.Common()
}

// commonEncodings counts the watchers that get every event of a namespace, or of all namespaces (""), by their Encoding.
type commonEncodings map[Encoding]map[string]int

func (c *commonEncodings) add(q *WatchQuery) {
	if !q.getsAll() {
		return
	}
	if *c == nil {
		*c = make(commonEncodings)
	}
	if (*c)[q.Encoding] == nil {
		(*c)[q.Encoding] = make(map[string]int)
	}
	(*c)[q.Encoding][q.Namespace]++
}

func (c commonEncodings) remove(q *WatchQuery) {
	if !q.getsAll() {
		return
	}
	watchers := c[q.Encoding]
	if watchers[q.Namespace]--; watchers[q.Namespace] == 0 {
		delete(watchers, q.Namespace)
	}
	if len(watchers) == 0 {
		delete(c, q.Encoding)
	}
}

// encodeEvents encodes events for the watchers that get all of them.
func (c *Cache) encodeEvents(events []*event) {
	type encode struct {
		by    Encoding
		event *event
	}
	var due []encode
	c.mu.Lock()
	for by, watchers := range c.encodings {
		for _, e := range events {
			if watchers[""] > 0 || watchers[e.object().Namespace()] > 0 {
				due = append(due, encode{by, e})
			}
		}
	}
	c.mu.Unlock()
	for _, d := range due {
		c.encodeEvent(d.by, d.event)
	}
}

// encodeEvent encodes the object of an event. Watchers get the error of an object that cannot be encoded, and so do they after a panic.
func (c *Cache) encodeEvent(by Encoding, e *event) {
	defer func() {
		if reason := recover(); reason != nil {
			c.config.Logger.Error("panic while encoding an object", "path", e.object().path, "panic", reason)
		}
	}()
	change, ok := e.transition(e.current != nil, e.previous != nil)
	if ok {
		_, _ = e.encodings.of(by, change.Object)
	}
}

// encodingWork estimates the work of encoding the event; zero: it is encoded.
func (e *event) encodingWork(by Encoding) time.Duration {
	for one := e.encodings.newest.Load(); one != nil; one = one.next {
		if one.by == by && one.done.Load() {
			return 0
		}
	}
	return time.Duration(by.Passes()*len(e.object().JSON)) * scanTime
}
