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
	mu        sync.Mutex // guards the fields below, and those of the open streams
	announced bool
	draining  bool
	open      map[*openStream]struct{}
	ended     chan struct{} // closed when draining and none is open; nil: nobody waits
}

// openStream is an open watch, wherever it is served: on a goroutine, which its context ends, or by a writer.
type openStream struct {
	streams *streams
	cancel  context.CancelCauseFunc
	client  *client // nil: on a goroutine
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
func (s *streams) add(parent context.Context) (o *openStream, ctx context.Context, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining {
		return nil, nil, false
	}
	o = &openStream{streams: s}
	ctx, o.cancel = context.WithCancelCause(parent)
	if s.open == nil {
		s.open = make(map[*openStream]struct{})
	}
	s.open[o] = struct{}{}
	return o, ctx, true
}

// adopt says that a writer serves the stream from now on.
func (o *openStream) adopt(c *client) {
	o.streams.mu.Lock()
	defer o.streams.mu.Unlock()
	o.cancel(context.Canceled)
	o.client, o.cancel = c, nil
	if o.streams.draining {
		o.endLocked()
	}
}

// goOn says that the stream is on a goroutine again, and returns its context.
func (o *openStream) goOn(parent context.Context) context.Context {
	o.streams.mu.Lock()
	defer o.streams.mu.Unlock()
	ctx, cancel := context.WithCancelCause(parent)
	o.client, o.cancel = nil, cancel
	if o.streams.draining {
		o.endLocked()
	}
	return ctx
}

func (o *openStream) endLocked() {
	if o.client != nil {
		o.client.end()
		return
	}
	o.cancel(errDraining)
}

func (o *openStream) done() {
	s := o.streams
	s.mu.Lock()
	defer s.mu.Unlock()
	if o.cancel != nil {
		o.cancel(context.Canceled)
	}
	delete(s.open, o)
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
	for o := range s.open {
		o.endLocked()
	}
	s.mu.Unlock()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
