package gateway

import (
	"bufio"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"revtail/etcdstore"
)

// lines is a stream that is read line by line.
type lines struct {
	t      *testing.T
	header http.Header
	reader *bufio.Reader
}

// follow opens a stream that ends with the test.
func (s *testServer) follow(path string, header ...string) *lines {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.url+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = response.Body.Close() })
	if response.StatusCode != http.StatusOK {
		s.t.Fatalf("%s: %s", path, response.Status)
	}
	return &lines{s.t, response.Header, bufio.NewReader(response.Body)}
}

func (l *lines) want(lines ...string) {
	l.t.Helper()
	for _, want := range lines {
		got, err := l.reader.ReadString('\n')
		if err != nil || strings.TrimSuffix(got, "\n") != want {
			l.t.Fatalf("the stream has %q (%v), want %q", got, err, want)
		}
	}
}

func (s *testServer) putKeys(pairs ...string) etcdstore.Revision {
	puts := map[string][]byte{}
	for i := 0; i < len(pairs); i += 2 {
		puts[pairs[i]] = []byte(pairs[i+1])
	}
	return s.store.Txn(puts, nil)
}

// shown returns the frame of a key that was written once.
func shown(key, value string, revision etcdstore.Revision) string {
	return fmt.Sprintf(`"key":%q,"value":%s,"encoding":"json","createRevision":%d,"modRevision":%d,"version":1`, key, value, revision, revision)
}

func TestKeysWatch(t *testing.T) {
	s := newTestServer(t)
	first := s.putKeys("/app/a", "1", "/app/b", "2", "/application", "3")
	l := s.follow("/v1/keys/app/?watch&prev=1")
	if kind := l.header.Get("Content-Type"); kind != "application/x-ndjson" {
		t.Errorf("Content-Type %q", kind)
	}
	l.want(fmt.Sprintf(`{"type":"PUT","revision":%d,%s}`, first, shown("/app/a", "1", first)),
		fmt.Sprintf(`{"type":"PUT","revision":%d,%s}`, first, shown("/app/b", "2", first)),
		fmt.Sprintf(`{"type":"SYNC","revision":%d}`, first))
	unseen := s.putKeys("/application", "4")
	both := s.store.Txn(map[string][]byte{"/app/c": []byte("5")}, []string{"/app/a"})
	after := []string{
		fmt.Sprintf(`{"type":"PUT","revision":%d,%s}`, both, shown("/app/c", "5", both)),
		fmt.Sprintf(`{"type":"DELETE","revision":%d,"last":true,"key":"/app/a","prev":{%s}}`, both, shown("/app/a", "1", first)),
	}
	l.want(after...)
	changed := s.putKeys("/app/b", `"x"`)
	last := fmt.Sprintf(`{"type":"PUT","revision":%d,"last":true,"key":"/app/b","value":"x","encoding":"json","createRevision":%d,"modRevision":%d,"version":2,"prev":{%s}}`,
		changed, first, changed, shown("/app/b", "2", first))
	l.want(last)
	sibling := s.putKeys("/app/bb", "1")

	s.follow(fmt.Sprintf("/v1/keys/app/?watch&prev&since=%d", unseen)).want(append(after, last)...)
	s.follow(fmt.Sprintf("/v1/keys/app/?watch&prev&since=%d", both)).want(append(after, last)...) // because a client may have only a part of a revision with several keys
	s.follow(fmt.Sprintf("/v1/keys/app/b?watch&prev&since=%d", unseen)).want(last)

	for range 2 { // streams of the same range share the frames
		one := s.follow("/v1/keys/app/b?watch")
		one.want(fmt.Sprintf(`{"type":"PUT","revision":%d,"key":"/app/b","value":"x","encoding":"json","createRevision":%d,"modRevision":%d,"version":2}`, changed, first, changed),
			fmt.Sprintf(`{"type":"SYNC","revision":%d}`, sibling))
	}
}

