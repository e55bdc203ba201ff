package eventloop

import (
	"bufio"
	"io"
	"net"
	"strings"
	"testing"

	"revtail/gateway/gatewaytest/rawhttp"
	"revtail/gateway/watchcache"
	"revtail/gateway/watchcache/filter"
)

// dearEncoder needs more work than a loop may do, and lasts until it may go on.
type dearEncoder struct {
	testEncoder
	began, goOn chan struct{}
}

func newDearEncoder() dearEncoder {
	return dearEncoder{began: make(chan struct{}, 8), goOn: make(chan struct{})}
}

func (dearEncoder) Passes() int { return 1 << 40 }

func (e dearEncoder) Event(dst []byte, c watchcache.Change, last bool) []byte {
	e.began <- struct{}{}
	<-e.goOn
	return e.testEncoder.Event(dst, c, last)
}

// TestDearWatchDelaysNobody checks that all loops deliver an event while another watch is still encoding it, and that this watch gets it too.
func TestDearWatchDelaysNobody(t *testing.T) {
	overLoops(t, func(t *testing.T, s *loopServer) {
		revision := s.create("first")
		dear := newDearEncoder()
		s.encoder = dear
		_, dearBody := s.watchFrom(revision, "")
		s.encoder = testEncoder{}
		var others []*bufio.Reader
		for range 4 {
			_, body := s.watchFrom(revision, "")
			others = append(others, body)
		}
		s.create("second")
		<-dear.began
		for _, other := range others {
			expectEvent(t, other, "second")
		}
		close(dear.goOn)
		expectEvent(t, dearBody, "second")
		s.create("third")
		expectEvent(t, dearBody, "third")
		expectEvent(t, others[0], "third")
	})
}

// expectEvent reads the next line of a watch.
func expectEvent(t *testing.T, body *bufio.Reader, name string) {
	t.Helper()
	if line, err := body.ReadString('\n'); err != nil || !strings.Contains(line, `"name":"`+name+`"`) {
		t.Fatalf("the watch got %q, %v, want the event of %s", line, err, name)
	}
}

// TestDearWatchEnds checks the ends of a watch while a goroutine encodes its batch.
func TestDearWatchEnds(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, s *loopServer, conn net.Conn){
		"client closes": func(t *testing.T, s *loopServer, conn net.Conn) {
			_ = conn.Close()
			rawhttp.Await(t, "the loop to notice", func() bool { return s.count(func(*client) bool { return true }) == 0 })
		},
		"drain": func(t *testing.T, s *loopServer, _ net.Conn) {
			go func() { _ = s.watches.Registry.Drain(t.Context()) }()
			rawhttp.Await(t, "the loop to end it", func() bool { return s.count(func(c *client) bool { return c.endWhen != nil }) == 1 })
		},
	} {
		t.Run(name, func(t *testing.T) {
			overLoops(t, func(t *testing.T, s *loopServer) {
				revision := s.create("first")
				dear := newDearEncoder()
				s.encoder = dear
				conn, body := s.watchFrom(revision, "")
				s.create("second")
				<-dear.began
				end(t, s, conn)
				close(dear.goOn)
				if name == "drain" {
					if got, err := io.ReadAll(body); err != nil || !strings.Contains(string(got), `"second"`) {
						t.Errorf("the client got %q, %v", got, err)
					}
				}
				rawhttp.Await(t, "the watch to be gone", func() bool { return s.open() == 0 && s.cache.Stats().Watchers == 0 })
			})
		})
	}
}

// brokenDearEncoder panics on a goroutine of its own.
type brokenDearEncoder struct{ brokenEncoder }

func (brokenDearEncoder) Passes() int { return 1 << 40 }

func TestPanicOfADearWatchBreaksTheStream(t *testing.T) {
	overLoops(t, func(t *testing.T, s *loopServer) {
		s.encoder = brokenDearEncoder{}
		_, body := s.watchFrom(s.create("first"), "")
		s.create("second")
		if got, err := io.ReadAll(body); err == nil {
			t.Errorf("the client took %q for complete", got)
		}
		rawhttp.Await(t, "the watch to be gone", func() bool { return s.open() == 0 && s.cache.Stats().Watchers == 0 })
	})
}

// TestEqualFiltersShareResults checks that the watches of a loop wait for the first one that evaluates their filter, and share its result.
func TestEqualFiltersShareResults(t *testing.T) {
	overLoops(t, func(t *testing.T, s *loopServer) {
		dialect := filter.Objects()
		compiled, err := dialect.Compile(`object.metadata.name.startsWith("s")`)
		if err != nil {
			t.Fatal(err)
		}
		revision := s.create("first")
		s.filter = compiled
		var watches []*bufio.Reader
		for range 40 {
			_, body := s.watchFrom(revision, "")
			watches = append(watches, body)
		}
		s.create("second")
		for _, body := range watches {
			expectEvent(t, body, "second")
		}
		if n := dialect.Evaluated(); n > 10 { // once by each loop, and by those that were woken meanwhile
			t.Errorf("the filter was evaluated %d times for %d watches", n, len(watches))
		}
	})
}
