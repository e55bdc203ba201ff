package watch

import (
	"context"

	"revtail/gateway/netio/http2"
)

// Handover is the state of an HTTP/2 session while an event loop serves it. The handler of the request waits meanwhile, because net/http
// ends the stream when the handler returns. The loop calls either Finish or GiveBack, once, and does not use the session afterwards.
type Handover struct {
	Stream *http2.Stream   // gets the frames
	Ctx    context.Context //nolint:containedctx // of the request; ends when the client disconnects
	done   chan struct{}   // closed by Finish and GiveBack; the fields below are set before
	ended  bool            // the session has ended; otherwise the handler resumes it
	err    error           // breaks the stream; nil: the stream is complete
}

// Finish makes the handler return, because the session has ended. An error makes net/http reset the stream; nil ends it cleanly.
func (h *Handover) Finish(err error) {
	h.ended, h.err = true, err
	close(h.done)
}

// GiveBack makes the handler resume the session on its own goroutine.
func (h *Handover) GiveBack() { close(h.done) }
