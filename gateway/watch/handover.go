package watch

import (
	"context"

	"revtail/gateway/netio/http2"
)

// Handover is an HTTP/2 session's time with the loop: its handler waits, because it must not return before the session has ended.
type Handover struct {
	Stream *http2.Stream
	Ctx    context.Context //nolint:containedctx // of the request: it ends when the client goes away
	done   chan struct{}   // closed at the end, when the fields below are set
	ended  bool            // the session has, too; otherwise the handler resumes it
	err    error           // why the stream is broken; nil: it is complete
}

// Finish lets the handler return, because the session has ended.
func (h *Handover) Finish(err error) {
	h.ended, h.err = true, err
	close(h.done)
}

// GiveBack lets the handler resume the session.
func (h *Handover) GiveBack() { close(h.done) }
