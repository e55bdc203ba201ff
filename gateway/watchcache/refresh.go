package watchcache

import (
	"context"
	"time"

	"revtail/etcdstore"
)

const (
	// freshness is how long Refresh waits at most: for the pauses of readGap and askGap, and as long again and more for etcd's answers.
	freshness = time.Second
	// readGap is the least time between two reads of Refresh. A read costs etcd more than a question about the progress of a watch,
	// and bookmarks, of which one or another is always due, need not be early.
	readGap = 200 * time.Millisecond
)

// question is one read of the store's newest revision, for all who ask for it before it is begun.
type question struct {
	answered chan struct{} // closed when the fields below are set
	newest   etcdstore.Revision
	err      error
}

// answer tells those who ask; nil: nobody does.
func (q *question) answer(newest etcdstore.Revision, err error) {
	if q != nil {
		q.newest, q.err = newest, err
		close(q.answered)
	}
}

// Refresh waits until the cache holds every write that was acknowledged, by whichever replica, before the call. Up to through the
// cache is complete in any case; an error says that this may be less: ctx's, also after a second, *NotReadyError, ErrStopped, or one of
// the store. Any number of callers cost one read of the store in 200 ms, begun after they called, and a question about the progress of the
// watch where that is not as far.
func (c *Cache) Refresh(ctx context.Context) (through etcdstore.Revision, err error) {
	ctx, cancel := context.WithTimeout(ctx, freshness)
	defer cancel()
	newest, err := c.sharedNewest(ctx)
	if err == nil {
		err = c.WaitUntil(ctx, newest)
	}
	if err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.through, err
	}
	return newest, nil
}

// sharedNewest is Newest by a read that all share who come before it is begun.
func (c *Cache) sharedNewest(ctx context.Context) (etcdstore.Revision, error) {
	q, err := c.nextQuestion()
	if err != nil {
		return 0, err
	}
	select {
	case <-q.answered:
		return q.newest, q.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// nextQuestion joins those who ask the question that is put next. One that is on its way may have passed a write of a moment ago.
func (c *Cache) nextQuestion() (*question, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ready {
		return nil, c.unreadyLocked()
	}
	if c.question == nil {
		c.question = &question{answered: make(chan struct{})}
		Ring(c.asked)
	}
	return c.question, nil
}

// answerQuestions puts the questions to the store, one after the other and not more often than every readGap, until ctx ends.
func (c *Cache) answerQuestions(ctx context.Context) {
	for {
		select {
		case <-c.asked:
		case <-ctx.Done():
			return
		}
		c.mu.Lock()
		q := c.question
		c.question = nil
		c.mu.Unlock()
		bounded, cancel := context.WithTimeout(ctx, freshness)
		newest, err := c.Newest(bounded)
		cancel()
		if ctx.Err() != nil {
			err = ErrStopped
		}
		q.answer(newest, err)
		sleep(ctx, readGap)
	}
}
