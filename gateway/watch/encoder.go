package watch

import (
	"net/http"

	"revtail/etcdstore"
	"revtail/gateway/watchcache"
)

// Encoder is what of the events of a watch its client gets to see, and how that is written. It does not change, and all that a
// watch writes comes from it, whatever the transport.
type Encoder interface {
	ContentType() string
	// Preamble is what comes before the first frame; nil: nothing.
	Preamble() []byte
	// Event appends the frame of a change. last: nothing of its revision follows, so that a client may resume there.
	Event(dst []byte, c watchcache.Change, last bool) []byte
	// Bookmark appends what says that the watch is complete up to a revision; end: and that the state which it began with is.
	Bookmark(dst []byte, through etcdstore.Revision, end bool) []byte
	// ErrorEvent appends the frame that ends the watch.
	ErrorEvent(dst []byte, err error) []byte
	// Shared tells whether clients with the same encoder get the same bytes; only then is it compared.
	Shared() bool
}

// errorHandler is how a client is told, before the head of the answer, that there is no stream for it.
type errorHandler func(w http.ResponseWriter, r *http.Request, err error)
