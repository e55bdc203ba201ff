package transport

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"revtail/gateway/access/cputime"
	"revtail/gateway/http/request"
	"revtail/gateway/http/response"
	"revtail/gateway/netio/buffer"
	"revtail/gateway/netio/http2"
	"revtail/gateway/netio/socket"
)

const (
	// flushSize is how many bytes of frames FlushIfLarge lets a stream collect. More than 16 KiB would hardly make writes cheaper, and each
	// client that does not read costs as much memory.
	flushSize = 16 << 10
	// MaxCollected is how many bytes of frames a stream collects within one revision before it flushes. A revision of any usual size is one
	// write.
	MaxCollected = 1 << 20
)

// transport writes a stream to its client. One goroutine calls its methods: frame and flush any number of times, then end unless a call
// failed, and close in every case. After an error it calls only close.
type transport interface {
	// frame adds one line, with its newline. The transport may send it at once or keep it until flush. It does not keep line.
	frame(line []byte) error
	// flush sends the added frames. It blocks until the client's connection accepts them.
	flush() error
	// end sends the added frames and the end of the stream.
	end() error
	// close frees the resources of the transport and waits for its goroutines. Unless end was called before, the client gets a broken
	// stream.
	close()
}

// Opener makes streams and holds their shared settings. All requests of a server share one Opener.
type Opener struct {
	WriteTimeout time.Duration                           // how long a client may accept no bytes; shorter in tests
	HTTP2        func(http.ResponseWriter) *http2.Stream // returns the stream of a response; nil: net/http writes all HTTP/2 bodies
	compressors  *response.Compressors
	origins      []string // patterns of the origins that may open a WebSocket, besides the server's own
}

// NewOpener returns an Opener whose write timeout is socket.WriteTimeout, and which hijacks HTTP/2 streams. Pages of the origins may open a WebSocket, besides pages of the
// server's own origin. compressors chooses the content coding of a stream.
func NewOpener(origins []string, compressors *response.Compressors) *Opener {
	return &Opener{WriteTimeout: socket.WriteTimeout, HTTP2: http2.StreamOf, compressors: compressors, origins: originPatterns(origins)}
}

// Stream writes the frames of a watch to a client. One goroutine uses it. Writes block while the client is slow. They fail with
// socket.ErrStalled when the client accepts no bytes for Opener.WriteTimeout, and with another error when it has disconnected. Open chooses
// the transport:
//
//	WebSocket                  one message for each frame
//	HTTP/1.1                   the connection, hijacked: one chunk for each frame, one write for each flush; KeepAlive gets it at the end
//	HTTP/2                     the stream, hijacked, where that is possible and nothing is compressed
//	otherwise                  net/http: one write for each flush
//
// Streams over HTTP/1.1 and net/http may be compressed. Then the bytes between two flushes are one chunk.
type Stream struct {
	writer  http.ResponseWriter
	request *http.Request // nil after Open, except for a WebSocket
	shared  *Opener

	ContentType string           // set before Open; empty: JSON
	Account     *cputime.Account // pays for compression; set before Open; nil: nobody does
	transport   transport        // nil until Open
	uncount     func()           // releases the compressor's place in the limit; nil: not compressed
	collected   int              // bytes since the last flush
	sent        int              // bytes since the last TakeSent
	err         error            // of the transport; frames added after it are dropped
}

// NewStream returns a stream for the response of r. It sends nothing. The caller calls Open, and Close in every case.
func (t *Opener) NewStream(w http.ResponseWriter, r *http.Request) *Stream {
	return &Stream{writer: w, request: r, shared: t}
}

// Open sends the response header at once, because a client must learn that its watch is open before the first event. The returned context
// is derived from ctx. It also ends when the client disconnects; for a hijacked HTTP/1.1 connection only after DetectClose. After an error
// the caller must not write a response.
func (s *Stream) Open(ctx context.Context) (context.Context, error) {
	if request.WantsWebSocket(s.request) {
		return s.openWebSocket(ctx)
	}
	coding, uncount := s.shared.compressors.Choose(s.request)
	s.uncount = uncount
	header := s.writer.Header()
	header.Set("Content-Type", cmp.Or(s.ContentType, response.JSON))
	header.Add("Vary", "Accept-Encoding")
	if coding != nil {
		header.Set("Content-Encoding", coding.Name)
	}
	ctx, err := s.openHTTP(ctx, coding == nil)
	s.request = nil // an idle watch holds neither its request
	clear(header)   // nor the header, which is sent
	if coding != nil {
		s.transport = &compressedTransport{transport: s.transport, coding: coding, account: s.Account}
	}
	return ctx, err
}

// openHTTP sends the response header and hijacks the connection or the stream where that is possible.
func (s *Stream) openHTTP(ctx context.Context, plain bool) (context.Context, error) {
	take, keep := canHijack(s.request), keepAliveOf(s.writer, s.request)
	if take && keep == nil {
		s.writer.Header().Set("Connection", "close")
	}
	if stream := s.http2Stream(); plain && stream != nil {
		hijacked, hijackedCtx, err := hijackHTTP2(ctx, stream, s.writer, s.shared.WriteTimeout)
		if err != nil {
			return ctx, err
		}
		s.transport = hijacked
		return hijackedCtx, nil
	}
	response := newResponseWriterTransport(s.writer, s.request, s.shared.WriteTimeout)
	s.transport = response
	if err := response.open(); err != nil || !take {
		return ctx, err
	}
	hijacked, hijackedCtx, err := hijack(ctx, s.writer, s.shared.WriteTimeout, keep)
	if errors.Is(err, http.ErrNotSupported) {
		return ctx, nil
	}
	if err != nil {
		return ctx, err
	}
	s.transport = hijacked
	return hijackedCtx, nil
}

