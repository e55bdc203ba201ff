package http2

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"

	h2 "golang.org/x/net/http2"
)

// recorded is a TLS connection whose reads return recorded bytes.
type recorded struct {
	net.Conn
	*bytes.Reader
}

func (r recorded) Read(p []byte) (int, error) { return r.Reader.Read(p) }

// framesOf splits sent into frames, and returns the remaining bytes.
func framesOf(sent []byte) (frames [][]byte, rest []byte) {
	for len(sent) >= headerSize {
		size := headerSize + (*frameHeader)(sent).length()
		if size > len(sent) {
			break
		}
		frames, sent = append(frames, sent[:size]), sent[size:]
	}
	return frames, sent
}

// FuzzIncoming checks that net/http gets every frame of the client except some window updates, and gets them unchanged, except that
// a CONTINUATION frame with streamField follows header fields.
func FuzzIncoming(f *testing.F) {
	var sent bytes.Buffer
	framer := h2.NewFramer(&sent, nil)
	for _, err := range []error{
		framer.WriteSettings(h2.Setting{ID: h2.SettingInitialWindowSize, Val: 70_000}, h2.Setting{ID: h2.SettingMaxFrameSize, Val: 1 << 20}),
		framer.WriteWindowUpdate(0, 1<<20),
		framer.WriteHeaders(h2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte("block"), EndHeaders: true, PadLength: 9}),
		framer.WriteHeaders(h2.HeadersFrameParam{StreamID: 3, BlockFragment: []byte("block")}),
		framer.WriteContinuation(3, true, []byte("more")),
		framer.WriteData(1, true, []byte("body")),
		framer.WriteWindowUpdate(1, 100),
		framer.WriteRSTStream(3, h2.ErrCodeCancel),
		framer.WritePing(false, [8]byte{}),
	} {
		if err != nil {
			f.Fatal(err)
		}
	}
	f.Add(sent.Bytes(), uint8(3))
	f.Add(sent.Bytes()[:50], uint8(200))
	f.Fuzz(func(t *testing.T, sent []byte, piece uint8) {
		c := &Conn{
			secure: recorded{Reader: bytes.NewReader(sent)}, secret: "abcdefgh",
			window: newWindow(), initial: defaultWindow, size: defaultFrame, streams: make(map[uint32]*Stream),
		}
		c.changed.L = &c.mu
		c.in = incoming{conn: c}
		var got []byte
		var err error
		for part := make([]byte, int(piece)+1); err == nil; {
			var n int
			n, err = c.Read(part)
			got = append(got, part[:n]...)
		}
		if errors.Is(err, errWindow) {
			return
		}
		if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatal(err)
		}
		compareFrames(t, sent, got)
	})
}

func compareFrames(t *testing.T, sent, got []byte) {
	t.Helper()
	frames, _ := framesOf(sent)
	passed, _ := framesOf(got)
	for _, frame := range frames {
		h := (*frameHeader)(frame)
		grant := h.kind() == h2.FrameWindowUpdate && h.length() == 4
		switch {
		case len(passed) == 0:
			if !grant {
				t.Fatalf("%x has not passed", frame)
			}
			return
		case bytes.Equal(passed[0], frame):
		case grant && (*frameHeader)(passed[0]).kind() == h2.FrameWindowUpdate && bytes.Equal(passed[0][:headerSize], frame[:headerSize]):
		case grant:
			continue // net/http may not get it
		case h.isBlock() && h.endsBlock() && len(passed) == 1:
			return // the end of the fields has not passed
		case h.isBlock() && h.endsBlock() && bytes.Contains(passed[1], []byte(streamField)):
			if h.clear(h2.FlagHeadersEndHeaders); !bytes.Equal(passed[0], frame) {
				t.Fatalf("%x has passed as %x", frame, passed[0])
			}
			passed = passed[1:]
		default:
			t.Fatalf("%x has passed as %x", frame, passed[0])
		}
		passed = passed[1:]
	}
}