func TestKeysEventStream(t *testing.T) {
	s := newTestServer(t)
	first := s.putKeys("/app/a", "1")
	l := s.follow("/v1/keys/app/?watch", "Accept", "text/event-stream")
	for name, want := range map[string]string{"Content-Type": "text/event-stream", "X-Accel-Buffering": "no", "Cache-Control": "no-cache, no-transform"} {
		if got := l.header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if retry, err := l.reader.ReadString('\n'); err != nil || !strings.HasPrefix(retry, "retry: ") {
		t.Errorf("the stream begins with %q, %v", retry, err)
	}
	l.want("", fmt.Sprintf(`data: {"type":"PUT","revision":%d,%s}`, first, shown("/app/a", "1", first)), "",
		fmt.Sprintf("id: %d", first), fmt.Sprintf(`data: {"type":"SYNC","revision":%d}`, first), "")
	both := s.putKeys("/app/b", "1", "/app/c", "1")
	rest := []string{fmt.Sprintf(`data: {"type":"PUT","revision":%d,%s}`, both, shown("/app/b", "1", both)), "",
		fmt.Sprintf("id: %d", both), fmt.Sprintf(`data: {"type":"PUT","revision":%d,"last":true,%s}`, both, shown("/app/c", "1", both)), ""}
	l.want(rest...)

	for path, header := range map[string]string{"/v1/keys/app/?watch": fmt.Sprint(first), fmt.Sprintf("/v1/keys/app/?watch&lastEventId=%d", first): ""} {
		again := s.follow(path, "Accept", "text/event-stream", "Last-Event-ID", header)
		_, _ = again.reader.ReadString('\n')
		again.want(append([]string{""}, rest...)...)
	}
}

// TestEventStreamOfAResource reads a Kubernetes watch as a browser does.
func TestEventStreamOfAResource(t *testing.T) {
	s := newTestServer(t)
	first := s.create("a")
	l := s.follow(configMaps+"?watch=1", "Accept", "text/event-stream")
	_, _ = l.reader.ReadString('\n')
	l.want("")
	if line, err := l.reader.ReadString('\n'); err != nil || !strings.HasPrefix(line, `data: {"type":"ADDED","object":{"kind":"ConfigMap"`) {
		t.Errorf("%q, %v", line, err)
	}
	l.want("", "id: "+first, "") // the initial events are complete
	second := s.create("b")
	l.want("id: " + second)

	again := s.follow(configMaps+"?watch=1", "Accept", "text/event-stream", "Last-Event-ID", first)
	_, _ = again.reader.ReadString('\n')
	again.want("", "id: "+second)
	if a := s.get(configMaps+"?watch=1", "Accept", "text/event-stream", "Last-Event-ID", "x"); a.code != 400 {
		t.Errorf("an invalid id: %d", a.code)
	}
}

func TestKeysWebSocket(t *testing.T) {
	s := newTestServer(t)
	first := s.putKeys("/app/a", "1")
	socket, response, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(s.url, "http")+"/v1/keys/app/a?watch", nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = response
	defer func() { _ = socket.CloseNow() }()
	for _, want := range []string{fmt.Sprintf(`{"type":"PUT","revision":%d,%s}`, first, shown("/app/a", "1", first)), fmt.Sprintf(`{"type":"SYNC","revision":%d}`, first)} {
		if _, got, err := socket.Read(t.Context()); err != nil || strings.TrimSpace(string(got)) != want {
			t.Errorf("message %s, %v, want %s", got, err, want)
		}
	}
}

func TestKeysPoll(t *testing.T) {
	s := newTestServer(t)
	first := s.putKeys("/app/a", "1")
	answered := make(chan answer, 1)
	go func() { answered <- s.get(fmt.Sprintf("/v1/keys/app/?wait=1m&since=%d", first)) }()
	for s.watchers() == 0 { // until it waits
		select {
		case a := <-answered:
			t.Fatalf("answered at once: %s", a.body)
		default:
		}
	}
	next := s.putKeys("/app/b", "2")
	if a, want := <-answered, fmt.Sprintf(`{"revision":%d,"events":[{"type":"PUT","revision":%d,"last":true,%s}]}`, next, next, shown("/app/b", "2", next)); strings.TrimSpace(a.body) != want {
		t.Errorf("%d %s, want %s", a.code, a.body, want)
	}
	later := s.putKeys("/other", "1")
	s.wantKeys(fmt.Sprintf("/v1/keys/app/?wait=10ms&since=%d", next), 200, fmt.Sprintf(`{"revision":%d,"events":[]}`, later))
}

// TestKeysPollOfTheFuture checks that a poll from a revision later than etcd's, as after a restore, gets an error at once.
func TestKeysPollOfTheFuture(t *testing.T) {
	s := newTestServer(t)
	s.putKeys("/app/a", "1")
	if a := s.get("/v1/keys/app/?wait=1ms&since=400"); a.code != 410 || !strings.Contains(a.body, "another history") {
		t.Errorf("%d %s", a.code, a.body)
	}
}

// watchers returns the number of open watches of keys.
func (s *testServer) watchers() (n int) {
	for _, cache := range s.server.figures() {
		if cache.Resource == "keys" {
			n += cache.Watchers
		}
	}
	return n
}

// TestKeysWatchEnds checks that a stream that cannot continue ends with an ERROR frame that names the remedy, and that a drained stream
// ends cleanly.
func TestKeysWatchEnds(t *testing.T) {
	s := newTestServer(t)
	old := s.putKeys("/app/a", "1")
	var newest etcdstore.Revision
	for i := range 5000 {
		newest = s.putKeys("/app/a", fmt.Sprint(i))
	}
	if err := s.store.Compact(newest); err != nil {
		t.Fatal(err)
	}
	l := s.follow(fmt.Sprintf("/v1/keys/app/?watch&since=%d", old))
	line, err := l.reader.ReadString('\n')
	if err != nil || !strings.HasPrefix(line, `{"type":"ERROR","error":{"type":"about:blank","title":"Expired","status":410,"detail":"revision `) || !strings.Contains(line, "read the state again") {
		t.Errorf("%s %v", line, err)
	}
	open := s.follow("/v1/keys/app/?watch")
	open.want(fmt.Sprintf(`{"type":"PUT","revision":%d,"key":"/app/a","value":4999,"encoding":"json","createRevision":%d,"modRevision":%d,"version":5001}`, newest, old, newest),
		fmt.Sprintf(`{"type":"SYNC","revision":%d}`, newest))
	if err := s.server.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := open.reader.ReadString('\n'); err == nil || err.Error() != "EOF" {
		t.Errorf("the end is %v, want a clean one", err)
	}
	s.wantKeys("/v1/keys/app/?watch", 429, "")
	for _, path := range []string{"/v1/keys/app/?watch", configMaps + "?watch=1"} { // a browser would not reconnect after a 429
		a := s.get(path, "Accept", "text/event-stream")
		if a.code != 200 || !strings.HasPrefix(a.body, "retry: ") || !strings.Contains(a.body, `{"type":"ERROR"`) || !strings.Contains(a.body, "shutting down") {
			t.Errorf("%s while the server drains: %d %s", path, a.code, a.body)
		}
	}
	if a := s.get("/v1/keys/secret?watch", "Accept", "text/event-stream"); a.code != 403 {
		t.Errorf("keys that are not open: %d", a.code)
	}
}

// TestKeysWatchSeveral checks that several prefixes and keys make one ordered stream, and that the last change of a revision is marked as
// the last of all of them.
func TestKeysWatchSeveral(t *testing.T) {
	s := newTestServer(t)
	first := s.putKeys("/app/a/1", "1", "/app/b/1", "2", "/app/c", "3", "flat", "4", "/app/d", "5")
	path := "/v1/keys?key=/app/b/&key=/app/a/&key=flat&key=/app/a/2&key64=L2FwcC9j"
	l := s.follow(path + "&watch")
	for _, pair := range [][2]string{{"/app/a/1", "1"}, {"/app/b/1", "2"}, {"/app/c", "3"}, {"flat", "4"}} {
		l.want(fmt.Sprintf(`{"type":"PUT","revision":%d,%s}`, first, shown(pair[0], pair[1], first)))
	}
	l.want(fmt.Sprintf(`{"type":"SYNC","revision":%d}`, first))
	both := s.putKeys("/app/b/2", "6", "/app/a/2", "7", "/app/d", "8")
	after := []string{fmt.Sprintf(`{"type":"PUT","revision":%d,%s}`, both, shown("/app/a/2", "7", both)),
		fmt.Sprintf(`{"type":"PUT","revision":%d,"last":true,%s}`, both, shown("/app/b/2", "6", both))}
	l.want(after...)
	var next []string
	for i := range 20 {
		key := []string{"/app/a/x", "/app/b/x", "flat", "/app/c"}[i%4] + strings.Repeat("x", i/4*(1-i%4/2))
		at := s.putKeys(key, "1")
		if i < 2 {
			next = append(next, fmt.Sprintf(`{"type":"PUT","revision":%d,"last":true,%s}`, at, shown(key, "1", at)))
		}
	}
	l.want(next...)
	s.follow(fmt.Sprintf("%s&watch&since=%d", path, both)).want(append(after, next...)...)

	a := s.get(fmt.Sprintf("%s&wait=1m&since=%d", path, first)).json(t)
	if events := a["events"].([]any); len(events) < 4 || events[3].(map[string]any)["last"] != true || events[2].(map[string]any)["last"] != nil {
		t.Errorf("long poll: %v", a)
	}
	s.wantKeys("/v1/keys?key=/app/&key=/secret&watch", 403, "")
	s.wantKeys("/v1/keys?key=/app/&key=/app/a", 400, "")
	s.wantKeys("/v1/keys?watch"+strings.Repeat("&key=/app/", 33), 400, "")
}
