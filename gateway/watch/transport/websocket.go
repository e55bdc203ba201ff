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
	// pingEvery is how often a client has to show that it is there; it has as long to answer.
	pingEvery = 30 * time.Second
	// maxMessage is how large a message of a client may be. There is nothing to be said to a watch: messages are thrown away.
	maxMessage = 4 << 10
	// bearerProtocol begins the subprotocol in which browsers send a token to Kubernetes; it must not be sent back.
	bearerProtocol = "base64url.bearer.authorization.k8s.io."
)

// webSocketTransport is a WebSocket: each frame is a text message, its newline included, as kube-apiserver sends it.
type webSocketTransport struct {
	socket  *websocket.Conn
	conn    net.Conn        // below socket
	forever context.Context // for writes: the connection itself has the time limit
	client  context.Context // ends with the client; status.ErrDraining is its cause when the server drains
	cancel  context.CancelCauseFunc
	writing atomic.Bool
	running sync.WaitGroup // the goroutines that read and that ping
	ended   bool
}

// Abort implements aborter.
func (t *webSocketTransport) Abort() { socket.Abort(t.conn) }

// openWebSocket answers the handshake. When it is refused, by an origin that is not the server's own or a mistake in it, the
// client has got a Status.
func (s *Stream) openWebSocket(ctx context.Context) (context.Context, error) {
	answer := &handshake{ResponseWriter: s.writer, writeTimeout: s.shared.WriteTimeout}
	t := &webSocketTransport{forever: context.WithoutCancel(ctx)}
	socket, err := websocket.Accept(answer, s.request, &websocket.AcceptOptions{
		Subprotocols:   subprotocols(s.request),
		OriginPatterns: s.shared.origins,
		// While an event is being written the client has a proof of life under way, and a pong would have to wait for it.
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

// read answers pings and notices when the client closes.
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

// ping ends the stream of a client that does not answer. One that is being written to has writeTimeout for itself.
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
	return t.socket.Write(t.forever, websocket.MessageText, line)
}

func (t *webSocketTransport) flush() error { return nil } // a message is sent when it is complete

// end closes the WebSocket in good order: the client may come back for more, elsewhere when this server shuts down.
func (t *webSocketTransport) end() error {
	t.ended = true
	code, reason := websocket.StatusNormalClosure, ""
	if errors.Is(context.Cause(t.client), status.ErrDraining) {
		code, reason = websocket.StatusGoingAway, status.ErrDraining.Error()
	}
	_ = t.socket.Close(code, reason) // the stream was complete, whatever the client answers
	return nil
}

func (t *webSocketTransport) close() {
	if !t.ended {
		socket.ResetOnClose(t.conn)
	}
	_ = t.socket.CloseNow() // closed already, unless something failed
	t.cancel(context.Canceled)
	t.running.Wait()
}

// subprotocols are what a client offers: browsers fail when none is chosen, and for a watch they mean nothing.
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

// handshake is where websocket.Accept writes to: a refusal is kept, to be said as a Status, and the connection gets the time
// limit of writes.
type handshake struct {
	http.ResponseWriter
	writeTimeout time.Duration
	conn         net.Conn // once taken
	refused      int      // the HTTP code; 0: not refused
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

// Hijack implements http.Hijacker.
func (h *handshake) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	h.conn = socket.DeadlineConn{Conn: conn, Limit: h.writeTimeout}
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

// originPatterns are the origins as websocket.Accept matches them: by path.Match, to which brackets mean something.
func originPatterns(origins []string) []string {
	patterns := make([]string, len(origins))
	for i, origin := range origins {
		patterns[i] = strings.NewReplacer(`[`, `\[`, `]`, `\]`).Replace(origin)
	}
	return patterns
}
