package watch

import (
	"net/http"

	"revtail/etcdstore"
	"revtail/gateway/watchcache"
)

// Encoder encodes the frames of a watch: which part of each event the client gets, and in which format. Every frame of a watch comes from
// its Encoder, over every transport. An Encoder is immutable, and of a comparable type if Shared returns true. The methods with a dst append
// one frame to it and return the extended slice.
type Encoder interface {
	// ContentType returns the Content-Type of the response.
	ContentType() string
	// Preamble returns the bytes before the first frame; nil: none.
	Preamble() []byte
	// Event appends the frame of a change. last: c is the last change of its revision, and a client may resume after it.
	Event(dst []byte, c watchcache.Change, last bool) []byte
	// Bookmark appends the frame that reports that the watch is complete up to a revision. end: the initial events are complete too.
	Bookmark(dst []byte, through etcdstore.Revision, end bool) []byte
	// ErrorEvent appends the frame that ends the watch with an error.
	ErrorEvent(dst []byte, err error) []byte
	// Passes returns how often Event reads each document; zero: Event copies it. Decoding counts as several passes.
	Passes() int
	// Shared reports whether watches with equal Encoders write the same bytes. Encoders are compared only if it returns true.
	Shared() bool
}

// errorHandler answers a request with an error, before the header of the response is sent.
type errorHandler func(w http.ResponseWriter, r *http.Request, err error)
