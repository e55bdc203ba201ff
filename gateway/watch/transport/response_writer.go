package transport

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"revtail/gateway/netio/buffer"
	"revtail/gateway/netio/socket"
)

// responsePiece is how much of a batch is written with one time limit.
const responsePiece = 16<<10 - 9

// responseWriterTransport writes through net/http. To keep a frame a chunk of HTTP/1.1, it has to flush after each.
type responseWriterTransport struct {
	writer       http.ResponseWriter
	control      *http.ResponseController
	writeTimeout time.Duration
	watchdog     *socket.Watchdog // of HTTP/2, where a deadline is a message to the connection and a timer; nil: deadlines
	chunked      bool             // what is between two flushes is one chunk
	pending      *buffer.Buffer   // nil: nothing waits for flush
}

func newResponseWriterTransport(w http.ResponseWriter, r *http.Request, limit time.Duration) *responseWriterTransport {
	t := &responseWriterTransport{
		writer: w, control: http.NewResponseController(w), writeTimeout: limit,
		chunked: r.ProtoMajor == 1 && r.ProtoMinor == 1,
	}
	if r.ProtoMajor == 2 {
		t.watchdog = socket.NewWatchdog(limit, func() { _ = t.control.SetWriteDeadline(time.Unix(1, 0)) }) // resets the stream
	}
	return t
}

// open sends the head.
func (t *responseWriterTransport) open() error {
	t.writer.WriteHeader(http.StatusOK)
	return t.send(nil)
}

func (t *responseWriterTransport) frame(line []byte) error {
	if t.chunked {
		return t.send(line)
	}
	if t.pending == nil {
		t.pending = buffer.Get()
	}
	t.pending.Bytes = append(t.pending.Bytes, line...)
	return nil
}

func (t *responseWriterTransport) flush() error {
	if t.pending == nil {
		return nil
	}
	err := t.send(t.pending.Bytes)
	t.pending.Put()
	t.pending = nil
	return err
}

// end leaves it to net/http to write the last chunk, when the handler returns.
func (t *responseWriterTransport) end() error {
	if err := t.flush(); err != nil || t.watchdog != nil {
		return err
	}
	return t.control.SetWriteDeadline(time.Now().Add(t.writeTimeout)) // that of the write before may have passed
}

func (t *responseWriterTransport) close() {
	if t.watchdog != nil {
		t.watchdog.Close()
	}
}

// send writes data, in one write where that makes a chunk, otherwise in pieces that each have the time limit. Only the last may be
// so small that it waits for a flush.
func (t *responseWriterTransport) send(data []byte) error {
	for !t.chunked && len(data) > responsePiece {
		if err := t.sendPiece(data[:responsePiece], false); err != nil {
			return err
		}
		data = data[responsePiece:]
	}
	return t.sendPiece(data, true)
}

func (t *responseWriterTransport) sendPiece(piece []byte, last bool) error {
	err := t.writePiece(piece, last)
	if err != nil && (errors.Is(err, os.ErrDeadlineExceeded) || t.watchdog != nil && t.watchdog.Fired()) {
		return fmt.Errorf("%w: %w", socket.ErrStalled, err)
	}
	return err
}

func (t *responseWriterTransport) writePiece(piece []byte, last bool) error {
	if t.watchdog != nil {
		t.watchdog.Begin()
		defer t.watchdog.End()
	} else if err := t.control.SetWriteDeadline(time.Now().Add(t.writeTimeout)); err != nil {
		return err
	}
	if len(piece) > 0 {
		if _, err := t.writer.Write(piece); err != nil {
			return err
		}
	}
	if !last {
		return nil
	}
	return t.control.Flush() // the one that reports what the connection says
}
