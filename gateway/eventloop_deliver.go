package gateway

import (
	"slices"
	"time"

	"revtail/gateway/watchcache"
)

// serve gives a client what it has to get next, up to the size of a batch. The others come first before it gets more.
func (w *eventLoop) serve(c *client) {
	if c.endsSoon() {
		w.tryEnd(c)
		return
	}
	if w.deliver(c) && !c.session.watcher.Asleep() {
		w.queue = append(w.queue, c)
	}
}

// deliver writes a batch; false: there is none, or the client does not take more now.
func (w *eventLoop) deliver(c *client) bool {
	if c.closed || c.ending || c.paused || len(c.unsent) > 0 {
		return false
	}
	defer w.recoverSession(c)
	if !c.conn.ready() {
		w.pause(c)
		return false
	}
	batch, same, err := w.reader.Poll(c.session.watcher)
	switch {
	case err != nil:
		w.finish(c, c.endOf(c.session.counters.recordError(err)))
	case !c.session.watcher.Follows():
		w.release(c)
	case len(batch.Changes) > 0:
		w.encode(c, batch, same)
		c.session.counters.countSent(batch, len(w.encoded))
		w.send(c, w.encoded)
		return !c.closed && len(c.unsent) == 0
	}
	return false
}

// encode makes the frames of a batch. Clients that get the same ones, one after the other, get those of the first.
func (w *eventLoop) encode(c *client, batch watchcache.Batch, same bool) {
	f, chunked := c.session.encoder, c.conn.chunked()
	shared := f.shared()
	if same && shared && w.encodedChunked == chunked && w.encodedBy == f {
		return
	}
	w.encodedBy, w.encodedChunked = nil, chunked
	if shared {
		w.encodedBy = f
	}
	if cap(w.encoded) > maxCollected {
		w.encoded, w.line = nil, nil // a large object had come by
	}
	w.encoded = w.encoded[:0]
	for i, change := range batch.Changes {
		if !chunked {
			w.encoded = f.event(w.encoded, change, lastOfRevision(batch, i))
			continue
		}
		w.line = f.event(w.line[:0], change, lastOfRevision(batch, i))
		w.encoded = appendChunk(w.encoded, w.line)
	}
}

// send writes what the connection takes, and keeps the rest.
func (w *eventLoop) send(c *client, data []byte) {
	sealed, err := c.conn.encrypt(w, data, c.ending)
	if err != nil {
		w.close(c, err)
		return
	}
	w.sendEncrypted(c, sealed)
}

func (w *eventLoop) sendEncrypted(c *client, data []byte) {
	if len(c.unsent) > 0 {
		c.unsent = append(c.unsent, data...)
		return
	}
	n, err := c.conn.write(w, data)
	switch {
	case err != nil:
		w.close(c, err)
	case n < len(data):
		c.unsent, c.stalledSince = slices.Clone(data[n:]), w.now
		c.session.counters.setBlockedSince(w.now)
		w.schedule.put(c)
	default:
		w.onSent(c)
	}
}

// onSent is called when the system has taken all that was written to a client.
func (w *eventLoop) onSent(c *client) {
	w.timer.recordDelivered(c.session.counters)
	if c.ending {
		w.close(c, nil)
	}
}

func (w *eventLoop) sendRest(c *client) {
	n, err := c.conn.write(w, c.unsent)
	if err != nil {
		w.close(c, err)
		return
	}
	if n == 0 {
		return
	}
	c.stalledSince = w.now
	if c.unsent = c.unsent[n:]; len(c.unsent) > 0 {
		w.schedule.put(c)
		return
	}
	c.unsent, c.stalledSince = nil, time.Time{}
	c.session.counters.setBlockedSince(time.Time{})
	if w.onSent(c); c.closed {
		return
	}
	w.schedule.put(c)
	w.serve(c)
}

// finish sends the last that a client gets.
func (w *eventLoop) finish(c *client, tail []byte) {
	c.ending = true
	w.send(c, tail)
	if !c.closed {
		w.schedule.put(c)
	}
}
