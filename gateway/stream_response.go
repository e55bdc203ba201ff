package gateway

import (
	"net/http"
	"time"
)

// responseTransport writes through net/http. To keep a frame a chunk of HTTP/1.1, it has to flush after each.
//
// The write deadline is set before each write and taken back after it: HTTP/2 takes it for a timer and would reset a quiet
// stream.
type responseTransport struct {
	writer  http.ResponseWriter
	control *http.ResponseController
	stall   time.Duration
	chunked bool    // what is between two flushes is one chunk
	pending *buffer // nil: nothing waits for flush
}

func newResponseTransport(w http.ResponseWriter, r *http.Request, stall time.Duration) *responseTransport {
	return &responseTransport{
		writer: w, control: http.NewResponseController(w), stall: stall,
		chunked: r.ProtoMajor == 1 && r.ProtoMinor == 1,
	}
}

// open sends the head.
func (t *responseTransport) open() error {
	t.writer.WriteHeader(http.StatusOK)
	return t.send(nil)
}

func (t *responseTransport) frame(line []byte) error {
	if t.chunked {
		return t.send(line)
	}
	if t.pending == nil {
		t.pending = getBuffer()
	}
	t.pending.bytes = append(t.pending.bytes, line...)
	return nil
}

func (t *responseTransport) flush() error {
	if t.pending == nil {
		return nil
	}
	err := t.send(t.pending.bytes)
	t.pending.put()
	t.pending = nil
	return err
}

func (t *responseTransport) end() error { return t.flush() } // net/http writes the last chunk when the handler returns

func (t *responseTransport) close() {}

// send writes data, in one write where that makes a chunk, otherwise in pieces that each have the time limit.
func (t *responseTransport) send(data []byte) error {
	for {
		piece := data
		if !t.chunked && len(piece) > collectSize {
			piece = piece[:collectSize]
		}
		if err := t.sendPiece(piece); err != nil {
			return err
		}
		if data = data[len(piece):]; len(data) == 0 {
			return nil
		}
	}
}

func (t *responseTransport) sendPiece(piece []byte) error {
	if err := t.control.SetWriteDeadline(time.Now().Add(t.stall)); err != nil {
		return err
	}
	if len(piece) > 0 {
		if _, err := t.writer.Write(piece); err != nil {
			return err
		}
	}
	if err := t.control.Flush(); err != nil { // the one that reports what the connection says
		return err
	}
	return t.control.SetWriteDeadline(time.Time{})
}
