package transport

import (
	"net/http"
	"time"

	"revtail/gateway/netio/buffer"
	"revtail/gateway/netio/socket"
)

// responsePiece is how many bytes of a batch are written under one time limit.
const responsePiece = 16<<10 - 9

// responseWriterTransport writes through net/http. Over HTTP/1.1 it flushes after each frame, because net/http makes one chunk of the bytes
// between two flushes.
type responseWriterTransport struct {
	writer  http.ResponseWriter
	control *http.ResponseController
	limit   *socket.WriteLimit
	chunked bool           // HTTP/1.1: the bytes between two flushes are one chunk
	pending *buffer.Buffer // nil: nothing to flush
}

func newResponseWriterTransport(w http.ResponseWriter, r *http.Request, limit time.Duration) *responseWriterTransport {
	control := http.NewResponseController(w)
	return &responseWriterTransport{
		writer: w, control: control, limit: socket.NewWriteLimit(control, limit, r.ProtoMajor),
		chunked: r.ProtoMajor == 1 && r.ProtoMinor == 1,
	}
}

// open sends the response header.
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

// end flushes. net/http writes the last chunk when the handler returns.
func (t *responseWriterTransport) end() error {
	if err := t.flush(); err != nil {
		return err
	}
	return t.limit.Extend()
}

func (t *responseWriterTransport) close() { t.limit.Close() }

// send writes data and flushes. Chunked data needs a single write; other data is written in pieces, each with its own time limit. net/http
// may buffer the last piece until the flush.
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
	if err := t.limit.Begin(); err != nil {
		return err
	}
	return t.limit.End(t.writePiece(piece, last))
}

func (t *responseWriterTransport) writePiece(piece []byte, last bool) error {
	if len(piece) > 0 {
		if _, err := t.writer.Write(piece); err != nil {
			return err
		}
	}
	if !last {
		return nil
	}
	return t.control.Flush() // returns the write error of the connection
}
