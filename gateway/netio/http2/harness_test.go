package http2

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	h2 "golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// diverted implements Below.
type diverted struct {
	net.Conn
	stall time.Duration
	sink  Sink
}

func (d *diverted) Divert(sink Sink) (net.Conn, syscall.RawConn, error) {
	raw, err := d.Conn.(syscall.Conn).SyscallConn()
	if err == nil {
		d.sink = sink
	}
	return stalling{d.Conn, d.stall}, raw, err
}

func (d *diverted) Write(p []byte) (int, error) {
	if d.sink != nil {
		return d.sink.Write(p)
	}
	return d.Conn.Write(p)
}

func (d *diverted) SetWriteDeadline(t time.Time) error {
	if d.sink != nil {
		return nil
	}
	return d.Conn.SetWriteDeadline(t)
}

func (d *diverted) Close() error {
	if d.sink != nil {
		d.sink.Flush()
	}
	return d.Conn.Close()
}

// stalling is a connection whose writes fail when they take longer than stall.
type stalling struct {
	net.Conn
	stall time.Duration
}

func (s stalling) Write(p []byte) (int, error) {
	if err := s.SetWriteDeadline(time.Now().Add(s.stall)); err != nil {
		return 0, err
	}
	return s.Conn.Write(p)
}

type listener struct {
	net.Listener
	stall time.Duration
}

func (l listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &diverted{Conn: conn, stall: l.stall}, nil
}

// peer is a client that reads and writes single frames.
type peer struct {
	t      *testing.T
	conn   *tls.Conn
	framer *h2.Framer
	fields bytes.Buffer
	coder  *hpack.Encoder
	heads  *hpack.Decoder
}

// dial starts a server and connects to it. The client grants windows of these sizes, in bytes: stream on each stream, and connection on the
// connection in addition to the default of 64 KiB.
func dial(t *testing.T, stall time.Duration, stream, connection uint32, handler http.HandlerFunc) *peer {
	t.Helper()
	server := newServer(stall, handler)
	t.Cleanup(server.Close)
	return dialServer(t, server, stream, connection)
}

// newServer starts a server.
func newServer(stall time.Duration, handler http.HandlerFunc) *httptest.Server {
	server := httptest.NewUnstartedServer(handler)
	startServer(server, stall)
	return server
}

func startServer(server *httptest.Server, stall time.Duration) {
	server.EnableHTTP2 = true
	server.Listener = listener{server.Listener, stall}
	Configure(server.Config)
	server.StartTLS()
}

func dialServer(t *testing.T, server *httptest.Server, stream, connection uint32) *peer {
	t.Helper()
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}}
	conn, err := dialer.DialContext(t.Context(), "tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	p := &peer{t: t, conn: conn.(*tls.Conn), framer: h2.NewFramer(conn, bufio.NewReader(conn)), heads: hpack.NewDecoder(4096, nil)}
	p.coder = hpack.NewEncoder(&p.fields)
	_, err = io.WriteString(conn, h2.ClientPreface)
	p.must(err)
	p.must(p.framer.WriteSettings(h2.Setting{ID: h2.SettingInitialWindowSize, Val: stream}))
	if connection > 0 {
		p.must(p.framer.WriteWindowUpdate(0, connection))
	}
	return p
}

func (p *peer) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// block returns the encoded header fields of a request.
func (p *peer) block(path string, more ...string) []byte {
	return p.blockOf(append([]string{":method", "GET", ":scheme", "https", ":authority", "localhost", ":path", path}, more...)...)
}

func (p *peer) blockOf(fields ...string) []byte {
	p.fields.Reset()
	for ; len(fields) > 0; fields = fields[2:] {
		p.must(p.coder.WriteField(hpack.HeaderField{Name: fields[0], Value: fields[1]}))
	}
	return p.fields.Bytes()
}

func (p *peer) ask(stream uint32, path string) {
	p.t.Helper()
	p.must(p.framer.WriteHeaders(h2.HeadersFrameParam{StreamID: stream, BlockFragment: p.block(path), EndStream: true, EndHeaders: true}))
}

// next returns the next HEADERS, DATA, RST_STREAM or GOAWAY frame. It acknowledges settings.
func (p *peer) next() (h2.Frame, error) {
	for {
		frame, err := p.framer.ReadFrame()
		if err != nil {
			return nil, err
		}
		switch frame := frame.(type) {
		case *h2.SettingsFrame:
			if frame.IsAck() {
				continue
			}
			if err := p.framer.WriteSettingsAck(); err != nil {
				return nil, err
			}
		case *h2.HeadersFrame:
			if _, err := p.heads.DecodeFull(frame.HeaderBlockFragment()); err != nil {
				return nil, err
			}
			return frame, nil
		case *h2.DataFrame, *h2.RSTStreamFrame, *h2.GoAwayFrame:
			return frame, nil
		}
	}
}

var errReset = errors.New("reset")

// body reads the response of the only open stream.
func (p *peer) body() ([]byte, error) { return p.bodyOf(0) }

// bodyOf reads the response of one stream, and ignores other streams; 0: the response of any stream.
func (p *peer) bodyOf(stream uint32) ([]byte, error) {
	var body []byte
	for {
		frame, err := p.next()
		if err != nil {
			return body, err
		}
		if stream != 0 && frame.Header().StreamID != stream {
			continue
		}
		switch frame := frame.(type) {
		case *h2.DataFrame:
			body = append(body, frame.Data()...)
			if frame.StreamEnded() {
				return body, nil
			}
		case *h2.HeadersFrame:
			if frame.StreamEnded() {
				return body, nil
			}
		case *h2.RSTStreamFrame:
			return body, errReset
		}
	}
}

// take hijacks the stream of a request, in its handler.
func take(t *testing.T, w http.ResponseWriter) *Stream {
	t.Helper()
	stream := takeIfThereIsRoom(t, w)
	if stream == nil {
		t.Error("the stream cannot be taken")
		panic(http.ErrAbortHandler)
	}
	return stream
}

// takeIfThereIsRoom hijacks the stream of a request; nil: the connection has too little room.
func takeIfThereIsRoom(t *testing.T, w http.ResponseWriter) *Stream {
	t.Helper()
	stream := StreamOf(w)
	if stream == nil {
		return nil
	}
	if err := http.NewResponseController(w).Flush(); err != nil {
		t.Error(err)
	}
	if err := stream.Take(); err != nil {
		panic(http.ErrAbortHandler)
	}
	return stream
}

// owner implements Owner.
type owner struct {
	room chan struct{} // gets a value for each call of OnRoom that finds it empty
	end  chan struct{} // closed by OnEnd
}

func own(stream *Stream) *owner {
	o := &owner{room: make(chan struct{}, 1), end: make(chan struct{})}
	stream.SetOwner(o)
	return o
}

func (o *owner) OnRoom() {
	select {
	case o.room <- struct{}{}:
	default:
	}
}

func (o *owner) OnEnd() { close(o.end) }

// sendAll sends data, and waits for room when it must.
func sendAll(stream *Stream, data []byte) error {
	owner := own(stream)
	for {
		n, err := stream.Send(data)
		stream.Conn().Flush()
		if data = data[n:]; err != nil || len(data) == 0 {
			return err
		}
		select {
		case <-owner.room:
		case <-owner.end:
			return stream.Ended()
		}
	}
}

// respond sends data as the rest of the response.
func respond(t *testing.T, stream *Stream, data []byte) {
	t.Helper()
	if err := sendAll(stream, data); err != nil {
		t.Error(err)
	}
	stream.End()
}
