package conformance

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"strings"
)

var watchForms = []statement{
	{"the legacy path of a namespace is a watch", legacyNamespace},
	{"the legacy path of all namespaces is a watch", legacyAll},
	{"the legacy path of a name watches that one object", legacyName},
	{"a watch as PartialObjectMetadata has metadata and nothing else", metadataWatch},
	{"a watch as PartialObjectMetadata has deletions and selector transitions", metadataTransitions},
	{"a bookmark of a watch as PartialObjectMetadata is one, too", metadataBookmark},
	{"application/json;stream=watch is plain JSON", streamWatch},
	{"a media type that cannot be streamed is 406", unstreamable},
	{"HEAD of a watch is its head", headOfWatch},
	{"a watch is compressed only for a client that accepts gzip", watchIdentity},
	{"a compressed watch can be read event by event", gzipWatch},
	{"a WebSocket gets one text message for each event", webSocketEvents},
	{"a WebSocket ends with a close message at timeoutSeconds", webSocketEnd},
	{"a WebSocket with a malformed selector is refused", webSocketRefused},
}

// legacy returns the path below /watch.
func (w collection) legacy(namespace string) string {
	return strings.Replace(w.collection(namespace), w.root(), w.root()+"/watch", 1)
}

func legacyNamespace(c *check) {
	w := c.simple()
	w.create("w-a", "red", nil)
	s := c.stream(w.legacy(c.ns))
	s.expect("ADDED w-a")
	w.paint("w-a", "blue")
	s.expect("MODIFIED w-a")
}

func legacyAll(c *check) {
	w := c.simple()
	w.create("w-a", "red", object{"conformance": c.ns})
	c.stream(w.legacy("") + query("labelSelector", "conformance="+c.ns)).expect("ADDED w-a")
}

func legacyName(c *check) {
	w := c.simple()
	w.create("w-a", "red", nil)
	w.create("w-b", "red", nil)
	s := c.stream(w.legacy(c.ns) + "/w-b")
	s.expect("ADDED w-b")
	w.paint("w-a", "blue")
	w.paint("w-b", "blue")
	s.expect("MODIFIED w-b")
}

func metadataWatch(c *check) {
	w := c.simple()
	w.create("w-a", "red", object{"l": "a"})
	s := c.stream(w.path("?watch=1"), "Accept", as1("PartialObjectMetadata"))
	c.equal("Content-Type", s.response.Header.Get("Content-Type"), "application/json")
	events := s.expect("ADDED w-a") // the state may be slightly later than the header of the response
	painted := w.paint("w-a", "blue")
	events = append(events, s.expect("MODIFIED w-a")...)
	for _, e := range events {
		c.wantMetadata(e.object)
		c.equal("label", e.object.text("metadata.labels.l"), "a")
	}
	c.equal("resourceVersion", events[1].object.version(), painted.version())
}

func metadataTransitions(c *check) {
	w := c.simple()
	w.create("w-a", "red", object{"l": "a"})
	w.create("w-b", "red", object{"l": "a"})
	s := c.stream(w.path("?watch=1&labelSelector=l%3Da"), "Accept", as1("PartialObjectMetadata"))
	s.expect("ADDED w-a", "ADDED w-b")
	moved := w.label("w-a", "z")
	w.remove("w-b", "", nil).ok(http.StatusOK)
	events := s.expect("DELETED w-a", "DELETED w-b")
	c.wantMetadata(events[0].object)
	c.equal("resourceVersion", events[0].object.version(), moved.version())
	c.equal("label", events[0].object.text("metadata.labels.l"), "a")
}

func metadataBookmark(c *check) {
	mark := c.stream(c.simple().path("?watch=1&allowWatchBookmarks=1"), "Accept", as1("PartialObjectMetadata")).next()
	c.equal("type", mark.kind, "BOOKMARK")
	c.equal("kind", mark.object.text("kind"), "PartialObjectMetadata")
	if mark.object.rv() == 0 {
		c.Errorf("no resourceVersion: %s", mark.line)
	}
}

func streamWatch(c *check) {
	w := c.simple()
	w.create("w-a", "red", nil)
	s := c.stream(w.path("?watch=1"), "Accept", "application/json;stream=watch")
	c.equal("Content-Type", s.response.Header.Get("Content-Type"), "application/json")
	s.expect("ADDED w-a")
}

func unstreamable(c *check) {
	w := c.simple()
	accepts := []string{"application/yaml", "text/html", "application/cbor"}
	if w.schema {
		accepts = append(accepts, "application/vnd.kubernetes.protobuf")
	}
	for _, accept := range accepts {
		c.equal(accept, c.get(w.path("?watch=1&timeoutSeconds=1"), "Accept", accept).code, http.StatusNotAcceptable)
	}
}

