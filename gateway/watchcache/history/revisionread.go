package history

import (
	"context"
	"sync"
	"time"

	"revtail/etcdstore"
)

const (
	// readPeriod is the least time between two reads of the newest revision. A read costs etcd more than a progress request, and
	// bookmarks need no early answer.
	readPeriod = 200 * time.Millisecond
	// readTimeout bounds one read.
	readTimeout = time.Second
)

// RevisionReads shares reads of the store's newest revision: callers that come before a read begins get its result.
type RevisionReads struct {
	read    func(context.Context) (etcdstore.Revision, error)
	stopped error
	wake    chan struct{} // holds one

	mu     sync.Mutex    // guards the fields below
	next   *revisionRead // the read that has not begun; nil: no caller waits for it
	closed bool
}

// revisionRead is one read of the newest revision.
type revisionRead struct {
	done   chan struct{} // closed when the fields below are set
	newest etcdstore.Revision
	err    error
}

func (r *revisionRead) finish(newest etcdstore.Revision, err error) {
	r.newest, r.err = newest, err
	close(r.done)
}

// NewRevisionReads shares calls of read while Run runs; callers get the error stopped afterwards.
func NewRevisionReads(read func(context.Context) (etcdstore.Revision, error), stopped error) *RevisionReads {
	return &RevisionReads{read: read, stopped: stopped, wake: make(chan struct{}, 1)}
}

// Newest returns the newest revision by a read that begins after the call: a read that has begun may have missed a write that was
// acknowledged meanwhile.
func (s *RevisionReads) Newest(ctx context.Context) (etcdstore.Revision, error) {
	r := s.join()
	if r == nil {
		return 0, s.stopped
	}
	select {
	case <-r.done:
		return r.newest, r.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// join returns the next read; nil after Run has ended.
func (s *RevisionReads) join() *revisionRead {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	if s.next == nil {
		s.next = &revisionRead{done: make(chan struct{})}
		notify(s.wake)
	}
	return s.next
}

// take returns the next read, which begins now; nil: no caller waits.
func (s *RevisionReads) take() *revisionRead {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.next
	s.next = nil
	return r
}

// Run reads one revision after the other for the callers of Newest until ctx ends.
func (s *RevisionReads) Run(ctx context.Context) {
	s.setStopped(false)
	defer s.setStopped(true)
	for {
		select {
		case <-s.wake:
		case <-ctx.Done():
			return
		}
		r := s.take()
		if r == nil {
			continue // an earlier Run has finished it
		}
		bounded, cancel := context.WithTimeout(ctx, readTimeout)
		newest, err := s.read(bounded)
		cancel()
		if ctx.Err() != nil {
			err = s.stopped
		}
		r.finish(newest, err)
		Sleep(ctx, readPeriod)
	}
}

// setStopped finishes the read that has not begun, because no other call will.
func (s *RevisionReads) setStopped(stopped bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed = stopped; stopped && s.next != nil {
		s.next.finish(0, s.stopped)
		s.next = nil
	}
}
