package eventloop

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"revtail/encoding"
	"revtail/etcdstore"
	"revtail/etcdstore/memory"
	"revtail/gateway/config/buildinfo"
	"revtail/gateway/http/response"
	"revtail/gateway/http/status"
	"revtail/gateway/metrics"
	"revtail/gateway/netio/http2"
	"revtail/gateway/netio/socket"
	"revtail/gateway/watch"
	"revtail/gateway/watch/transport"
	"revtail/gateway/watchcache"
	"revtail/gateway/watchcache/filter"
)

// variant is one way to serve watches.
type variant struct {
	protocol string // plain, TLS or HTTP/2
	loop     bool   // with the event loop
	frames   bool   // with hijacked streams on HTTP/2
}

// variants are all variants.
var variants = []variant{
	{"plain", true, false}, {"TLS", true, false}, {"HTTP/2", true, true},
	{"plain", false, false}, {"TLS", false, false}, {"HTTP/2", false, true}, {"HTTP/2", true, false},
}

// adopts reports whether the event loop adopts sessions.
func (v variant) adopts() bool {
	return runtime.GOOS == "linux" && v.loop && (v.protocol != "HTTP/2" || v.frames)
}

func (v variant) String() string {
	name := v.protocol
	if !v.loop {
		name += " without the event loop"
	}
	if v.protocol == "HTTP/2" && !v.frames {
		name += " without frames of our own"
	}
	return name
}

// overAll runs a test with all variants.
func overAll(t *testing.T, timeout time.Duration, test func(t *testing.T, s *loopServer)) {
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) { test(t, newLoopServer(t, v, timeout)) })
	}
}

// overLoops runs a test with the variants whose event loop adopts sessions.
func overLoops(t *testing.T, test func(t *testing.T, s *loopServer)) {
	for _, v := range variants {
		if v.adopts() {
			t.Run(v.String(), func(t *testing.T) { test(t, newLoopServer(t, v, socket.WriteTimeout)) })
		}
	}
}

// loopServer serves watches of one cache, over sockets with small buffers.
type loopServer struct {
	t       *testing.T
	variant variant
	store   *memory.Store
	cache   *watchcache.Cache
	watches *watch.Service
	pool    *Pool
	front   *httptest.Server
	window  uint32         // initial window of an HTTP/2 client; zero: the default of HTTP/2
	encoder watch.Encoder  // the encoder of the watches
	filter  *filter.Filter // of the watches; nil: none

	opened, adoptions atomic.Int64
	onAdopt           func(*watch.Session) // called by Adopt; nil: nothing
}

func newLoopServer(t *testing.T, v variant, timeout time.Duration) *loopServer {
	t.Helper()
	store := memory.New()
	return newLoopServerThrough(t, store, store, v, timeout)
}

// newLoopServerThrough starts a server whose cache reads from the store through, which wraps store.
func newLoopServerThrough(t *testing.T, store *memory.Store, through etcdstore.Store, v variant, timeout time.Duration) *loopServer {
	t.Helper()
	logger := slog.New(slog.DiscardHandler)
	s := &loopServer{t: t, variant: v, store: store, encoder: testEncoder{}}
	s.cache = watchcache.New(watchcache.Config{Store: through, Prefix: "/registry/configmaps/", Logger: logger, Gap: 2 * time.Millisecond, Decode: decodeConfigMap})
	s.pool = &Pool{logger: logger, writeTimeout: timeout, endTimeout: watch.InitialEventsTimeout}
	s.watches = &watch.Service{Opener: transport.NewOpener(nil, response.NewCompressors()), Logger: logger, Opened: func(*http.Request) { s.opened.Add(1) }}
	s.watches.Opener.WriteTimeout = timeout
	if v.loop {
		s.watches.Adopter = s
	}
	if !v.frames {
		s.watches.Opener.HTTP2 = nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	s.pool.Open(ctx)
	running.Go(func() { s.pool.Run(ctx) })
	running.Go(func() { _ = s.cache.Run(ctx) }) // always nil
	<-s.cache.Filled()
	s.serve(timeout)
	t.Cleanup(func() {
		s.front.CloseClientConnections()
		s.front.Close()
		cancel()
		running.Wait()
	})
	return s
}

// serve starts the server.
func (s *loopServer) serve(timeout time.Duration) {
	s.t.Helper()
	s.front = httptest.NewUnstartedServer(http.HandlerFunc(s.follow))
	s.front.Listener = narrowListener{s.front.Listener}
	if s.front.EnableHTTP2 = s.variant.protocol == "HTTP/2"; s.variant.frames {
		http2.Configure(s.front.Config)
	}
	if s.variant.protocol == "plain" {
		s.front.Start()
		return
	}
	if !s.variant.frames {
		s.front.Config.HTTP2 = &http.HTTP2Config{WriteByteTimeout: timeout} // for a connection that net/http writes to
	}
	s.front.Listener = transport.InterceptListener{Listener: s.front.Listener, WriteTimeout: timeout}
	s.front.StartTLS()
}

// follow answers a watch request.
func (s *loopServer) follow(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	after, err := strconv.ParseInt(query.Get("resourceVersion"), 10, 64)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.watches.Follow(w, r, watch.Start{
		Resource: "configmaps", Cache: s.cache, Query: watchcache.WatchQuery{After: etcdstore.Revision(after), Filter: s.filter}, Encoder: s.encoder,
		Bookmarks: query.Has("allowWatchBookmarks"), BookmarkEvery: watch.BookmarkPeriod, Deadline: time.Now().Add(time.Hour), Done: func() {},
		Fail: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		},
	})
}

