package http2

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	h2 "golang.org/x/net/http2"
)

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
