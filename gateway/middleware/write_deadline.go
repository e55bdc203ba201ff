package middleware

import (
	"net/http"
	"time"

	"revtail/gateway/netio/socket"
)

// LimitWrites breaks an answer of which its client takes nothing for as long as streams wait too: until then its handler, and what
// the answer is made of, are held for nobody.
func (c *Chain) LimitWrites(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := &deadlineWriter{ResponseWriter: w, control: http.NewResponseController(w), limit: c.WriteTimeout}
		if r.ProtoMajor > 1 {
			p.watchdog = socket.NewWatchdog(p.limit, func() { _ = p.control.SetWriteDeadline(time.Unix(1, 0)) }) // resets the stream
			defer p.watchdog.Close()
		}
		p.extendDeadline()
		next.ServeHTTP(p, r)
	})
}

// deadlineWriter gives each write to a client its time. A deadline stays for whatever is written next on a connection of HTTP/1.1, and
// each write sets it anew; on HTTP/2 it would end a stream that has nothing to write.
type deadlineWriter struct {
	http.ResponseWriter
	control  *http.ResponseController
	limit    time.Duration
	watchdog *socket.Watchdog // nil: HTTP/1.1
}

// Unwrap lets http.ResponseController reach what is below.
func (p *deadlineWriter) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// extendDeadline is for what is written next. What net/http has collected is written soon after the last of it was handed over.
func (p *deadlineWriter) extendDeadline() {
	if p.watchdog == nil {
		_ = p.control.SetWriteDeadline(time.Now().Add(p.limit)) // a transport without deadlines is a test's
	}
}

func (p *deadlineWriter) WriteHeader(status int) {
	p.extendDeadline()
	p.ResponseWriter.WriteHeader(status)
}

// Write gives each piece the whole time: a client that is slow takes something of it.
func (p *deadlineWriter) Write(data []byte) (written int, err error) {
	for err == nil {
		piece := data[written:min(len(data), written+maxPiece)]
		var n int
		n, err = p.write(piece)
		if written += n; written == len(data) {
			break
		}
	}
	return written, err
}

// maxPiece is how much is written at once.
const maxPiece = 64 << 10

func (p *deadlineWriter) write(piece []byte) (int, error) {
	if p.watchdog == nil {
		p.extendDeadline()
		return p.ResponseWriter.Write(piece)
	}
	p.watchdog.Begin()
	defer p.watchdog.End()
	return p.ResponseWriter.Write(piece)
}
