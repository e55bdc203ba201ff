package middleware

import (
	"net/http"

	"revtail/gateway/netio/socket"
)

// LimitWrites breaks an answer when its client takes nothing for WriteTimeout. Otherwise such a client would hold the handler and the
// memory of the answer without a limit.
func (c *Chain) LimitWrites(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d := &deadlineWriter{w, socket.NewWriteLimit(http.NewResponseController(w), c.WriteTimeout, r.ProtoMajor)}
		defer d.limit.Close()
		_ = d.limit.Extend() // a ResponseWriter without deadlines is a test's
		next.ServeHTTP(d, r)
	})
}

// deadlineWriter gives each write to a client the whole time limit.
type deadlineWriter struct {
	http.ResponseWriter
	limit *socket.WriteLimit
}

// Unwrap lets http.ResponseController reach the ResponseWriter below.
func (d *deadlineWriter) Unwrap() http.ResponseWriter { return d.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (d *deadlineWriter) WriteHeader(status int) {
	_ = d.limit.Extend() // a ResponseWriter without deadlines is a test's
	d.ResponseWriter.WriteHeader(status)
}

// maxPiece is how much is written at once.
const maxPiece = 64 << 10

// Write implements http.ResponseWriter. Each piece has the whole time limit, because a slow client takes a part of it.
func (d *deadlineWriter) Write(data []byte) (written int, err error) {
	for {
		_ = d.limit.Begin() // a ResponseWriter without deadlines is a test's
		n, err := d.ResponseWriter.Write(data[written:min(len(data), written+maxPiece)])
		written += n
		if err = d.limit.End(err); err != nil || written == len(data) {
			return written, err
		}
	}
}
