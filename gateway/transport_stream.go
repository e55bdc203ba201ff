package gateway

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"revtail/encoding"
	"revtail/gateway/netio/buffer"
	"revtail/gateway/netio/http2"
	"revtail/gateway/netio/socket"
)

const (
	// flushSize is how many bytes of frames are collected before they are written between two revisions, and maxCollected
	// how many at any place: a revision of any usual size leaves in one write. More than 16 KiB would make writes hardly
	// cheaper, and is what each client that takes nothing costs.
	flushSize    = 16 << 10
	maxCollected = 1 << 20
)

// transport writes a stream to its client. Its methods are called by one goroutine: frame and flush any number of
// times, then end unless something failed, close in any case. After an error nothing but close is called.
type transport interface {
	// frame adds one line, with its newline; it may be sent at once, or wait for flush. The line is the caller's.
	frame(line []byte) error
	// flush sends what has been added.
	flush() error
	// end sends what has been added and what tells the client that the stream is complete.
	end() error
	// close frees what the transport holds and waits for its goroutines. Without end before it, the client sees a broken
	// stream.
	close()
}

// streamOpener makes streams, and holds what they share.
type streamOpener struct {
	writeTimeout time.Duration // shorter in tests
	compressors  *compressors
	origins      []string // patterns of pages that may open a WebSocket, beside the server's own
}

func newStreamOpener(origins []string, compressors *compressors) *streamOpener {
	return &streamOpener{writeTimeout: socket.WriteTimeout, compressors: compressors, origins: originPatterns(origins)}
}

// stream writes the frames of a watch to a client. It picks the transport:
//
//	WebSocket                  one message for each frame
//	HTTP/1.1                   the connection, taken over: one chunk for each frame, one write for each flush
//	HTTP/2                     the stream, taken over, where that is possible and nothing is compressed
//	otherwise                  net/http: one write for each flush
//
// The first and the last of these three may be compressed; then what is between two flushes is one chunk.
type stream struct {
	writer  http.ResponseWriter
	request *http.Request // nil when open, but for a WebSocket
	shared  *streamOpener

	contentType string    // empty: JSON
	transport   transport // nil until open
	uncount     func()    // of a compressed stream; nil: not compressed
	collected   int       // bytes since the last flush
	sent        int       // bytes since the last takeSent
	err         error     // of the transport; what is added afterwards goes nowhere
}

// newStream does nothing yet: the caller opens the stream, and closes it in any case.
func (t *streamOpener) newStream(w http.ResponseWriter, r *http.Request) *stream {
	return &stream{writer: w, request: r, shared: t}
}

// open sends the head of the answer at once: a client knows that its watch stands before the first event. The context it
// returns ends also when the client goes away, if detectClose is called. After an error there is nothing more to tell the client.
func (s *stream) open(ctx context.Context) (context.Context, error) {
	if wantsWebSocket(s.request) {
		return s.openWebSocket(ctx)
	}
	coding, uncount := s.shared.compressors.choose(s.request)
	s.uncount = uncount
	header := s.writer.Header()
	header.Set("Content-Type", cmp.Or(s.contentType, jsonType))
	header.Add("Vary", "Accept-Encoding")
	if coding != nil {
		header.Set("Content-Encoding", coding.name)
	}
	var err error
	onNewGoroutine(func() { ctx, err = s.openHTTP(ctx, coding == nil) })
	s.request = nil // a watch that waits holds neither what it was asked with
	clear(header)   // nor the head, which has been sent
	if coding != nil {
		s.transport = &compressedTransport{transport: s.transport, coding: coding}
	}
	return ctx, err
}

// openHTTP sends the head and takes the connection, or the stream, over where that is possible.
func (s *stream) openHTTP(ctx context.Context, plain bool) (context.Context, error) {
	take := canHijack(s.request)
	if take {
		s.writer.Header().Set("Connection", "close")
	}
	if stream, request := http2StreamOf(s.writer, s.request); plain && stream != nil {
		hijacked, err := takeHTTP2Stream(request, stream, s.writer, s.shared.writeTimeout)
		if err == nil {
			s.transport = hijacked
		}
		return ctx, err
	}
	response := newResponseWriterTransport(s.writer, s.request, s.shared.writeTimeout)
	s.transport = response
	if err := response.open(); err != nil || !take {
		return ctx, err
	}
	hijacked, hijackedCtx, err := hijack(ctx, s.writer, s.shared.writeTimeout)
	if errors.Is(err, http.ErrNotSupported) {
		return ctx, nil
	}
	if err != nil {
		return ctx, err
	}
	s.transport = hijacked
	return hijackedCtx, nil
}

