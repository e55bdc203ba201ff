package gateway

import (
	"context"
	"errors"
	"sync"
)

// errDraining is the cause by which a stream ends when the server shuts down.
var errDraining = errors.New("the gateway is shutting down")

// streams are the open watches, for the time when they must end.
type streams struct {
	mu        sync.Mutex // guards the fields below
	announced bool
	draining  bool
	open      map[*context.CancelCauseFunc]struct{}
	ended     chan struct{} // closed when draining and none is open; nil: nobody waits
}

func (s *streams) announce() {
	s.mu.Lock()
	s.announced = true
	s.mu.Unlock()
}

// leaving tells whether the server is about to shut down.
func (s *streams) leaving() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.announced || s.draining
}

// add registers a stream: its context ends with errDraining as the cause when the server drains. The caller calls done when
// the stream has ended. False: the server drains already.
func (s *streams) add(parent context.Context) (ctx context.Context, done func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining {
		return nil, nil, false
	}
	ctx, cancel := context.WithCancelCause(parent)
	if s.open == nil {
		s.open = make(map[*context.CancelCauseFunc]struct{})
	}
	key := &cancel
	s.open[key] = struct{}{}
	return ctx, func() { s.remove(key) }, true
}

func (s *streams) remove(key *context.CancelCauseFunc) {
	(*key)(context.Canceled)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, key)
	if len(s.open) == 0 && s.ended != nil {
		close(s.ended)
		s.ended = nil
	}
}

func (s *streams) drain(ctx context.Context) error {
	s.mu.Lock()
	s.draining = true
	if len(s.open) == 0 {
		s.mu.Unlock()
		return nil
	}
	if s.ended == nil {
		s.ended = make(chan struct{})
	}
	ended := s.ended
	for cancel := range s.open {
		(*cancel)(errDraining)
	}
	s.mu.Unlock()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
