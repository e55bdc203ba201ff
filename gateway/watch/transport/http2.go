package transport

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"revtail/gateway/netio/buffer"
	"revtail/gateway/netio/http2"
	"revtail/gateway/netio/socket"
)

// http2Transport writes to an HTTP/2 stream that was hijacked from net/http after the response header.
type http2Transport struct {
	stream       *http2.Stream
	gone         context.CancelCauseFunc // cancels the stream's context
	writeTimeout time.Duration
	room         chan struct{} // capacity 1; signaled when there may be room, and by Abort
	aborted      atomic.Bool
	pending      *buffer.Buffer // nil: nothing to flush
}

// hijackHTTP2 sends the response header and hijacks the stream. The returned context also ends when the client ends the stream, and after
// Abort.
func hijackHTTP2(ctx context.Context, stream *http2.Stream, w http.ResponseWriter, limit time.Duration) (*http2Transport, context.Context, error) {
	w.WriteHeader(http.StatusOK)
	if err := http.NewResponseController(w).Flush(); err != nil {
		return nil, ctx, err
	}
	if err := stream.Take(); err != nil {
		return nil, ctx, StreamError(err)
	}
	t, ctx := newHTTP2Transport(ctx, stream, limit)
	return t, ctx, nil
}

// newHTTP2Transport returns a transport that writes to a hijacked stream. The returned context also ends when the client ends the stream, and
// after Abort.
func newHTTP2Transport(ctx context.Context, stream *http2.Stream, limit time.Duration) (*http2Transport, context.Context) {
	ctx, gone := context.WithCancelCause(ctx)
	t := &http2Transport{stream: stream, gone: gone, writeTimeout: limit, room: make(chan struct{}, 1)}
	stream.SetOwner(t)
	return t, ctx
}

// OnRoom implements http2.Owner.
func (t *http2Transport) OnRoom() {
	select {
	case t.room <- struct{}{}:
	default:
	}
}

// OnEnd implements http2.Owner.
func (t *http2Transport) OnEnd() { t.Abort() }

// Abort implements Aborter.
func (t *http2Transport) Abort() {
	t.aborted.Store(true)
	t.gone(socket.ErrPeerGone)
	t.OnRoom()
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

func (t *http2Transport) end() error {
	err := t.flush()
	if err == nil {
		t.stream.End()
	}
	return err
}

// close breaks the stream unless end has ended it.
func (t *http2Transport) close() {
	t.stream.Reset()
	t.gone(context.Canceled)
}

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

// waitForRoom blocks until the stream may have room or has ended, Abort is called or the timer fires.
func (t *http2Transport) waitForRoom(timer *time.Timer) error {
	for {
		select {
		case <-t.room:
			if t.aborted.Load() {
				return cmp.Or(t.stream.Ended(), socket.ErrPeerGone)
			}
			return nil
		case <-timer.C:
			if !t.stream.Conn().Draining() {
				return socket.ErrStalled
			}
			timer.Reset(t.writeTimeout) // the connection's own write timeout applies
		}
	}
}

// detach implements detacher.
func (t *http2Transport) detach() Handle { return Handle{Stream: t.stream} }

// StreamError maps an error of an HTTP/2 stream to one of package socket: nil and socket.ErrStalled are returned as they are, every other
// error becomes socket.ErrPeerGone, because without a timeout only the client can have ended the stream.
func StreamError(err error) error {
	if err == nil || errors.Is(err, socket.ErrStalled) {
		return err
	}
	return socket.ErrPeerGone
}
