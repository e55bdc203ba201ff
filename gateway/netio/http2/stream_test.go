package http2

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"weak"

	h2 "golang.org/x/net/http2"
)

// pattern returns n bytes that contain their own offsets.
func pattern(n int) []byte {
	var out bytes.Buffer
	for i := 0; out.Len() < n; i++ {
		fmt.Fprintf(&out, "%07d\n", i)
	}
	return out.Bytes()[:n]
}

// TestHandlersGetTheirStreams checks that a handler gets all header fields and its own stream, however the client splits the fields into
// frames.
func TestHandlersGetTheirStreams(t *testing.T) {
	type headers = h2.HeadersFrameParam
	split := func(p *peer, first, rest headers, blocks ...[]byte) {
		p.must(p.framer.WriteHeaders(first))
		for i, block := range blocks {
			p.must(p.framer.WriteContinuation(rest.StreamID, i == len(blocks)-1, block))
		}
	}
	shapes := map[string]func(p *peer, id uint32, block []byte){
		"whole": func(p *peer, id uint32, block []byte) {
			split(p, headers{StreamID: id, BlockFragment: block, EndStream: true, EndHeaders: true}, headers{})
		},
		"padded": func(p *peer, id uint32, block []byte) {
			split(p, headers{StreamID: id, BlockFragment: block, EndStream: true, EndHeaders: true, PadLength: 77}, headers{})
		},
		"with a priority": func(p *peer, id uint32, block []byte) {
			split(p, headers{StreamID: id, BlockFragment: block, EndStream: true, EndHeaders: true, PadLength: 1, Priority: h2.PriorityParam{Weight: 7}}, headers{})
		},
		"in parts": func(p *peer, id uint32, block []byte) {
			split(p, headers{StreamID: id, BlockFragment: block[:5], EndStream: true}, headers{StreamID: id}, block[5:9], block[9:])
		},
		"in parts of which some are empty": func(p *peer, id uint32, block []byte) {
			split(p, headers{StreamID: id, EndStream: true, PadLength: 3}, headers{StreamID: id}, nil, block, nil)
		},
	}
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		t.Run(name, func(t *testing.T) {
			p := dial(t, time.Minute, 1<<20, 1<<20, func(w http.ResponseWriter, r *http.Request) {
				stream := take(t, w)
				respond(t, stream, fmt.Appendf(nil, "%s %s %q %q", r.Method, r.URL.Path, r.Header["X-More"], r.Header[streamHeader]))
			})
			for i := range 3 { // the header tables of client and server stay equal
				id := uint32(2*i + 1)
				path := fmt.Sprint("/", i)
				shapes[name](p, id, p.block(path, "x-more", "more", streamField, "5", streamField, "abcdefgh1"))
				body, err := p.body()
				if want := "GET " + path + ` ["more"] []`; string(body) != want || err != nil {
					t.Errorf("the handler got %s, not %s; %v", body, want, err)
				}
			}
		})
	}
}

// TestStreamsOutliveTheirHandlers checks that a hijacked stream stays open when its handler returns, is complete after End, and broken after
// Reset or a panic of the handler.
func TestStreamsOutliveTheirHandlers(t *testing.T) {
	sent := pattern(1 << 20)
	returned := make(chan *Stream, 4)
	p := dial(t, time.Minute, 1<<30, 1<<30, func(w http.ResponseWriter, r *http.Request) {
		stream := take(t, w)
		if r.URL.Path == "/panic" {
			panic(http.ErrAbortHandler)
		}
		go func() {
			<-r.Context().Done() // the handler has returned, if it does not keep the connection open
			returned <- stream
		}()
	})
	send := func(stream *Stream) {
		if n, err := stream.Send(sent[:maxFrames/2]); n != maxFrames/2 || err != nil {
			t.Errorf("%d bytes, %v", n, err)
		} // and no call of Flush
	}
	p.ask(1, "/") // one of the two handlers keeps the connection open
	p.ask(3, "/")
	stream := <-returned
	send(stream)
	stream.End()
	if body, err := p.bodyOf(stream.id); err != nil || !bytes.Equal(body, sent[:maxFrames/2]) {
		t.Errorf("%d bytes, %v", len(body), err)
	}
	p.ask(5, "/broken")
	stream = <-returned
	send(stream)
	stream.Reset()
	if _, err := p.bodyOf(5); !errors.Is(err, errReset) {
		t.Errorf("a broken stream ends with %v", err)
	}
	p.ask(7, "/panic")
	if _, err := p.bodyOf(7); !errors.Is(err, errReset) {
		t.Errorf("the stream of a handler that panics ends with %v", err)
	}
	if _, err := stream.Send(sent); !errors.Is(err, errGone) {
		t.Errorf("Send after Reset: %v", err)
	}
}