// Adopt implements the adopter of package watch. It counts the sessions that the event loop adopts.
func (s *loopServer) Adopt(session *watch.Session, h transport.Handle) bool {
	if s.onAdopt != nil {
		s.onAdopt(session)
	}
	adopted := s.pool.Adopt(session, h)
	if adopted {
		s.adoptions.Add(1)
	}
	return adopted
}

func decodeConfigMap(kv etcdstore.KV, buffer []byte) (encoding.Object, error) {
	name := kv.Key[strings.LastIndexByte(kv.Key, '/')+1:]
	return encoding.NormalizeIn(buffer, kv.Value, encoding.Identity{APIVersion: "v1", Kind: "ConfigMap", Namespace: "default", Name: name}, int64(kv.Modified))
}

// testEncoder writes the JSON lines of Kubernetes.
type testEncoder struct{}

func (testEncoder) ContentType() string { return "application/json" }

func (testEncoder) Preamble() []byte { return nil }

func (testEncoder) Event(dst []byte, c watchcache.Change, _ bool) []byte {
	return encoding.AppendEvent(dst, c.Type, c.Object.JSON)
}

func (testEncoder) Bookmark(dst []byte, through etcdstore.Revision, _ bool) []byte {
	return encoding.AppendEvent(dst, encoding.Bookmark, fmt.Appendf(nil, `{"metadata":{"resourceVersion":"%d"}}`, through))
}

func (testEncoder) ErrorEvent(dst []byte, err error) []byte {
	return encoding.AppendError(dst, status.Of(err))
}

func (testEncoder) Passes() int { return 0 }

func (testEncoder) Shared() bool { return true }

// clients calls f for each client, on the goroutine of its event loop.
func (s *loopServer) clients(f func(*client)) {
	s.pool.mu.Lock()
	loops := s.pool.loops
	s.pool.mu.Unlock()
	for _, l := range loops {
		done := make(chan struct{})
		l.post(func() {
			defer close(done)
			for _, c := range l.clients {
				f(c)
			}
		})
		<-done
	}
}

// count returns for how many clients so returns true.
func (s *loopServer) count(so func(*client) bool) (n int) {
	s.clients(func(c *client) {
		if so(c) {
			n++
		}
	})
	return n
}

// blocked returns how many clients have not accepted all bytes that were sent.
func (s *loopServer) blocked() int { return s.watches.Stats.Figures().Late }

// open returns how many watches have not ended.
func (s *loopServer) open() int { return int(s.opened.Load()) - int(s.watches.Stats.Departed()) }

// figure returns the value of a metric; -1: the metric does not exist.
func (s *loopServer) figure(metric string) float64 {
	s.t.Helper()
	page := httptest.NewRecorder()
	metrics.Handler(buildinfo.Info{}, metrics.Source{Caches: func() []metrics.Cache { return nil }, Watches: func() metrics.Watches {
		out := s.watches.Stats.Figures()
		out.Delays = append(out.Delays, s.pool.Delays()...)
		return out
	}}).ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(metric) + ` (\S+)$`).FindStringSubmatch(page.Body.String())
	if found == nil {
		return -1
	}
	value, err := strconv.ParseFloat(found[1], 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return value
}
