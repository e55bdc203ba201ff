package http2

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

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

// TestWindowsAreKept checks that a client never gets more bytes than it has granted, and in the end gets all of them, whatever it grants
// and when, on hijacked streams and on others. A stream that begins after the others have used up the window of the connection is not
// hijacked.
func TestWindowsAreKept(t *testing.T) {
	const size = 200_000
	for round := range 6 {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			random := rand.New(rand.NewPCG(uint64(round), 1))
			var taken atomic.Int32
			p := dial(t, time.Minute, uint32(random.IntN(20_000)), 100_000, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/ours" {
					if stream := takeIfThereIsRoom(t, w); stream != nil {
						taken.Add(1)
						go respond(t, stream, pattern(size))
						return
					}
				}
				_, _ = w.Write(pattern(size)) // the client checks the result
			})
			newWindows(p, random, 4, size, round%2 == 1).run()
			if taken.Load() == 0 {
				t.Error("no stream was taken")
			}
		})
	}
}

// windows records the bytes that a client has granted and received.
type windows struct {
	*peer
	random  *rand.Rand
	size    int
	scarce  bool // the client grants bytes on the connection only after the server stops sending
	initial int
	total   int            // of the connection
	owed    int            // received on the connection, and not granted again
	left    map[uint32]int // of streams that have not ended
	got     map[uint32][]byte
}

func newWindows(p *peer, random *rand.Rand, streams, size int, scarce bool) *windows {
	w := &windows{
		peer: p, random: random, size: size, scarce: scarce, initial: 20_000, total: defaultWindow + 100_000,
		left: make(map[uint32]int), got: make(map[uint32][]byte),
	}
	if scarce {
		w.initial = size
	}
	p.must(p.framer.WriteSettings(h2.Setting{ID: h2.SettingInitialWindowSize, Val: uint32(w.initial)})) // a second SETTINGS frame changes the window
	for i := range streams {
		id := uint32(2*i + 1)
		w.left[id] = w.initial
		p.ask(id, []string{"/theirs", "/ours"}[i%2])
	}
	return w
}

// received is a DATA frame.
type received struct {
	stream  uint32
	size    int // with padding
	payload []byte
	ended   bool
}

// receive reads DATA frames until the connection ends.
func (p *peer) receive(into chan<- received) {
	defer close(into)
	for {
		frame, err := p.framer.ReadFrame()
		if err != nil {
			return
		}
		if data, ok := frame.(*h2.DataFrame); ok {
			into <- received{data.StreamID, int(data.Length), bytes.Clone(data.Data()), data.StreamEnded()}
		}
	}
}

func (w *windows) run() {
	w.t.Helper()
	frames := make(chan received)
	go w.receive(frames)
	for len(w.left) > 0 {
		select {
		case data, ok := <-frames:
			if !ok {
				w.t.Fatal("the connection has ended")
			}
			w.take(data)
		case <-time.After(10 * time.Millisecond): // the server has nothing to send, or no window
			w.credit()
		}
	}
	_ = w.conn.Close() // ends receive
	for range frames {
	}
}

func (w *windows) take(data received) {
	w.t.Helper()
	w.got[data.stream] = append(w.got[data.stream], data.payload...)
	w.left[data.stream] -= data.size
	w.total -= data.size
	w.owed += data.size
	if w.left[data.stream] < 0 || w.total < 0 {
		w.t.Fatalf("stream %d has %d left, the connection %d", data.stream, w.left[data.stream], w.total)
	}
	if data.ended {
		w.ended(data.stream)
	}
	if w.scarce {
		return
	}
	if w.random.IntN(4) == 0 {
		w.credit()
	}
	w.grantSome()
}

// credit grants the connection the bytes that it has received.
func (w *windows) credit() {
	w.grant(0, w.owed)
	w.owed = 0
}

func (w *windows) ended(id uint32) {
	delete(w.left, id)
	if !bytes.Equal(w.got[id], pattern(w.size)) {
		w.t.Errorf("stream %d: %d bytes, not those that were sent", id, len(w.got[id]))
	}
}

// grantSome grants bytes to the streams without a window, and sometimes to others. Occasionally it uses a setting.
func (w *windows) grantSome() {
	if w.random.IntN(20) == 0 && w.initial < 200_000 {
		w.initial += 1000
		w.must(w.framer.WriteSettings(h2.Setting{ID: h2.SettingInitialWindowSize, Val: uint32(w.initial)}))
		for id := range w.left {
			w.left[id] += 1000
		}
	}
	for id := range w.left {
		if w.left[id] == 0 || w.random.IntN(8) == 0 {
			w.grant(id, 1+w.random.IntN(30_000))
		}
	}
}

func (w *windows) grant(id uint32, n int) {
	if n == 0 {
		return
	}
	if id == 0 {
		w.total += n
	} else {
		w.left[id] += n
	}
	w.must(w.framer.WriteWindowUpdate(id, uint32(n)))
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
	p := dialServer(t, server, 1<<20, 1<<20)
	p.ask(1, "/hijacked")
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

// TestWhoTakesNothingIsCut checks that a connection whose client reads nothing is closed, whether net/http or a hijacked stream has bytes
// to send.
func TestWhoTakesNothingIsCut(t *testing.T) {
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
			gone := make(chan struct{})
			p := dial(t, time.Minute, 1<<20, 1<<20, func(w http.ResponseWriter, _ *http.Request) {
				<-own(take(t, w)).end
				close(gone)
			})
			p.ask(1, "/")
			_, err := p.next()
			p.must(err)
			p.must(p.framer.WriteWindowUpdate(stream, maxWindow))
			<-gone
		})
	}
}

// TestLargeHeadersAreRefused checks that a request is not served if its header fields leave no room for streamField.
func TestLargeHeadersAreRefused(t *testing.T) {
	p := dial(t, time.Minute, 1<<20, 1<<20, func(http.ResponseWriter, *http.Request) { t.Error("the request was served") })
	block := p.block("/", "x-large", strings.Repeat("~", 1<<20))[:ourFrame]
	// The write may fail, because the server closes the connection.
	_ = p.framer.WriteHeaders(h2.HeadersFrameParam{StreamID: 1, BlockFragment: block, EndStream: true, EndHeaders: true})
	if body, err := p.body(); err == nil {
		t.Errorf("the answer is %q", body)
	}
}
