package middleware

import (
	"net/http"

	"revtail/gateway/netio/socket"
)

// LimitWrites breaks the response if the client takes no byte of it for c.WriteTimeout, because such a client would otherwise hold the handler
// and the memory of the response without a limit. Writes then fail with socket.ErrStalled.
func (c *Chain) LimitWrites(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d := &deadlineWriter{w, socket.NewWriteLimit(http.NewResponseController(w), c.WriteTimeout, r.ProtoMajor)}
		defer d.limit.Close()
		_ = d.limit.Extend() // fails only in tests, with a ResponseWriter without deadlines
		next.ServeHTTP(d, r)
	})
}

// deadlineWriter limits the time of each write to a client. Every write has the whole limit.
type deadlineWriter struct {
	http.ResponseWriter
	limit *socket.WriteLimit
}

// Unwrap lets http.ResponseController reach the wrapped ResponseWriter.
func (d *deadlineWriter) Unwrap() http.ResponseWriter { return d.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (d *deadlineWriter) WriteHeader(status int) {
	_ = d.limit.Extend() // fails only in tests, with a ResponseWriter without deadlines
	d.ResponseWriter.WriteHeader(status)
}

// maxPiece is how many bytes Write writes with one time limit.
const maxPiece = 64 << 10

// Write implements http.ResponseWriter. It writes pieces of maxPiece, each with the whole time limit, because a slow client may need longer
// than the limit for all data. It blocks while the client takes no data, and fails with socket.ErrStalled if a piece exceeds the limit.
func (d *deadlineWriter) Write(data []byte) (written int, err error) {
	for {
		_ = d.limit.Begin() // fails only in tests, with a ResponseWriter without deadlines
		n, err := d.ResponseWriter.Write(data[written:min(len(data), written+maxPiece)])
		written += n
		if err = d.limit.End(err); err != nil || written == len(data) {
			return written, err
		}
	}
}
