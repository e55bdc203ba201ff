package transport

import (
	"revtail/gateway/access/cputime"
	"revtail/gateway/http/response"
	"revtail/gateway/netio/buffer"
)

// compressedTransport compresses the frames of another transport. Each flush writes one frame to that transport.
type compressedTransport struct {
	transport
	coding     *response.Coding
	account    *cputime.Account    // pays for the compression
	compressor response.Compressor // nil until the first frame, because an idle watch needs none
	pending    *buffer.Buffer      // compressed bytes; nil: none
}

// Write implements io.Writer for the compressor. It appends p to pending and never fails.
func (t *compressedTransport) Write(p []byte) (int, error) {
	if t.pending == nil {
		t.pending = buffer.Get()
	}
	t.pending.Bytes = append(t.pending.Bytes, p...)
	return len(p), nil
}

func (t *compressedTransport) frame(line []byte) error {
	turn := t.account.Turn()
	_ = turn.Continue() // the stream goes on, because its reader has the event
	defer turn.End()
	_, err := t.begun().Write(line)
	return err
}

func (t *compressedTransport) flush() error {
	if t.compressor == nil {
		return nil
	}
	if err := t.compressor.Flush(); err != nil {
		return err
	}
	return t.forward()
}

func (t *compressedTransport) end() error {
	if err := t.begun().Close(); err != nil {
		return err
	}
	if err := t.forward(); err != nil {
		return err
	}
	return t.transport.end()
}

func (t *compressedTransport) close() {
	t.transport.close()
	if t.compressor != nil {
		t.compressor.Reset(nil)
		t.coding.Pool.Put(t.compressor)
	}
}

func (t *compressedTransport) begun() response.Compressor {
	if t.compressor == nil {
		t.compressor = t.coding.Pool.Get().(response.Compressor)
		t.compressor.Reset(t)
	}
	return t.compressor
}

func (t *compressedTransport) forward() error {
	if t.pending == nil {
		return nil
	}
	err := t.transport.frame(t.pending.Bytes)
	t.pending.Put()
	t.pending = nil
	if err != nil {
		return err
	}
	return t.transport.flush()
}
