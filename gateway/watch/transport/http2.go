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

// http2Transport writes to an HTTP/2 stream that was hijacked from net/http after the response header. net/http ends the stream when the
// handler returns.
type http2Transport struct {
	stream       *http2.Stream
	request      context.Context //nolint:containedctx // of the request; it ends when the client disconnects
	writeTimeout time.Duration
	room         chan struct{} // capacity 1; signaled when there may be room, and by Abort
	aborted      atomic.Bool
	pending      *buffer.Buffer // nil: nothing to flush
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

// Abort implements Aborter.
func (t *http2Transport) Abort() {
	t.aborted.Store(true)
	t.wake()
}

// streamHolder is a ResponseWriter that has the HTTP/2 stream of its request. Other ResponseWriters may wrap it.
type streamHolder interface {
	// HTTP2Stream returns the stream, and the context of the request as net/http made it. nil: the stream cannot be hijacked.
	HTTP2Stream() (*http2.Stream, context.Context)
}

// http2StreamOf returns the HTTP/2 stream of a request and its context; nil: net/http must write the response.
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

// takeHTTP2Stream sends the response header and hijacks the stream.
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

// send blocks until all of data is sent. It fails with socket.ErrStalled when the stream has no room for writeTimeout, and with
// socket.ErrPeerGone after Abort.
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

// waitForRoom blocks until the stream may have room, the request ends, Abort is called or the timer fires.
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
			timer.Reset(t.writeTimeout) // the connection's own write timeout applies
		}
	}
}

// detach implements detacher.
func (t *http2Transport) detach() Handle { return Handle{Stream: t.stream, Ctx: t.request} }

// ResumeHTTP2 returns a Stream that writes to an HTTP/2 stream that was detached. The header is sent already. ctx is the context of the
// request on s, as in Handle.Ctx.
func (t *Opener) ResumeHTTP2(ctx context.Context, s *http2.Stream) *Stream {
	return &Stream{shared: t, transport: newHTTP2Transport(ctx, s, t.WriteTimeout)}
}

// StreamError maps an error of an HTTP/2 stream to one of package socket: nil and socket.ErrStalled are returned as they are, every other
// error becomes socket.ErrPeerGone, because without a timeout only the client can have ended the stream.
func StreamError(err error) error {
	if err == nil || errors.Is(err, socket.ErrStalled) {
		return err
	}
	return socket.ErrPeerGone
}
