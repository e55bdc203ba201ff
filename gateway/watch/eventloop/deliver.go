package eventloop

import (
	"slices"
	"time"

	"revtail/gateway/watch"
	"revtail/gateway/watch/transport"
	"revtail/gateway/watchcache"
)

// serve delivers one batch to a client, or ends its watch. If there are more events, it appends the client to the queue, because the other
// clients come first.
func (l *eventLoop) serve(c *client) {
	defer l.recoverSession(c)
	if c.endsSoon() {
		l.tryEnd(c)
		return
	}
	if l.deliver(c) && !c.session.Watcher.Waiting() {
		l.queue = append(l.queue, c)
	}
}

// deliver sends one batch. It reports whether the client may accept another one; false also if there was no batch.
func (l *eventLoop) deliver(c *client) bool {
	if c.closed || c.ending || c.paused || len(c.unsent) > 0 {
		return false
	}
	if !c.conn.ready() {
		l.pause(c)
		return false
	}
	batch, same, err := l.reader.Poll(c.session.Watcher)
	switch {
	case err != nil:
		l.finish(c, c.lastFrame(c.session.ErrorFrame(err)))
	case !c.session.Watcher.CaughtUp():
		l.release(c)
	case len(batch.Changes) > 0:
		l.encode(c, batch, same)
		c.session.Counters.CountSent(batch, len(l.encoded))
		l.send(c, l.encoded)
		return !c.closed && len(c.unsent) == 0
	}
	return false
}

// encode writes the frames of a batch to l.encoded. Consecutive clients with the same batch, encoder and chunking share the frames.
func (l *eventLoop) encode(c *client, batch watchcache.Batch, same bool) {
	f, chunked := c.session.Encoder, c.conn.chunked()
	shared := f.Shared()
	if same && shared && l.encodedChunked == chunked && l.encodedBy == f {
		return
	}
	l.encodedBy, l.encodedChunked = nil, chunked
	if cap(l.encoded) > transport.MaxCollected {
		l.encoded, l.line = nil, nil // they have grown for a large object
	}
	l.encoded = l.encoded[:0]
	for i, change := range batch.Changes {
		if !chunked {
			l.encoded = f.Event(l.encoded, change, watch.LastOfRevision(batch, i))
			continue
		}
		l.line = f.Event(l.line[:0], change, watch.LastOfRevision(batch, i))
		l.encoded = transport.AppendChunk(l.encoded, l.line)
	}
	if shared {
		l.encodedBy = f // set last, because a panic of the encoder leaves incomplete frames
	}
}

// send writes as much of data as the connection accepts, and keeps the rest in c.unsent.
func (l *eventLoop) send(c *client, data []byte) {
	encrypted, err := c.conn.encrypt(l, data, c.ending)
	if err != nil {
		l.close(c, err)
		return
	}
	l.sendEncrypted(c, encrypted)
}

func (l *eventLoop) sendEncrypted(c *client, data []byte) {
	if len(c.unsent) > 0 {
		c.unsent = append(c.unsent, data...)
		return
	}
	n, err := c.conn.write(l, data)
	switch {
	case err != nil:
		l.close(c, err)
	case n < len(data):
		c.unsent, c.stalledSince = slices.Clone(data[n:]), l.now
		c.session.Counters.SetBlockedSince(l.now)
		l.schedule.put(c)
	default:
		l.onSent(c)
	}
}

// onSent is called when the kernel, or the HTTP/2 connection, has accepted all bytes for a client.
func (l *eventLoop) onSent(c *client) {
	if c.session.Counters.Timed() {
		c.session.Counters.RecordDelivered(&l.delays, time.Now())
	}
	if c.ending {
		l.close(c, nil)
	}
}

func (l *eventLoop) sendRest(c *client) {
	n, err := c.conn.write(l, c.unsent)
	if err != nil {
		l.close(c, err)
		return
	}
	if n == 0 {
		return
	}
	c.stalledSince = l.now
	if c.unsent = c.unsent[n:]; len(c.unsent) > 0 {
		l.schedule.put(c)
		return
	}
	c.unsent, c.stalledSince = nil, time.Time{}
	c.session.Counters.SetBlockedSince(time.Time{})
	if l.onSent(c); c.closed {
		return
	}
	l.schedule.put(c)
	l.serve(c)
}

// finish sends the last bytes to a client. The loop closes the client when they are accepted.
func (l *eventLoop) finish(c *client, tail []byte) {
	c.ending = true
	l.send(c, tail)
	if !c.closed {
		l.schedule.put(c)
	}
}
