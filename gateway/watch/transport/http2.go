package transport

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"revtail/gateway/http/request"
	"revtail/gateway/netio/buffer"
	"revtail/gateway/netio/http2"
	"revtail/gateway/netio/socket"
)

// http2Transport writes to a stream of HTTP/2 that was taken from net/http after the head of the answer. The end is for net/http to
// write, when the handler returns.
type http2Transport struct {
	stream       *http2.Stream
	request      context.Context //nolint:containedctx // of the request: it ends when the client goes away
	writeTimeout time.Duration
	room         chan struct{} // holds one: there may be room, or aborted
	aborted      atomic.Bool
	pending      *buffer.Buffer // nil: nothing waits for flush
}

func newHTTP2Transport(ctx context.Context, stream *http2.Stream, limit time.Duration) *http2Transport {
	t := &http2Transport{stream: stream, request: ctx, writeTimeout: limit, room: make(chan struct{}, 1)}
	stream.OnRoom(t.wake)
	return t
}

func (t *http2Transport) wake() {
	select {
	case t.room <- struct{}{}:
	default:
	}
}

// Abort implements aborter.
func (t *http2Transport) Abort() {
	t.aborted.Store(true)
	t.wake()
}

// streamHolder is a ResponseWriter, or one below, that knows the HTTP/2 stream of its request.
type streamHolder interface {
	// HTTP2Stream returns the stream, and the context of the request as net/http made it. nil: the stream cannot be taken.
	HTTP2Stream() (*http2.Stream, context.Context)
}

// http2StreamOf is nil where net/http has to write the answer.
func http2StreamOf(w http.ResponseWriter, r *http.Request) (*http2.Stream, context.Context) {
	for !request.IsHead(r) {
		switch below := w.(type) {
		case streamHolder:
			return below.HTTP2Stream()
		case interface{ Unwrap() http.ResponseWriter }:
			w = below.Unwrap()
		default:
			return nil, nil
		}
	}
	return nil, nil
}

// takeHTTP2Stream sends the head of the answer and takes the stream.
func takeHTTP2Stream(ctx context.Context, stream *http2.Stream, w http.ResponseWriter, limit time.Duration) (*http2Transport, error) {
	w.WriteHeader(http.StatusOK)
	if err := http.NewResponseController(w).Flush(); err != nil {
		return nil, err
	}
	if err := stream.Take(); err != nil {
		return nil, StreamError(err)
	}
	return newHTTP2Transport(ctx, stream, limit), nil
}

func (t *http2Transport) frame(line []byte) error {
	if t.pending == nil {
		t.pending = buffer.Get()
	}
	t.pending.Bytes = append(t.pending.Bytes, line...)
	return nil
}

func (t *http2Transport) flush() error {
	if t.pending == nil {
		return nil
	}
	err := t.send(t.pending.Bytes)
	t.pending.Put()
	t.pending = nil
	return StreamError(err)
}

func (t *http2Transport) end() error { return t.flush() }

func (t *http2Transport) close() {}

// send waits until the client has taken the data.
func (t *http2Transport) send(data []byte) error {
	for timer := (*time.Timer)(nil); ; {
		n, err := t.stream.Send(data)
		t.stream.Conn().Flush()
		if data = data[n:]; err != nil || len(data) == 0 {
			return err
		}
		if timer == nil {
			timer = time.NewTimer(t.writeTimeout)
			defer timer.Stop()
		} else if n > 0 {
			timer.Reset(t.writeTimeout)
		}
		if err := t.waitForRoom(timer); err != nil {
			return err
		}
	}
}

// waitForRoom waits until there may be room.
func (t *http2Transport) waitForRoom(timer *time.Timer) error {
	for {
		select {
		case <-t.room:
			if t.aborted.Load() {
				return socket.ErrPeerGone
			}
			return nil
		case <-t.request.Done():
			return cmp.Or(t.stream.Ended(), socket.ErrPeerGone)
		case <-timer.C:
			if !t.stream.Conn().Draining() {
				return socket.ErrStalled
			}
			timer.Reset(t.writeTimeout) // the connection has a limit of its own
		}
	}
}

// detach implements detacher.
func (t *http2Transport) detach() Handle { return Handle{Stream: t.stream, Ctx: t.request} }

// ResumeHTTP2 goes on with a stream of HTTP/2 that was detached. ctx is the one of its request.
func (t *Opener) ResumeHTTP2(ctx context.Context, s *http2.Stream) *Stream {
	return &Stream{shared: t, transport: newHTTP2Transport(ctx, s, t.WriteTimeout)}
}

// StreamError says why nothing can be sent: when nobody has waited for long enough, it is the client that has gone.
func StreamError(err error) error {
	if err == nil || errors.Is(err, socket.ErrStalled) {
		return err
	}
	return socket.ErrPeerGone
}
