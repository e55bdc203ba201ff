package http2

import "net/http"

const (
	// maxStrangerStreams is how many streams of a stranger net/http serves at the same time.
	maxStrangerStreams = 2
	// requestSize is what a request costs in memory besides its header: a goroutine, and buffers of net/http.
	requestSize = 16 << 10
	// fieldSize is what a header field costs in memory besides its bytes.
	fieldSize = 128
)

// wake makes waits check their conditions.
func (c *Conn) wake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changed.Broadcast()
}

// awaitStranger blocks, if the connection is a stranger, while holds returns true. The client then has to wait, because nothing is read, and
// what it sends fills no memory. A client whose first request is authenticated waits for that only.
func (c *Conn) awaitStranger(holds func() bool) {
	if c.stranger.IsKnown() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.err == nil && holds() && !c.stranger.IsKnown() {
		c.changed.Wait()
	}
}

// writing reports whether the client has not read all that was sent. net/http would queue answers to what a stranger sends meanwhile.
func (c *Conn) writing() bool { return c.outbox.busy() }

// full reports whether a stranger has as many streams as it may have.
func (c *Conn) full() bool { return len(c.streams) >= maxStrangerStreams }

// serving reports whether a request of a stranger is not answered. Its body has to wait, because net/http would buffer it.
func (c *Conn) serving() bool { return len(c.streams) > 0 }

// endHandler is called when the handler of a stream has returned. It removes a stream that the client has reset before.
func (s *Stream) endHandler() {
	s.conn.mu.Lock()
	defer s.conn.mu.Unlock()
	s.handled = true
	if s.gone && !s.taken {
		s.returned = true
		s.forgetLocked()
	}
}

// chargeRequest charges the stranger for a request. The caller calls release when the request has been answered.
func (c *connection) chargeRequest(r *http.Request) (release func()) {
	if c.conn == nil || c.conn.stranger.IsKnown() {
		return func() {}
	}
	size := requestSize + len(r.RequestURI)
	for name, values := range r.Header {
		size += len(name)
		for _, value := range values {
			size += len(value) + fieldSize
		}
	}
	c.conn.stranger.Charge(size)
	return func() {
		c.conn.stranger.Charge(-size)
		c.conn.stranger.Step()
	}
}