// TestHijackedStreamsKeepTheConnection checks that a connection stays open, and serves other requests, while one of its streams is hijacked:
// longer than the idle timeout, after the client has reset the stream that was hijacked first, and with all handlers returned. Without a
// hijacked stream it is closed after the idle timeout.
func TestHijackedStreamsKeepTheConnection(t *testing.T) {
	const idle = 50 * time.Millisecond
	streams := make(chan *Stream, 2)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hijacked" {
			streams <- take(t, w)
			return
		}
		_, _ = io.WriteString(w, "short") // the client checks it
	}))
	server.Config.IdleTimeout = idle
	startServer(server, time.Minute)
	t.Cleanup(server.Close)
	p := dialAndAsk(t, server, "/hijacked")
	first := <-streams
	p.ask(3, "/hijacked")
	second := <-streams
	ended := own(first).end
	p.must(p.framer.WriteRSTStream(1, h2.ErrCodeCancel))
	<-ended
	<-time.After(4 * idle)
	p.ask(5, "/short")
	if body, err := p.bodyOf(5); string(body) != "short" || err != nil {
		t.Errorf("%q, %v", body, err)
	}
	<-time.After(4 * idle)
	respond(t, second, []byte("still open"))
	if body, err := p.bodyOf(3); string(body) != "still open" || err != nil {
		t.Errorf("%q, %v", body, err)
	}
	frame, err := p.next()
	if goAway, ok := frame.(*h2.GoAwayFrame); !ok || goAway.ErrCode != h2.ErrCodeNo {
		t.Errorf("an idle connection ends with %v, %v", frame, err)
	}
}

// dialAndAsk connects to a server and asks for path on stream 1. It tries again when the idle timeout has ended the connection before the request.
func dialAndAsk(t *testing.T, server *httptest.Server, path string) *peer {
	t.Helper()
	for {
		p := dialServer(t, server, 1<<20, 1<<20)
		p.ask(1, path)
		frame, err := p.next()
		p.must(err)
		if _, ok := frame.(*h2.HeadersFrame); ok {
			return p
		}
	}
}

// TestHijackedStreamsAreLimited checks that a connection has at most HTTP2Config.MaxConcurrentStreams hijacked streams, although net/http does
// not count those whose handlers have returned.
func TestHijackedStreamsAreLimited(t *testing.T) {
	const limit = 3
	streams := make(chan *Stream)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		streams <- takeIfThereIsRoom(t, w)
	}))
	server.Config.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: limit}
	startServer(server, time.Minute)
	t.Cleanup(server.Close)
	p := dialServer(t, server, 1<<20, 1<<20)
	var taken []*Stream
	for i := range limit {
		p.ask(uint32(2*i+1), "/")
		taken = append(taken, <-streams)
	}
	p.ask(101, "/")
	if <-streams != nil {
		t.Error("more streams than the limit are hijacked")
	}
	taken[1].End()
	p.ask(103, "/")
	if <-streams == nil {
		t.Error("no stream is hijacked after another one has ended")
	}
}

// TestUnfinishedRequestsAreLeftToOthers checks that a stream is not hijacked while the client may send a body: net/http would reset it when its
// handler returns.
func TestUnfinishedRequestsAreLeftToOthers(t *testing.T) {
	p := dial(t, time.Minute, 1<<20, 1<<20, func(w http.ResponseWriter, _ *http.Request) {
		if StreamOf(w) != nil {
			t.Error("the stream can be taken")
		}
		_, _ = io.WriteString(w, "theirs") // the client checks it
	})
	p.must(p.framer.WriteHeaders(h2.HeadersFrameParam{StreamID: 1, BlockFragment: p.block("/"), EndHeaders: true}))
	if body, err := p.body(); string(body) != "theirs" || err != nil {
		t.Errorf("%q, %v", body, err)
	}
}

