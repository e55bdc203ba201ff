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
	wake    chan struct{} // holds one: the next read has a caller

	mu   sync.Mutex    // guards the field below
	next *revisionRead // the read that has not begun
}

// revisionRead is one read of the newest revision.
type revisionRead struct {
	wanted bool          // a caller waits; the lock of RevisionReads guards it
	done   chan struct{} // closed when the fields below are set
	newest etcdstore.Revision
	err    error
}

func newRevisionRead() *revisionRead { return &revisionRead{done: make(chan struct{})} }

func (r *revisionRead) finish(newest etcdstore.Revision, err error) {
	r.newest, r.err = newest, err
	close(r.done)
}

// NewRevisionReads shares calls of read while Run runs; callers get the error stopped afterwards.
func NewRevisionReads(read func(context.Context) (etcdstore.Revision, error), stopped error) *RevisionReads {
	return &RevisionReads{read: read, stopped: stopped, wake: make(chan struct{}, 1), next: newRevisionRead()}
}

// Newest returns the newest revision by a read that begins after the call: a read that has begun may have missed a write that was
// acknowledged meanwhile.
func (s *RevisionReads) Newest(ctx context.Context) (etcdstore.Revision, error) {
	s.mu.Lock()
	r := s.next
	if !r.wanted {
		r.wanted = true
		s.wake <- struct{}{} // never blocks: once for each read
	}
	s.mu.Unlock()
	select {
	case <-r.done:
		return r.newest, r.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// begin returns the next read, which begins now: later callers wait for another one.
func (s *RevisionReads) begin() *revisionRead {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.next
	s.next = newRevisionRead()
	return r
}

// Run reads one revision after the other for the callers of Newest until ctx ends. It is called once.
func (s *RevisionReads) Run(ctx context.Context) {
	for {
		select {
		case <-s.wake:
		case <-ctx.Done():
			s.mu.Lock()
			defer s.mu.Unlock()
			s.next.finish(0, s.stopped) // also for all later callers
			return
		}
		r := s.begin()
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
