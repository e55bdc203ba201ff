package gateway

import (
	"net/http"

	"revtail/etcdstore"
	"revtail/gateway/watchcache"
)

// encoder is what of the events of a watch its client gets to see, and how that is written. It does not change, and all that a
// watch writes comes from it, whatever the transport.
type encoder interface {
	contentType() string
	// preamble is what comes before the first frame; nil: nothing.
	preamble() []byte
	// event appends the frame of a change. last: nothing of its revision follows, so that a client may resume there.
	event(dst []byte, c watchcache.Change, last bool) []byte
	// bookmark appends what says that the watch is complete up to a revision; end: and that the state which it began with is.
	bookmark(dst []byte, through etcdstore.Revision, end bool) []byte
	// errorEvent appends the frame that ends the watch.
	errorEvent(dst []byte, err error) []byte
	// shared tells whether clients with the same encoder get the same bytes; only then is it compared.
	shared() bool
}

// errorHandler is how a client is told, before the head of the answer, that there is no stream for it.
type errorHandler func(w http.ResponseWriter, r *http.Request, err error)