// TestClientsEndStreams checks that OnEnd is called when the client resets a stream that waits for room, and that Send fails afterwards.
func TestClientsEndStreams(t *testing.T) {
	ended := make(chan error, 1)
	p := dial(t, time.Minute, 1000, 1<<20, func(w http.ResponseWriter, _ *http.Request) {
		stream := take(t, w)
		owner := own(stream)
		n, err := stream.Send(make([]byte, 2000))
		stream.Conn().Flush()
		if n != 1000 || err != nil || stream.Ready() {
			t.Errorf("%d of 1000 bytes, %v", n, err)
		}
		<-owner.end
		_, err = stream.Send([]byte("more"))
		stream.conn.mu.Lock()
		defer stream.conn.mu.Unlock()
		if len(stream.conn.waiting) > 0 {
			t.Error("the connection keeps a stream that has ended, because it has waited")
		}
		ended <- err
	})
	p.ask(1, "/")
	for {
		frame, err := p.next()
		p.must(err)
		if _, ok := frame.(*h2.DataFrame); ok {
			break
		}
	}
	p.must(p.framer.WriteRSTStream(1, h2.ErrCodeCancel))
	if err := <-ended; !errors.Is(err, errGone) {
		t.Errorf("Send returned %v", err)
	}
}

// TestConnectionsAreForgotten checks that no timer keeps a connection in memory whose client has left with open streams.
func TestConnectionsAreForgotten(t *testing.T) {
	taken := make(chan weak.Pointer[Conn], 1)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { taken <- weak.Make(take(t, w).conn) }))
	server.Config.IdleTimeout = time.Hour
	startServer(server, time.Minute)
	t.Cleanup(server.Close)
	p := dialServer(t, server, 1000, 1<<20)
	p.ask(1, "/")
	conn := <-taken
	p.must(p.conn.Close())
	for began := time.Now(); conn.Value() != nil; runtime.GC() {
		if time.Since(began) > 10*time.Second {
			t.Fatal("the connection is in memory")
		}
	}
}

// TestSmallWindowsAreLeftToOthers checks that net/http alone serves a client that grants nothing on the connection.
func TestSmallWindowsAreLeftToOthers(t *testing.T) {
	p := dial(t, time.Minute, 1<<20, 0, func(w http.ResponseWriter, _ *http.Request) {
		if StreamOf(w) != nil {
			t.Error("the stream can be taken")
		}
		_, _ = io.WriteString(w, "theirs")
	})
	p.ask(1, "/")
	if body, err := p.body(); string(body) != "theirs" || err != nil {
		t.Errorf("%q, %v", body, err)
	}
}

// TestStalledClientsAreDisconnected checks that a connection whose client reads nothing is closed, whether net/http or a hijacked stream has bytes
// to send.
func TestStalledClientsAreDisconnected(t *testing.T) {
	for _, path := range []string{"/ours", "/theirs"} {
		t.Run(path[1:], func(t *testing.T) {
			ended := make(chan struct{})
			p := dial(t, 200*time.Millisecond, 1<<30, 1<<30, func(w http.ResponseWriter, _ *http.Request) {
				if path == "/theirs" {
					for err := error(nil); err == nil; {
						_, err = w.Write(make([]byte, 1<<20))
					}
					close(ended)
					return
				}
				stream := take(t, w)
				for err := error(nil); err == nil; {
					err = sendAll(stream, make([]byte, 1<<20))
				}
				close(ended)
			})
			p.ask(1, path)
			<-ended
		})
	}
}

// TestTooMuchIsRefused checks that a client that grants more than the largest window loses its connection, as RFC 9113 requires.
func TestTooMuchIsRefused(t *testing.T) {
	for name, stream := range map[string]uint32{"connection": 0, "stream": 1} {
		t.Run(name, func(t *testing.T) {
			taken, gone := make(chan struct{}), make(chan struct{})
			p := dial(t, time.Minute, 1<<20, 1<<20, func(w http.ResponseWriter, _ *http.Request) {
				defer close(gone)
				o := own(take(t, w))
				close(taken)
				<-o.end
			})
			p.ask(1, "/")
			_, err := p.next()
			p.must(err)
			<-taken // before it, net/http answers for the stream
			p.must(p.framer.WriteWindowUpdate(stream, maxWindow))
			<-gone
		})
	}
}

// TestLargestHeadersAreServed checks that a request is served whose header fields fill the largest frame, because streamField is added to them.
func TestLargestHeadersAreServed(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		respond(t, take(t, w), []byte(r.URL.Path))
	}))
	server.Config.HTTP2 = &http.HTTP2Config{MaxReadFrameSize: defaultFrame}
	startServer(server, time.Minute)
	defer server.Close()
	p := dialServer(t, server, 1<<20, 1<<20)
	block := p.block("/", "x-large", strings.Repeat("~", defaultFrame-200))
	p.must(p.framer.WriteHeaders(h2.HeadersFrameParam{
		StreamID: 1, BlockFragment: block, EndStream: true, EndHeaders: true, PadLength: uint8(defaultFrame - 1 - len(block)),
	}))
	if body, err := p.body(); string(body) != "/" || err != nil {
		t.Errorf("the answer is %q, %v", body, err)
	}
}
