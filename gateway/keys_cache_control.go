package gateway

import (
	"fmt"
	"net/http"
	"time"

	"revtail/gateway/keys/keyrange"
)

const (
	// pastLasts is how long a cache may answer with the state of a revision, which never changes: not for ever, as etcd may be
	// put back to a backup. timeLasts is the same of the state of a time: as often something may be written down about it.
	pastLasts = 5 * time.Minute
	timeLasts = 10 * time.Second
	// pollLasts is how long it may answer a long poll with changes, and emptyLasts with none: only those who ask meanwhile are
	// to have the same.
	pollLasts  = time.Minute
	emptyLasts = time.Second
)

// shareRead says how long a cache may keep the answer to a read: that of the past (RFC 9111).
func (s *Server) shareRead(w http.ResponseWriter, r *http.Request, q keyrange.Query) {
	switch {
	case q.AtTime != nil:
		s.share(w, r, fmt.Sprintf("max-age=%d", seconds(timeLasts)))
	case q.At != 0:
		s.share(w, r, fmt.Sprintf("max-age=%d, immutable", seconds(pastLasts)))
	}
}

// sharePoll is the same for a long poll. What has no changes is for caches between only: a client that asks the same again
// would have it from its own at once, and so again.
func (s *Server) sharePoll(w http.ResponseWriter, r *http.Request, changes bool) {
	if changes {
		s.share(w, r, fmt.Sprintf("max-age=%d", seconds(pollLasts)))
		return
	}
	s.share(w, r, fmt.Sprintf("max-age=0, s-maxage=%d", seconds(emptyLasts)))
}

func seconds(d time.Duration) int { return int(d / time.Second) }

// share lets a cache between keep an answer, or only that of its client where it matters who asks: what a cache answers nobody
// judges, and nobody writes down. Which program asks does not show in such an answer.
func (s *Server) share(w http.ResponseWriter, r *http.Request, lasts string) {
	r.Header.Del("User-Agent")
	scope := "private, "
	if s.access.open() {
		scope = "public, "
	}
	w.Header().Set("Cache-Control", scope+lasts)
	w.Header().Add("Vary", "Accept, Accept-Encoding")
}