// onNewGoroutine runs f on a goroutine of its own and waits for it. This keeps the stack of the waiting goroutine small: Go never shrinks a
// stack below four times its use, which would cost each idle watch 8 KiB.
func onNewGoroutine(f func()) {
	var (
		running  sync.WaitGroup
		panicked any
	)
	running.Go(func() {
		defer func() { panicked = recover() }()
		f()
	})
	running.Wait()
	if panicked != nil {
		panic(panicked)
	}
}

// resumeConn goes on with the stream on a connection that was taken before. The context it returns ends also when the client
// goes away.
func (t *streamOpener) resumeConn(ctx context.Context, conn net.Conn) (*stream, context.Context) {
	hijacked, ctx := newHijackedTransport(ctx, conn, t.writeTimeout)
	return &stream{shared: t, transport: hijacked}, ctx
}

// handle is what a stream is written to: a connection of HTTP/1.1 or, where that is nil, a stream of HTTP/2.
type handle struct {
	conn   net.Conn
	stream *http2.Stream
	ctx    context.Context //nolint:containedctx // of the request on the HTTP/2 stream
}

// detacher is a transport whose connection can be served without it.
type detacher interface {
	// detach returns what the transport writes to, and leaves it alone from now on. Everything added has been sent. The transport
	// may be used again if the caller has no use for what it got.
	detach() handle
}

// detach returns what the stream is written to. False: the stream is broken, or its transport does not part with its connection.
func (s *stream) detach() (handle, bool) {
	t, ok := s.transport.(detacher)
	if !ok || s.flush() != nil {
		return handle{}, false
	}
	return t.detach(), true
}

// aborter is the connection that was taken from net/http; nil: none was.
func (s *stream) aborter() aborter {
	hijacked, _ := s.uncompressed().(aborter)
	return hijacked
}

// uncompressed is the transport that has the connection.
func (s *stream) uncompressed() transport {
	if compressed, ok := s.transport.(*compressedTransport); ok {
		return compressed.transport
	}
	return s.transport
}

// detectClose makes the stream's context end when the client goes away, where nothing else does.
func (s *stream) detectClose() {
	if hijacked, ok := s.uncompressed().(*hijackedTransport); ok {
		hijacked.detectClose()
	}
}

// event adds the frame of an event.
func (s *stream) event(t encoding.EventType, object []byte) {
	s.add(func(dst []byte) []byte { return encoding.AppendEvent(dst, t, object) })
}

// add adds the frame that a function appends.
func (s *stream) add(appendFrame func(dst []byte) []byte) {
	line := buffer.Get()
	line.Bytes = appendFrame(line.Bytes)
	s.frame(line.Bytes)
	line.Put()
}

// frame adds a frame that is ready.
func (s *stream) frame(frame []byte) {
	if s.err != nil || len(frame) == 0 {
		return
	}
	s.err = s.transport.frame(frame)
	s.collected += len(frame)
	s.sent += len(frame)
	if s.collected >= maxCollected {
		_ = s.flush() // kept in err
	}
}

// flushIfLarge is called between two revisions: when much has been added since the last flush, it is sent.
func (s *stream) flushIfLarge() {
	if s.collected >= flushSize {
		_ = s.flush() // kept in err
	}
}

// write adds a frame and flushes.
func (s *stream) write(frame []byte) error {
	s.frame(frame)
	return s.flush()
}

// flush sends what has been added.
func (s *stream) flush() error {
	if s.err == nil && s.collected > 0 {
		s.err = s.transport.flush()
	}
	s.collected = 0
	return s.err
}

// takeSent is how many bytes of frames were added since it was asked last.
func (s *stream) takeSent() int {
	n := s.sent
	s.sent = 0
	return n
}

// end tells the client that the stream is complete.
func (s *stream) end() error {
	if s.err == nil {
		s.err = s.transport.end()
	}
	return s.err
}

// close frees what the stream holds. Unless end came before, the client finds its stream broken; where net/http has the
// connection, the caller has to panic with http.ErrAbortHandler for that.
func (s *stream) close() {
	if s.transport != nil {
		s.transport.close()
	}
	if s.uncount != nil {
		s.uncount()
	}
}
