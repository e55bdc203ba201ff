package eventloop

import (
	"errors"
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
	if c.computing {
		c.woken = true
		return
	}
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
	if c.closed || c.ending || c.paused || c.computing || len(c.unsent) > 0 {
		return false
	}
	if !c.conn.ready() {
		l.pause(c)
		return false
	}
	batch, same, err := l.read(c)
	switch {
	case errors.Is(err, watchcache.ErrTooMuchWork):
		l.compute(c)
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

// read reads the next batch of a client, if the loop may do the work that it needs.
func (l *eventLoop) read(c *client) (batch watchcache.Batch, same bool, err error) {
	l.limit.Taken, l.limit.Encoded = 0, c.session.Passes > 0 && l.hasEncoded(c)
	batch, same, err = l.reader.Poll(c.session.Watcher)
	c.session.Account.Charge(l.limit.Taken)
	return batch, same, err
}

// hasEncoded reports whether l.encoded has the frames of the last batch for a client.
func (l *eventLoop) hasEncoded(c *client) bool {
	return c.session.Encoder.Shared() && l.encodedBy == c.session.Encoder && l.encodedChunked == c.conn.chunked()
}

// encode writes the frames of a batch to l.encoded. Consecutive clients with the same batch, encoder and chunking share the frames.
func (l *eventLoop) encode(c *client, batch watchcache.Batch, same bool) {
	if same && l.hasEncoded(c) {
		return
	}
	f, chunked := c.session.Encoder, c.conn.chunked()
	l.encodedBy, l.encodedChunked = nil, chunked
	if cap(l.encoded) > transport.MaxCollected {
		l.encoded, l.line = nil, nil // they have grown for a large object
	}
	l.encoded = l.encoded[:0]
	for i, change := range batch.Changes {
		l.encoded, l.line = appendFrame(l.encoded, l.line, c, change, watch.LastOfRevision(batch, i))
	}
	if f.Shared() {
		l.encodedBy = f // set last, because a panic of the encoder leaves incomplete frames
	}
}

// appendFrame appends the frame of a change to dst, with line as the memory of its line.
func appendFrame(dst, line []byte, c *client, change watchcache.Change, last bool) (frames, lineMemory []byte) {
	if !c.conn.chunked() {
		return c.session.Encoder.Event(dst, change, last), line
	}
	line = c.session.Encoder.Event(line[:0], change, last)
	return transport.AppendChunk(dst, line), line
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
