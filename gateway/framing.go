package gateway

import (
	"net/http"

	"revtail/etcdstore"
	"revtail/gateway/watchcache"
)

// framing is what of the events of a watch its client gets to see, and how that is written. It does not change, and all that a
// watch writes comes from it, whatever the transport.
type framing interface {
	contentType() string
	// opening is what comes before the first frame; nil: nothing.
	opening() []byte
	// event appends the frame of a change. last: nothing of its revision follows, so that a client may resume there.
	event(dst []byte, c watchcache.Change, last bool) []byte
	// mark appends what says that the watch is complete up to a revision; end: and that the state which it began with is.
	mark(dst []byte, through etcdstore.Revision, end bool) []byte
	// failure appends the frame that ends the watch.
	failure(dst []byte, err error) []byte
	// shared tells whether clients with the same framing get the same bytes; only then is it compared.
	shared() bool
}

// refusal is how a client is told, before the head of the answer, that there is no stream for it.
type refusal func(w http.ResponseWriter, r *http.Request, err error)
