package eventloop

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	h2 "golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"revtail/gateway/gatewaytest/rawhttp"
	"revtail/gateway/netio/socket"
)

// http2Body is the body of the response to the only request on a connection. The client grants only the bytes that it has read.
type http2Body struct {
	framer *h2.Framer
	rest   []byte
	ended  bool
}

// askHTTP2 requests path and returns the body of the response. window is the initial window of the stream; zero: the default of HTTP/2.
func askHTTP2(t *testing.T, conn net.Conn, path string, window uint32) *http2Body {
	t.Helper()
	b := &http2Body{framer: h2.NewFramer(conn, bufio.NewReaderSize(conn, 16))}
	var fields bytes.Buffer
	encoder := hpack.NewEncoder(&fields)
	for _, field := range [][2]string{{":method", "GET"}, {":scheme", "https"}, {":authority", "localhost"}, {":path", path}} {
		_ = encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]}) // writes to memory
	}
	_, err := io.WriteString(conn, h2.ClientPreface)
	if err == nil {
		err = b.framer.WriteSettings(h2.Setting{ID: h2.SettingInitialWindowSize, Val: cmp.Or(window, 1<<16-1)})
	}
	if err == nil {
		err = b.framer.WriteWindowUpdate(0, 1<<20+window)
	}
	if err == nil {
		err = b.framer.WriteHeaders(h2.HeadersFrameParam{StreamID: 1, BlockFragment: fields.Bytes(), EndStream: true, EndHeaders: true})
	}
	for err == nil {
		var frame h2.Frame
		if frame, err = b.framer.ReadFrame(); err != nil {
			break
		}
		if head, ok := frame.(*h2.HeadersFrame); ok {
			if head.StreamEnded() {
				t.Fatal("the answer has no body")
			}
			return b
		}
		err = b.answer(frame)
	}
	t.Fatal(err)
	return nil
}

func (b *http2Body) Read(p []byte) (int, error) {
	for len(b.rest) == 0 {
		if b.ended {
			return 0, io.EOF
		}
		frame, err := b.framer.ReadFrame()
		if err != nil {
			return 0, fmt.Errorf("the stream is not at its end: %w", err)
		}
		if err := b.answer(frame); err != nil {
			return 0, err
		}
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, b.grant(n)
}

func (b *http2Body) grant(n int) error {
	if err := b.framer.WriteWindowUpdate(0, uint32(n)); err != nil || b.ended {
		return err
	}
	return b.framer.WriteWindowUpdate(1, uint32(n))
}

// answer responds to one frame.
func (b *http2Body) answer(frame h2.Frame) error {
	switch frame := frame.(type) {
	case *h2.DataFrame:
		b.rest, b.ended = bytes.Clone(frame.Data()), frame.StreamEnded()
	case *h2.RSTStreamFrame:
		return fmt.Errorf("the stream was reset: %v", frame.ErrCode)
	case *h2.GoAwayFrame:
		return fmt.Errorf("the server goes away: %v", frame.ErrCode)
	case *h2.SettingsFrame:
		if !frame.IsAck() {
			return b.framer.WriteSettingsAck()
		}
	case *h2.PingFrame:
		if !frame.IsAck() {
			return b.framer.WritePing(true, frame.Data)
		}
	}
	return nil
}

// TestStreamsOfOneConnection checks that watches whose client reads get all events while other watches of the same connection are not read.
// The latter get all events later, from etcd's history.
func TestStreamsOfOneConnection(t *testing.T) {
	const watchers, lazy, events = 12, 4, 80
	s := newLoopServer(t, variant{"HTTP/2", true, true}, socket.WriteTimeout)
	revision := s.create("first")
	var bodies []*bufio.Reader
	for range watchers {
		before := s.adoptions.Load()
		answer := rawhttp.Get(t, s.front.Client(), fmt.Sprintf("%s/?resourceVersion=%v", s.front.URL, revision), "Accept-Encoding", "identity")
		defer func() { _ = answer.Body.Close() }()
		bodies = append(bodies, bufio.NewReader(answer.Body))
		s.awaitAdoption(before)
	}
	expect := func(body *bufio.Reader) {
		for number := range events {
			line, err := body.ReadString('\n')
			if err != nil || !strings.Contains(line, fmt.Sprintf(`"value":"%dx`, number)) {
				t.Errorf("event %d: %d bytes, %.200s, %v", number, len(line), line, err)
				return
			}
		}
	}
	var reading sync.WaitGroup
	for _, body := range bodies[lazy:] {
		reading.Go(func() { expect(body) })
	}
	for number := range events {
		s.sized(number, 100<<10)
	}
	reading.Wait()
	for _, body := range bodies[:lazy] {
		expect(body)
	}
}

// TestConnectionsAreForgotten checks that a loop knows a connection as long as it serves streams of it.
func TestConnectionsAreForgotten(t *testing.T) {
	s := newLoopServer(t, variant{"HTTP/2", true, true}, socket.WriteTimeout)
	revision := s.create("first")
	var bodies []io.Closer
	for range 3 {
		before := s.adoptions.Load()
		answer := rawhttp.Get(t, s.front.Client(), fmt.Sprintf("%s/?resourceVersion=%v", s.front.URL, revision), "Accept-Encoding", "identity")
		bodies = append(bodies, answer.Body)
		s.awaitAdoption(before)
	}
	for left := len(bodies); ; left-- {
		rawhttp.Await(t, fmt.Sprintf("%d clients", left), func() bool {
			streams, connections := s.connections()
			return streams == left && connections == min(left, 1)
		})
		if left == 0 {
			return
		}
		if err := bodies[left-1].Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// connections returns the numbers of HTTP/2 streams and connections that loops know.
func (s *loopServer) connections() (streams, connections int) {
	s.pool.mu.Lock()
	loops := s.pool.loops
	s.pool.mu.Unlock()
	for _, l := range loops {
		done := make(chan struct{})
		l.post(func() {
			defer close(done)
			for _, of := range l.connections {
				streams += of.clients
			}
			connections += len(l.connections)
		})
		<-done
	}
	return streams, connections
}