// FuzzOutgoing checks that outgoing finds the same ends of frames, however net/http splits its writes.
func FuzzOutgoing(f *testing.F) {
	f.Add([]byte{0, 0, 1, 0, 1, 0, 0, 0, 1, 'x', 0, 0, 0, 1, 0, 0, 0, 0, 3, 0, 0, 0, 9, 4, 0, 0, 0, 3}, uint8(4))
	f.Fuzz(func(t *testing.T, sent []byte, piece uint8) {
		whole, parts := new(outgoing), new(outgoing)
		count := func(o *outgoing, p []byte) (n int) {
			p, o.begun = append(o.begun, p...), nil
			for len(p) > 0 && (o.left > 0 || o.begin(p)) {
				passed, ended := o.pass(p)
				if passed == 0 {
					t.Fatal("nothing has passed")
				}
				if p = p[passed:]; ended {
					n++
				}
			}
			return n
		}
		want := count(whole, sent)
		got := 0
		for rest := sent; len(rest) > 0; {
			n := min(int(piece)+1, len(rest))
			got += count(parts, rest[:n])
			rest = rest[n:]
		}
		frames, rest := framesOf(sent)
		if want != len(frames) || got != want || whole.within() != parts.within() || len(rest) >= headerSize && !whole.within() {
			t.Errorf("%d and %d frames of %d, within: %v, %v", want, got, len(frames), whole.within(), parts.within())
		}
	})
}

// captured is a TLS connection that keeps the bytes that are written to it.
type captured struct {
	net.Conn
	bytes.Buffer
}

func (c *captured) Read(p []byte) (int, error)  { return c.Buffer.Read(p) }
func (c *captured) Write(p []byte) (int, error) { return c.Buffer.Write(p) }

// TestFramesStayWhole checks that, wherever a write of net/http ends, a frame of a hijacked stream is not inserted into one of its frames,
// nor between two frames that belong together, and that the frame that ends the hijacked stream for net/http is not sent.
func TestFramesStayWhole(t *testing.T) {
	var theirs bytes.Buffer
	framer := h2.NewFramer(&theirs, nil)
	for _, err := range []error{
		framer.WriteHeaders(h2.HeadersFrameParam{StreamID: 3, BlockFragment: []byte("some fields")}),
		framer.WriteContinuation(3, true, []byte("more fields")),
		framer.WriteData(3, false, []byte("their body")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	sent := bytes.Clone(theirs.Bytes())
	if err := framer.WriteData(1, true, nil); err != nil { // the handler has returned
		t.Fatal(err)
	}
	for stop := range theirs.Len() + 1 {
		secure := new(captured)
		c := &Conn{secure: secure, window: window{1 << 20, 1 << 19}, size: defaultFrame, streams: make(map[uint32]*Stream)}
		c.changed.L = &c.mu
		s := &Stream{conn: c, id: 1, window: 1 << 20, begun: true, taken: true}
		c.streams[1] = s
		write := func(p []byte) {
			if n, err := c.Write(p); n != len(p) || err != nil {
				t.Fatal(n, err)
			}
		}
		write(theirs.Bytes()[:stop])
		if n, err := s.Send([]byte("ours")); n != 4 || err != nil {
			t.Fatal(n, err)
		}
		c.Flush()
		write(theirs.Bytes()[stop:])
		frames, rest := framesOf(secure.Bytes())
		if len(frames) != 4 || len(rest) > 0 {
			t.Fatalf("stopped at %d, %d frames have left, and %x", stop, len(frames), rest)
		}
		ours := 0
		for i, frame := range frames {
			if bytes.Equal(frame, appendFrame(nil, h2.FrameData, 0, 1, []byte("ours"))) {
				ours = i
			}
		}
		if ours == 1 || !bytes.Equal(bytes.Join(append(frames[:ours:ours], frames[ours+1:]...), nil), sent) {
			t.Fatalf("stopped at %d, ours is frame %d of %x", stop, ours, frames)
		}
	}
}

// TestRoomAfterAFrame checks that OnRoom is called when net/http completes a frame, if Send had no room during the frame.
func TestRoomAfterAFrame(t *testing.T) {
	c := &Conn{secure: new(captured), window: window{1 << 20, 1 << 19}, size: defaultFrame, streams: make(map[uint32]*Stream)}
	c.changed.L = &c.mu
	s := &Stream{conn: c, id: 1, window: 1 << 20, begun: true, taken: true}
	c.streams[1] = s
	owner := own(s)
	theirs := appendFrame(nil, h2.FrameData, 0, 3, []byte("their body"))
	write := func(p []byte) {
		if _, err := c.Write(p); err != nil {
			t.Fatal(err)
		}
	}
	write(theirs[:12])
	if n, err := s.Send(make([]byte, 2*maxFrames)); n >= 2*maxFrames || err != nil || len(owner.room) > 0 {
		t.Fatalf("%d bytes, %v, %d calls of OnRoom", n, err, len(owner.room))
	}
	write(theirs[12:])
	if len(owner.room) != 1 || !s.Ready() {
		t.Errorf("%d calls of OnRoom", len(owner.room))
	}
}
