package eventloop

import (
	"time"

	"revtail/gateway/http/response"
	"revtail/gateway/http/status"
	"revtail/gateway/watch"
	"revtail/gateway/watchcache"
)

const (
	// maxClientWork is the work that a loop does at most for one batch of one client, on what clients choose: filters, selectors, Tables and
	// projections. It is an estimate, which may be wrong by a factor of four.
	maxClientWork = 500 * time.Microsecond
	// maxRoundWork is that work for all batches of one round.
	maxRoundWork = 2500 * time.Microsecond
)

// computed is a batch that a goroutine has read and encoded.
type computed struct {
	batch  watchcache.Batch
	frames []byte
	err    error // of the watch, for an ERROR frame
	broken bool  // a panic: the stream must break
}

// compute reads and encodes the next batch of a client on a goroutine, because it needs more work than the loop may do. The goroutine waits for
// turns of the client's account. The loop uses neither the watcher nor the encoder of the session until onComputed.
func (l *eventLoop) compute(c *client) {
	e := c.session.Watcher.Evaluation()
	if l.awaitEvaluation(c, e) {
		return
	}
	c.computing, c.woken = true, false
	l.computing++
	l.pool.background.Go(func() {
		result := l.computeBatch(c)
		l.post(func() {
			l.onComputed(c, result)
			l.queue = append(l.queue, l.evaluating[e]...)
			delete(l.evaluating, e)
		})
	})
}

// awaitEvaluation makes a client await another one of the loop that evaluates the same filter and makes the same encoding, because the loop
// can then share the results, and the frames. It returns false if there is none, or the client has awaited one for this batch.
func (l *eventLoop) awaitEvaluation(c *client, e watchcache.Evaluation) bool {
	if e == (watchcache.Evaluation{}) {
		return false
	}
	clients, evaluating := l.evaluating[e]
	if c.awaited = evaluating && !c.awaited; c.awaited {
		l.evaluating[e] = append(clients, c)
	} else if !evaluating {
		l.evaluating[e] = nil
	}
	return c.awaited
}

func (l *eventLoop) computeBatch(c *client) (result computed) {
	defer func() {
		if reason := recover(); reason != nil {
			response.LogPanic(l.pool.logger, reason, "path", c.session.Counters.Path)
			result = computed{broken: true}
		}
	}()
	var reader watchcache.Reader
	result.batch, _, result.err = reader.Poll(c.session.Watcher)
	if result.err != nil || len(result.batch.Changes) == 0 {
		return result
	}
	turn := c.session.Account.Turn()
	defer turn.End()
	var line []byte
	for i, change := range result.batch.Changes {
		if err := turn.Continue(); err != nil {
			return computed{err: err}
		}
		result.frames, line = appendFrame(result.frames, line, c, change, watch.LastOfRevision(result.batch, i))
	}
	return result
}

// onComputed sends a batch that was computed, or ends the watch. It does the latter too if that was due meanwhile.
func (l *eventLoop) onComputed(c *client, result computed) {
	defer l.recoverSession(c)
	c.computing = false
	l.computing--
	switch {
	case c.closed:
		c.session.Close(c.closedWith)
		return
	case result.broken:
		l.close(c, status.ErrInternal)
		return
	case c.ending:
		return
	case result.err != nil:
		l.finish(c, c.lastFrame(c.session.ErrorFrame(result.err)))
		return
	case !c.session.Watcher.CaughtUp():
		l.release(c)
		return
	case len(result.batch.Changes) > 0:
		c.session.Counters.CountSent(result.batch, len(result.frames))
		l.send(c, result.frames)
	}
	if !c.closed && len(c.unsent) == 0 && (c.woken || c.endsSoon() || !c.session.Watcher.Waiting()) {
		l.queue = append(l.queue, c)
	}
}

// background calls f on a goroutine, for some clients. A panic of f ends only their sessions.
func (l *eventLoop) background(clients []*client, f func()) {
	l.pool.background.Go(func() {
		defer func() {
			if reason := recover(); reason != nil {
				response.LogPanic(l.pool.logger, reason)
				for _, c := range clients {
					l.postFor(c, func() { l.close(c, status.ErrInternal) })
				}
			}
		}()
		f()
	})
}
