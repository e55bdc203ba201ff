package transport

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/gateway/http/response"
	"revtail/gateway/http/status"
	"revtail/gateway/netio/socket"
)

const (
	// pingEvery is the interval of pings, and how long a client may take to answer one.
	pingEvery = 30 * time.Second
	// maxMessage is the largest message, in bytes, that a client may send. Messages are discarded, because a watch has no use for them.
	maxMessage = 4 << 10
	// bearerProtocol is the prefix of the subprotocol in which browsers send a token to Kubernetes. The server must not send it back.
	bearerProtocol = "base64url.bearer.authorization.k8s.io."
)

// webSocketTransport sends each frame as one message, like kube-apiserver: a line, with its newline, as text, and protobuf as bytes.
type webSocketTransport struct {
	socket  *websocket.Conn
	conn    net.Conn        // below socket
	forever context.Context // never ends, because the connection limits the time of writes
	client  context.Context // ends when the client disconnects; its cause is status.ErrDraining when the server drains
	cancel  context.CancelCauseFunc
	message websocket.MessageType
	writing atomic.Bool
	running sync.WaitGroup // the goroutines of read and ping
	ended   bool
}

// Abort implements Aborter.
func (t *webSocketTransport) Abort() { socket.Abort(t.conn) }

// openWebSocket answers the handshake. If it refuses the handshake, because of a foreign origin or an invalid request, it sends a Status.
func (s *Stream) openWebSocket(ctx context.Context) (context.Context, error) {
	answer := &handshake{ResponseWriter: s.writer, writeTimeout: s.shared.WriteTimeout}
	t := &webSocketTransport{forever: context.WithoutCancel(ctx), message: websocket.MessageText}
	if s.ContentType == response.ProtobufStream {
		t.message = websocket.MessageBinary
	}
	socket, err := websocket.Accept(answer, s.request, &websocket.AcceptOptions{
		Subprotocols:   subprotocols(s.request),
		OriginPatterns: s.shared.origins,
		// No pong is sent during the write of a frame, because the frame itself shows that the server is alive, and the pong would have to
		// wait for it.
		OnPingReceived: func(context.Context, []byte) bool { return !t.writing.Load() },
	})
	if err != nil {
		if answer.refused != 0 {
			response.WriteError(s.writer, s.request, answer.status())
		}
		return ctx, err
	}
	socket.SetReadLimit(maxMessage)
	t.socket, t.conn = socket, answer.conn
	t.client, t.cancel = context.WithCancelCause(ctx)
	t.running.Go(t.read)
	t.running.Go(t.ping)
	s.transport = t
	return t.client, nil
}

// read answers pings, discards messages, and cancels the context when the client closes.
func (t *webSocketTransport) read() {
	defer t.cancel(socket.ErrPeerGone)
	for {
		_, message, err := t.socket.Reader(t.forever)
		if err == nil {
			_, err = io.Copy(io.Discard, message)
		}
		if err != nil {
			return
		}
	}
}

// ping cancels the context when the client does not answer a ping. It does not do that during the write of a frame, because writes have
// their own time limit.
func (t *webSocketTransport) ping() {
	ticker := time.NewTicker(pingEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-t.client.Done():
			return
		}
		ctx, cancel := context.WithTimeout(t.client, pingEvery)
		err := t.socket.Ping(ctx)
		cancel()
		if err != nil && !t.writing.Load() {
			t.cancel(socket.ErrPeerGone)
			return
		}
	}
}

func (t *webSocketTransport) frame(line []byte) error {
	t.writing.Store(true)
	defer t.writing.Store(false)
	return t.socket.Write(t.forever, t.message, line)
}

func (t *webSocketTransport) flush() error { return nil } // frame has sent the whole message

// end closes the WebSocket with code 1000 (normal closure) or, when the server drains, 1001 (going away), because the client may then watch
// again at another server.
func (t *webSocketTransport) end() error {
	t.ended = true
	code, reason := websocket.StatusNormalClosure, ""
	if errors.Is(context.Cause(t.client), status.ErrDraining) {
		code, reason = websocket.StatusGoingAway, status.ErrDraining.Error()
	}
	_ = t.socket.Close(code, reason) // the stream is complete, whatever the client answers
	return nil
}

func (t *webSocketTransport) close() {
	if !t.ended {
		socket.ResetOnClose(t.conn)
	}
	_ = t.socket.CloseNow() // already closed, unless something failed
	t.cancel(context.Canceled)
	t.running.Wait()
}

// subprotocols returns the subprotocols that the client offers, without bearer tokens. The server accepts one, because browsers fail if it
// accepts none; it has no meaning for a watch.
func subprotocols(r *http.Request) []string {
	var offered []string
	for _, header := range r.Header.Values("Sec-WebSocket-Protocol") {
		for protocol := range strings.SplitSeq(header, ",") {
			if protocol = strings.TrimSpace(protocol); protocol != "" && !strings.HasPrefix(protocol, bearerProtocol) {
				offered = append(offered, protocol)
			}
		}
	}
	return offered
}

// handshake is the ResponseWriter of websocket.Accept. It keeps a refusal, because the response must be a Status, and limits the time of
// writes to the hijacked connection.
type handshake struct {
	http.ResponseWriter
	writeTimeout time.Duration
	conn         net.Conn // nil until Hijack
	refused      int      // the HTTP status code; 0: not refused
	message      bytes.Buffer
}

func (h *handshake) WriteHeader(code int) {
	if code == http.StatusSwitchingProtocols {
		h.ResponseWriter.WriteHeader(code)
		return
	}
	h.refused = code
}

func (h *handshake) Write(p []byte) (int, error) { return h.message.Write(p) }

// Hijack implements http.Hijacker. The connection is a socket.DeadlineConn.
func (h *handshake) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	h.conn = socket.DeadlineConn{Conn: Unwrap(conn), Limit: h.writeTimeout}
	buffered.Writer.Reset(h.conn)
	return h.conn, buffered, nil
}

func (h *handshake) status() error {
	reason := metav1.StatusReasonBadRequest
	switch h.refused {
	case http.StatusForbidden:
		reason = metav1.StatusReasonForbidden
	case http.StatusInternalServerError, http.StatusNotImplemented:
		reason = metav1.StatusReasonInternalError
	}
	return status.Error(int32(h.refused), reason, strings.TrimSpace(h.message.String()))
}

// originPatterns escapes origins, because websocket.Accept matches patterns with path.Match, where brackets and asterisks have a meaning.
func originPatterns(origins []string) []string {
	patterns := make([]string, len(origins))
	for i, origin := range origins {
		patterns[i] = strings.NewReplacer(`[`, `\[`, `]`, `\]`, `*`, `\*`, `?`, `\?`, `\`, `\\`).Replace(origin)
	}
	return patterns
}
