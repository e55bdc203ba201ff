package transport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"revtail/encoding"
	"revtail/gateway/http/request"
	"revtail/gateway/http/response"
	"revtail/gateway/netio/buffer"
	"revtail/gateway/netio/http2"
	"revtail/gateway/netio/socket"
)

const (
	// flushSize is how many bytes of frames are collected before they are written between two revisions. More than 16 KiB would make
	// writes hardly cheaper, and each client that takes nothing costs as much memory.
	flushSize = 16 << 10
	// MaxCollected is how many bytes are collected within a revision: a revision of any usual size is one write.
	MaxCollected = 1 << 20
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

// Opener makes streams, and holds what they share.
type Opener struct {
	WriteTimeout time.Duration // shorter in tests
	compressors  *response.Compressors
	origins      []string // patterns of pages that may open a WebSocket, beside the server's own
}

// NewOpener returns an Opener. Pages of the origins may open a WebSocket.
func NewOpener(origins []string, compressors *response.Compressors) *Opener {
	return &Opener{WriteTimeout: socket.WriteTimeout, compressors: compressors, origins: originPatterns(origins)}
}

// Stream writes the frames of a watch to a client. It picks the transport:
//
//	WebSocket                  one message for each frame
//	HTTP/1.1                   the connection, taken over: one chunk for each frame, one write for each flush
//	HTTP/2                     the stream, taken over, where that is possible and nothing is compressed
//	otherwise                  net/http: one write for each flush
//
// The first and the last of these three may be compressed; then what is between two flushes is one chunk.
type Stream struct {
	writer  http.ResponseWriter
	request *http.Request // nil when open, but for a WebSocket
	shared  *Opener

	ContentType string    // empty: JSON
	transport   transport // nil until open
	uncount     func()    // of a compressed stream; nil: not compressed
	collected   int       // bytes since the last flush
	sent        int       // bytes since the last TakeSent
	err         error     // of the transport; what is added afterwards goes nowhere
}

// NewStream does nothing yet: the caller opens the stream, and closes it in any case.
func (t *Opener) NewStream(w http.ResponseWriter, r *http.Request) *Stream {
	return &Stream{writer: w, request: r, shared: t}
}

// Open sends the head of the answer at once: a client knows that its watch stands before the first event. The context it
// returns ends also when the client goes away, if detectClose is called. After an error there is nothing more to tell the client.
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
	var err error
	OnNewGoroutine(func() { ctx, err = s.openHTTP(ctx, coding == nil) })
	s.request = nil // a watch that waits holds neither what it was asked with
	clear(header)   // nor the head, which has been sent
	if coding != nil {
		s.transport = &compressedTransport{transport: s.transport, coding: coding}
	}
	return ctx, err
}

// openHTTP sends the head and takes the connection, or the stream, over where that is possible.
func (s *Stream) openHTTP(ctx context.Context, plain bool) (context.Context, error) {
	take := canHijack(s.request)
	if take {
		s.writer.Header().Set("Connection", "close")
	}
	if stream, request := http2StreamOf(s.writer, s.request); plain && stream != nil {
		hijacked, err := takeHTTP2Stream(request, stream, s.writer, s.shared.WriteTimeout)
		if err == nil {
			s.transport = hijacked
		}
		return ctx, err
	}
	response := newResponseWriterTransport(s.writer, s.request, s.shared.WriteTimeout)
	s.transport = response
	if err := response.open(); err != nil || !take {
		return ctx, err
	}
	hijacked, hijackedCtx, err := hijack(ctx, s.writer, s.shared.WriteTimeout)
	if errors.Is(err, http.ErrNotSupported) {
		return ctx, nil
	}
	if err != nil {
		return ctx, err
	}
	s.transport = hijacked
	return hijackedCtx, nil
}

