package gateway

import (
	"context"

	"revtail/gateway/netio/http2"
)

// handover is the time of a watch over HTTP/2 with a writer: its handler must not return before the watch has ended.
type handover struct {
	stream *http2.Stream
	ctx    context.Context //nolint:containedctx // of the request: it ends when the client goes away
	done   chan struct{}   // closed at the end, when the fields below are set
	ended  bool            // the watch has, too; otherwise the handler goes on with it
	err    error           // as link.close has it
}

// finish says that the watch has ended.
func (l *handover) finish(err error) {
	l.ended, l.err = true, err
	close(l.done)
}

// giveBack lets the handler go on with the watch.
func (l *handover) giveBack() { close(l.done) }
