package http2

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	h2 "golang.org/x/net/http2"

	"revtail/gateway/netio/stranger"
)

// strangerListener accepts strangers.
type strangerListener struct {
	listener
	strangers *stranger.Registry
}

func (l strangerListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &strangerConn{diverted{Conn: conn, stall: l.stall}, l.strangers.Add(func() { _ = conn.Close() })}, nil
}

type strangerConn struct {
	diverted
	stranger *stranger.Stranger
}

func (c *strangerConn) Stranger() *stranger.Stranger { return c.stranger }

// dialAsStranger starts a server whose connections are strangers until a handler calls Known of the context's Stranger, and connects to it.
func dialAsStranger(t *testing.T, handler http.HandlerFunc) *peer {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = true
	server.Listener = strangerListener{listener{server.Listener, time.Minute}, stranger.NewRegistry()}
	Configure(server.Config)
	server.StartTLS()
	t.Cleanup(server.Close)
	return dialServer(t, server, 1<<20, 1<<20)
}

func (p *peer) wantAnswers(n int) {
	p.t.Helper()
	for range n {
		if _, err := p.body(); err != nil {
			p.t.Fatal(err)
		}
	}
}

// moment is how long a handler waits for what must not happen.
const moment = 50 * time.Millisecond

// TestStrangersWait checks that a stranger is served two requests at a time, also if it resets them, and that a known client is served all.
func TestStrangersWait(t *testing.T) {
	const requests = 20
	for _, resets := range []bool{false, true} {
		t.Run(map[bool]string{false: "answered", true: "reset"}[resets], func(t *testing.T) {
			var serving, served atomic.Int64
			done := make(chan struct{})
			p := dialAsStranger(t, func(http.ResponseWriter, *http.Request) {
				if n := serving.Add(1); n > maxStrangerStreams {
					t.Errorf("%d requests are served", n)
				}
				<-time.After(moment)
				serving.Add(-1)
				if served.Add(1) == requests {
					close(done)
				}
			})
			for i := range uint32(requests) {
				p.ask(2*i+1, "/")
				if resets {
					p.must(p.framer.WriteRSTStream(2*i+1, h2.ErrCodeCancel))
				}
			}
			<-done
			if !resets {
				p.wantAnswers(requests)
			}
		})
	}
	t.Run("known", func(t *testing.T) {
		var serving atomic.Int64
		all := make(chan struct{})
		p := dialAsStranger(t, func(_ http.ResponseWriter, r *http.Request) {
			stranger.Of(connOf(r)).Known()
			if serving.Add(1) == requests {
				close(all)
			}
			<-all
		})
		for i := range uint32(requests) {
			p.ask(2*i+1, "/")
		}
		p.wantAnswers(requests)
	})
}

// connOf returns the connection of a request.
func connOf(r *http.Request) net.Conn {
	return r.Context().Value(connectionKey{}).(*connection).conn.secure
}

// TestBodiesOfStrangersWait checks that the body of a request is read when the request has been authenticated, or answered.
func TestBodiesOfStrangersWait(t *testing.T) {
	bodies := make(chan string, 1)
	p := dialAsStranger(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/refused" {
			return
		}
		go func() {
			body, _ := io.ReadAll(r.Body) // an error makes it shorter
			bodies <- string(body)
		}()
		select {
		case body := <-bodies:
			t.Errorf("read %q of a stranger", body)
			return
		case <-time.After(moment):
		}
		stranger.Of(connOf(r)).Known()
		if body := <-bodies; body != "body" {
			t.Errorf("read %q", body)
		}
	})
	for i, path := range []string{"/refused", "/"} {
		id := uint32(2*i + 1)
		block := p.blockOf(":method", "POST", ":scheme", "https", ":authority", "localhost", ":path", path)
		p.must(p.framer.WriteHeaders(h2.HeadersFrameParam{StreamID: id, BlockFragment: block, EndHeaders: true}))
		p.must(p.framer.WriteData(id, true, []byte("body")))
		if _, err := p.bodyOf(id); err != nil {
			t.Fatal(path, err)
		}
	}
}

// TestResetAfterTheHandler checks that a stream of a stranger does not count any more when its handler has returned and the client has reset
// it, in either order: net/http then writes no end of the stream.
func TestResetAfterTheHandler(t *testing.T) {
	for _, first := range []bool{true, false} {
		reset := appendFrame(nil, h2.FrameRSTStream, 0, 1, make([]byte, resetSize))
		c := &Conn{
			secure: recorded{Reader: bytes.NewReader(reset)}, streams: make(map[uint32]*Stream),
			stranger: stranger.NewRegistry().Add(func() {}),
		}
		c.changed.L = &c.mu
		c.in.conn = c
		s := &Stream{conn: c, id: 1}
		c.streams[1] = s
		if first {
			s.endHandler()
		}
		if _, err := io.Copy(io.Discard, c); err != nil {
			t.Fatal(err)
		}
		if !first {
			s.endHandler()
		}
		if len(c.streams) > 0 {
			t.Errorf("the handler returned first: %v, and the stream still counts", first)
		}
	}
}
