package transport

import (
	"net/http"
	"time"

	"revtail/gateway/netio/buffer"
	"revtail/gateway/netio/socket"
)

// responsePiece is how much of a batch is written with one time limit.
const responsePiece = 16<<10 - 9

// responseWriterTransport writes through net/http. To keep a frame a chunk of HTTP/1.1, it has to flush after each.
type responseWriterTransport struct {
	writer  http.ResponseWriter
	control *http.ResponseController
	limit   *socket.WriteLimit
	chunked bool           // what is written between two flushes is one chunk
	pending *buffer.Buffer // nil: nothing waits for flush
}

func newResponseWriterTransport(w http.ResponseWriter, r *http.Request, limit time.Duration) *responseWriterTransport {
	control := http.NewResponseController(w)
	return &responseWriterTransport{
		writer: w, control: control, limit: socket.NewWriteLimit(control, limit, r.ProtoMajor),
		chunked: r.ProtoMajor == 1 && r.ProtoMinor == 1,
	}
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

// end leaves the last chunk to net/http, which writes it when the handler returns.
func (t *responseWriterTransport) end() error {
	if err := t.flush(); err != nil {
		return err
	}
	return t.limit.Extend()
}

func (t *responseWriterTransport) close() { t.limit.Close() }

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
	return t.control.Flush() // reports the error of the connection
}
