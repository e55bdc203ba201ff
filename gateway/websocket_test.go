package gateway

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"revtail/gateway/gatewaytest/rawhttp"
)

// TestWebSocketWatch checks that each event of a watch is one text message with the same bytes as without WebSocket, also on the legacy
// URLs, and that the deadline of the watch closes the WebSocket normally.
func TestWebSocketWatch(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.create("first")
	want := s.get(configMaps + "?watch=1&resourceVersion=0&timeoutSeconds=1").body
	for _, path := range []string{configMaps + "?watch=1&", strings.Replace(configMaps, "/v1/", "/v1/watch/", 1) + "?"} {
		socket := rawhttp.DialWebSocket(t, s.url+path+"resourceVersion=0&timeoutSeconds=1", nil)
		if got := rawhttp.ReadMessage(t, socket); got != want {
			t.Errorf("message %q, want %q", got, want)
		}
		if _, _, err := socket.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusNormalClosure {
			t.Errorf("at the deadline: %v", err)
		}
	}
}

// TestWebSocketMediaType checks that the parameter accept stands for the header that a browser does not send, and only then.
func TestWebSocketMediaType(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.create("first")
	path := configMaps + "?watch=1&resourceVersion=0&includeObject=Object&accept=" + url.QueryEscape("application/json;as=Table;v=v1;g=meta.k8s.io")
	first := func(header http.Header) string {
		t.Helper()
		return rawhttp.ReadMessage(t, rawhttp.DialWebSocket(t, s.url+path, &websocket.DialOptions{HTTPHeader: header}))
	}
	for _, header := range []http.Header{nil, {"Accept": {"*/*"}}} { // Chromium, Firefox
		if got := first(header); !strings.Contains(got, `"kind":"Table"`) || !strings.Contains(got, `"cells":["first",`) || !strings.Contains(got, `"kind":"ConfigMap"`) {
			t.Errorf("the first message is %q, want a Table with the object", got)
		}
	}
	if got := first(http.Header{"Accept": {"application/json"}}); strings.Contains(got, "Table") {
		t.Errorf("with the header, the first message is %q", got)
	}
	if got := s.get(path + "&timeoutSeconds=1"); strings.Contains(got.body, "Table") {
		t.Errorf("without a WebSocket: %q", got.body)
	}
	if got := s.get(strings.Replace(path, "application%2Fjson", "text%2Fplain", 1) + "&timeoutSeconds=1"); got.code != http.StatusOK {
		t.Errorf("without a WebSocket, a media type that there is not: %d", got.code)
	}
}

func TestWebSocketReportsTheShutdown(t *testing.T) {
	s := newTestServer(t)
	socket := rawhttp.DialWebSocket(t, s.url+configMaps+"?watch=1&allowWatchBookmarks=1&resourceVersion="+s.create("first"), nil)
	ended := make(chan error, 1)
	go func() { ended <- s.server.Drain(context.WithoutCancel(t.Context())) }()
	if got := rawhttp.ReadMessage(t, socket); !strings.HasPrefix(got, `{"type":"BOOKMARK",`) {
		t.Errorf("the last message is %q, want a bookmark", got)
	}
	if _, _, err := socket.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("the WebSocket ended with %v", err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestWebSocketHandshake(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	host := strings.TrimPrefix(s.url, "http://")
	watch := configMaps + "?watch=1&timeoutSeconds=1&resourceVersion=0"
	for _, test := range []struct {
		name   string
		path   string
		header []string // added to those of a valid handshake; an empty value removes one
		code   int
		reason string
	}{
		{"without Origin", watch, nil, 101, ""},
		{"of the same origin", watch, []string{"Origin", "http://" + host}, 101, ""},
		{"of another origin", watch, []string{"Origin", "http://evil.example.com"}, 403, "Forbidden"},
		{"of a file", watch, []string{"Origin", "null"}, 403, "Forbidden"},
		{"without a key", watch, []string{"Sec-Websocket-Key", ""}, 400, "BadRequest"},
		{"of an old version", watch, []string{"Sec-Websocket-Version", "8"}, 400, "BadRequest"},
		{"for an invalid revision", configMaps + "?watch=1&resourceVersion=abc", nil, 400, "BadRequest"},
		{"for an unknown resource", "/api/v1/namespaces/default/nothings?watch=1", nil, 404, ""},
		{"for a list", configMaps, nil, 400, "BadRequest"},
		{"for a list in a namespace called watch", "/api/v1/namespaces/watch/configmaps", nil, 400, "BadRequest"},
		{"for no resource at all", "/version", nil, 400, "BadRequest"},
		{"without Upgrade", watch, []string{"Upgrade", ""}, 200, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			header := http.Header{
				"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="},
			}
			for i := 0; i < len(test.header); i += 2 {
				header.Set(test.header[i], test.header[i+1])
				if test.header[i+1] == "" {
					header.Del(test.header[i])
				}
			}
			var request strings.Builder
			request.WriteString("GET " + test.path + " HTTP/1.1\r\nHost: " + host + "\r\n")
			_ = header.Write(&request)
			_, r := rawhttp.Connect(t, host, request.String()+"\r\n")
			response, err := http.ReadResponse(bufio.NewReader(r), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			if response.StatusCode != test.code {
				t.Errorf("code %d, want %d", response.StatusCode, test.code)
			}
			if test.reason != "" {
				body, err := io.ReadAll(response.Body)
				status := answer{body: string(body)}.json(t)
				if err != nil || status["kind"] != "Status" || status["reason"] != test.reason || status["message"] == "" {
					t.Errorf("%s, %v", body, err)
				}
			}
		})
	}
}