func headOfWatch(c *check) {
	a := c.do(http.MethodHead, c.simple().path("?watch=1&timeoutSeconds=1"), nil)
	c.equal("code and body", fmt.Sprint(a.code, a.body), "200")
}

const watchList = "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"

func watchIdentity(c *check) {
	w := c.simple()
	w.create("w-a", "red", nil)
	for _, accept := range []string{"gzip;q=0", "deflate", "identity"} {
		s := c.stream(w.path(watchList), "Accept-Encoding", accept)
		c.equal("Content-Encoding for "+accept, s.response.Header.Get("Content-Encoding"), "")
		s.expect("ADDED w-a")
	}
	w.watch().expect("ADDED w-a")
}

func gzipWatch(c *check) {
	w := c.simple()
	w.create("w-a", "red", nil)
	s := c.stream(w.path(watchList), "Accept-Encoding", "gzip")
	c.equal("Content-Encoding", s.response.Header.Get("Content-Encoding"), "gzip")
	reader, err := gzip.NewReader(s.reader)
	if err != nil {
		c.Fatalf("%v", err)
	}
	s.reader = bufio.NewReader(reader)
	s.expect("ADDED w-a")
	if mark := s.next(); !mark.isEnd() {
		c.Errorf("%s", mark.line)
	}
	for _, name := range []string{"w-b", "w-c", "w-d"} { // each event is read before the next write
		w.create(name, "red", nil)
		s.expect("ADDED " + name)
	}
}

// webSocket opens a WebSocket, which must succeed, as a stream of lines that are messages.
func (c *check) webSocket(path string) *stream {
	c.t.Helper()
	response := c.upgrade(path)
	c.t.Cleanup(func() { _ = response.Body.Close() })
	if response.StatusCode != http.StatusSwitchingProtocols {
		body, _ := io.ReadAll(io.LimitReader(response.Body, 400)) // the available part, for the message
		c.Fatalf("code %d: %s", response.StatusCode, body)
	}
	c.equal("Sec-WebSocket-Accept", response.Header.Get("Sec-WebSocket-Accept"), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=") // RFC 6455, section 1.3
	return &stream{c, response, bufio.NewReader(&messages{frames: response.Body})}
}

func (c *check) upgrade(path string) *http.Response {
	c.t.Helper()
	key := "dGhlIHNhbXBsZSBub25jZQ=="
	return c.send(http.MethodGet, path, nil, "Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", key)
}

// messages reads a server's WebSocket frames as text, each with a newline at its end; a close frame is the end.
type messages struct {
	frames io.Reader
	rest   []byte
}

func (m *messages) Read(p []byte) (int, error) {
	for len(m.rest) == 0 {
		if err := m.frame(); err != nil {
			return 0, err
		}
	}
	n := copy(p, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

func (m *messages) frame() error {
	const final, text, closing = 0x80, 1, 8
	head := make([]byte, 2)
	if _, err := io.ReadFull(m.frames, head); err != nil {
		return fmt.Errorf("no close message: %w", err)
	}
	length := uint64(head[1])
	if extended := map[byte]int{126: 2, 127: 8}[head[1]]; extended > 0 {
		size := make([]byte, 8)
		if _, err := io.ReadFull(m.frames, size[8-extended:]); err != nil {
			return err
		}
		length = binary.BigEndian.Uint64(size)
	}
	payload := make([]byte, length)
	if _, err := io.ReadFull(m.frames, payload); err != nil {
		return err
	}
	switch head[0] {
	case final | closing:
		return io.EOF
	case final | text:
		m.rest = append([]byte(strings.TrimSuffix(string(payload), "\n")), '\n')
		return nil
	}
	return fmt.Errorf("a frame that begins with %x", head)
}

func webSocketEvents(c *check) {
	w := c.simple()
	w.create("w-a", "red", nil)
	s := c.webSocket(w.path("?watch=1"))
	s.expect("ADDED w-a")
	w.post(w.object("w-b", "red", nil).with("metadata.annotations", object{"long": strings.Repeat("x", 70_000)}), "").ok(http.StatusCreated)
	w.remove("w-a", "", nil).ok(http.StatusOK)
	s.expect("ADDED w-b", "DELETED w-a")
}

func webSocketEnd(c *check) {
	w := c.simple()
	w.create("w-a", "red", nil)
	c.equal("events", tell(c.webSocket(w.path("?watch=1&timeoutSeconds=1")).rest()), "ADDED w-a")
}

func webSocketRefused(c *check) {
	response := c.upgrade(c.simple().path("?watch=1&labelSelector=l+in"))
	body, err := readAll(response)
	if response.StatusCode != http.StatusBadRequest || err != nil {
		c.Errorf("code %d, %v: %s", response.StatusCode, err, body)
	}
}