// OnNewGoroutine runs f on a goroutine of its own and waits for it. A panic of f, with its stack in the message, becomes one of the caller.
// This keeps the stack of the waiting goroutine small: Go never shrinks a
// stack below four times its use, which would cost each idle watch 8 KiB.
func OnNewGoroutine(f func()) {
	var (
		running  sync.WaitGroup
		panicked any
	)
	running.Go(func() {
		defer func() {
			if panicked = recover(); panicked != nil && panicked != http.ErrAbortHandler { //nolint:errorlint // the value that net/http compares too
				panicked = fmt.Errorf("%v, on a goroutine with the stack\n%s", panicked, debug.Stack())
			}
		}()
		f()
	})
	running.Wait()
	if panicked != nil {
		panic(panicked)
	}
}

// ResumeConn goes on with the stream on a connection that was taken before. The context it returns ends also when the client
// goes away.
func (t *Opener) ResumeConn(ctx context.Context, conn net.Conn) (*Stream, context.Context) {
	hijacked, ctx := newHijackedTransport(ctx, conn, t.WriteTimeout)
	return &Stream{shared: t, transport: hijacked}, ctx
}

// Handle is what a stream is written to: a connection of HTTP/1.1 or, where that is nil, a stream of HTTP/2.
type Handle struct {
	Conn   net.Conn
	Stream *http2.Stream
	Ctx    context.Context //nolint:containedctx // of the request on the HTTP/2 stream
}

// detacher is a transport whose connection can be served without it.
type detacher interface {
	// detach returns what the transport writes to, and leaves it alone from now on. Everything added has been sent. The transport
	// may be used again if the caller has no use for what it got.
	detach() Handle
}

// Detach returns what the stream is written to. False: the stream is broken, or its transport does not part with its connection.
func (s *Stream) Detach() (Handle, bool) {
	t, ok := s.transport.(detacher)
	if !ok || s.Flush() != nil {
		return Handle{}, false
	}
	return t.detach(), true
}

// Aborter is the connection that was taken from net/http; nil: none was.
func (s *Stream) Aborter() Aborter {
	hijacked, _ := s.uncompressed().(Aborter)
	return hijacked
}

// uncompressed is the transport that has the connection.
func (s *Stream) uncompressed() transport {
	if compressed, ok := s.transport.(*compressedTransport); ok {
		return compressed.transport
	}
	return s.transport
}

// DetectClose makes the stream's context end when the client goes away, where nothing else does.
func (s *Stream) DetectClose() {
	if hijacked, ok := s.uncompressed().(*hijackedTransport); ok {
		hijacked.detectClose()
	}
}

// event adds the frame of an event.
func (s *Stream) event(t encoding.EventType, object []byte) {
	s.Add(func(dst []byte) []byte { return encoding.AppendEvent(dst, t, object) })
}

// Add adds the frame that a function appends.
func (s *Stream) Add(appendFrame func(dst []byte) []byte) {
	line := buffer.Get()
	line.Bytes = appendFrame(line.Bytes)
	s.frame(line.Bytes)
	line.Put()
}

// frame adds a frame that is ready.
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

// FlushIfLarge is called between two revisions: when much has been added since the last flush, it is sent.
func (s *Stream) FlushIfLarge() {
	if s.collected >= flushSize {
		_ = s.Flush() // kept in err
	}
}

// Write adds a frame and flushes.
func (s *Stream) Write(frame []byte) error {
	s.frame(frame)
	return s.Flush()
}

// Flush sends what has been added.
func (s *Stream) Flush() error {
	if s.err == nil && s.collected > 0 {
		s.err = s.transport.flush()
	}
	s.collected = 0
	return s.err
}

// TakeSent is how many bytes of frames were added since it was asked last.
func (s *Stream) TakeSent() int {
	n := s.sent
	s.sent = 0
	return n
}

// End tells the client that the stream is complete.
func (s *Stream) End() error {
	if s.err == nil {
		s.err = s.transport.end()
	}
	return s.err
}

// Close frees what the stream holds. Unless end came before, the client finds its stream broken; where net/http has the
// connection, the caller has to panic with http.ErrAbortHandler for that.
func (s *Stream) Close() {
	if s.transport != nil {
		s.transport.close()
	}
	if s.uncount != nil {
		s.uncount()
	}
}

// Aborter is a connection that was taken from net/http.
type Aborter interface {
	// Abort makes all that waits for the client fail.
	Abort()
}