// http2Stream returns the HTTP/2 stream that can be hijacked; nil: net/http must write the response.
func (s *Stream) http2Stream() *http2.Stream {
	if s.shared.HTTP2 == nil || request.IsHead(s.request) {
		return nil
	}
	return s.shared.HTTP2(s.writer)
}

// Resume returns a Stream that writes to a connection that was detached. The header is sent already. The Stream owns the connection, and its
// Close closes it, or keeps it alive. The returned context is derived from ctx. It also ends when the client disconnects, over HTTP/1.1 after DetectClose.
func (t *Opener) Resume(ctx context.Context, h Handle) (*Stream, context.Context) {
	s := &Stream{shared: t}
	if h.Stream != nil {
		s.transport, ctx = newHTTP2Transport(ctx, h.Stream, t.WriteTimeout)
	} else {
		s.transport, ctx = newHijackedTransport(ctx, h, t.WriteTimeout)
	}
	return s, ctx
}

// Handle is the connection of a detached stream: an HTTP/1.1 connection in Conn or, if Conn is nil, an HTTP/2 stream in Stream.
type Handle struct {
	Conn   net.Conn
	Stream *http2.Stream

	Received  []byte    // what the client has sent on Conn after its request, for KeepAlive
	KeepAlive KeepAlive // gets Conn when the stream has ended; nil: Conn is closed
}

// detacher is a transport whose connection can be served without it.
type detacher interface {
	// detach returns the connection, and stops using it. All frames must be sent. A caller that does not need the connection may continue
	// to use the transport.
	detach() Handle
}

// Detach flushes and returns the connection of the stream, which the caller then owns. It reports false if the stream is broken, or if its
// transport is no detacher. A caller that does not need the connection may continue to use the stream.
func (s *Stream) Detach() (Handle, bool) {
	t, ok := s.transport.(detacher)
	if !ok || s.Flush() != nil {
		return Handle{}, false
	}
	return t.detach(), true
}

// Aborter returns the Aborter of the hijacked connection; nil: net/http owns the connection.
func (s *Stream) Aborter() Aborter {
	hijacked, _ := s.uncompressed().(Aborter)
	return hijacked
}

// uncompressed returns the transport below the compression.
func (s *Stream) uncompressed() transport {
	if compressed, ok := s.transport.(*compressedTransport); ok {
		return compressed.transport
	}
	return s.transport
}

// DetectClose makes the context of Open end when the client closes a hijacked HTTP/1.1 connection. With other transports it does nothing,
// because their context ends without it.
func (s *Stream) DetectClose() {
	if hijacked, ok := s.uncompressed().(*hijackedTransport); ok {
		hijacked.detectClose()
	}
}

// Add adds the frame that appendFrame appends to dst; an empty frame is not added. Add flushes when MaxCollected bytes are collected. Flush
// returns its error.
func (s *Stream) Add(appendFrame func(dst []byte) []byte) {
	line := buffer.Get()
	line.Bytes = appendFrame(line.Bytes)
	s.frame(line.Bytes)
	line.Put()
}

// frame adds an encoded frame.
func (s *Stream) frame(frame []byte) {
	if s.err != nil || len(frame) == 0 {
		return
	}
	s.err = s.transport.frame(frame)
	s.collected += len(frame)
	s.sent += len(frame)
	if s.collected >= MaxCollected {
		_ = s.Flush() // kept in err
	}
}

// FlushIfLarge flushes if at least flushSize bytes are collected. The caller calls it between two revisions. Flush returns its error.
func (s *Stream) FlushIfLarge() {
	if s.collected >= flushSize {
		_ = s.Flush() // kept in err
	}
}

// Write adds a frame and flushes. It does not keep frame.
func (s *Stream) Write(frame []byte) error {
	s.frame(frame)
	return s.Flush()
}

// Flush sends the added frames, and blocks until the connection accepts them. It returns the first error of the stream.
func (s *Stream) Flush() error {
	if s.err == nil && s.collected > 0 {
		s.err = s.transport.flush()
	}
	s.collected = 0
	return s.err
}

// TakeSent returns how many bytes of frames, before compression, were added since its last call.
func (s *Stream) TakeSent() int {
	n := s.sent
	s.sent = 0
	return n
}

// End sends the added frames and the end of the stream, from which the client learns that the stream is complete. It returns the first
// error of the stream. Close must follow.
func (s *Stream) End() error {
	if s.err == nil {
		s.err = s.transport.end()
	}
	return s.err
}

// Close frees the resources of the stream and closes a hijacked HTTP/1.1 connection, or keeps it alive after End. Unless End was called before, the client gets a broken
// stream; if net/http owns the connection, the caller must panic with http.ErrAbortHandler for that.
func (s *Stream) Close() {
	if s.transport != nil {
		s.transport.close()
	}
	if s.uncount != nil {
		s.uncount()
	}
}

// Aborter is a connection that was hijacked from net/http. Any goroutine may call Abort.
type Aborter interface {
	// Abort makes all pending and later reads and writes of the connection fail. It does not wait for them.
	Abort()
}
