package gatewaytest_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"revtail/gateway/gatewaytest"
)

// ask sends the text of a request, and returns the head of the response and its body.
func ask(t *testing.T, gw *gatewaytest.Gateway, method, path, body string, header ...string) (*http.Response, string) {
	t.Helper()
	request := fmt.Sprintf("%s %s HTTP/1.1\r\nConnection: close\r\n", method, path)
	if !strings.Contains(strings.Join(header, "\n"), "Host: ") {
		header = append(header, "Host: "+strings.TrimPrefix(gw.URL, "http://"))
	}
	if body != "" {
		header = append(header, "Content-Type: application/json", fmt.Sprintf("Content-Length: %d", len(body)))
	}
	answer := exchange(t, gw, request+strings.Join(header, "\r\n")+"\r\n\r\n"+body)
	resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(answer)), nil)
	if err != nil {
		t.Fatalf("%s %s: %v: %q", method, path, err, answer)
	}
	_ = resp.Body.Close() // of a string
	return resp, answer
}

// TestHosts checks that a page whose name leads to loopback (DNS rebinding) gets nothing, with any form of Host.
func TestHosts(t *testing.T) {
	t.Parallel()
	gw := gatewaytest.Start(t, "--allowed-hosts", "revtail.example.com")
	gw.Create(t, configMaps, gatewaytest.ConfigMap("canary", "canary"))
	_, port, _ := strings.Cut(strings.TrimPrefix(gw.URL, "http://"), ":")
	for host, code := range map[string]int{
		"127.0.0.1:" + port: 200, "127.0.0.1": 200, "localhost:" + port: 200, "LOCALHOST": 200, "[::1]:" + port: 200, "127.9.9.9:1": 200,
		"revtail.example.com": 200, "Revtail.Example.com:443": 200,
		"evil.example.com": 403, "evil.example.com:" + port: 403, "localhost.evil.example.com": 403, "127.0.0.1.evil.example.com": 403,
		"x.localhost": 403, "10.0.0.1": 403, "0.0.0.0:" + port: 403, "2130706433": 403, "[::ffff:10.0.0.1]": 403, "localhost.": 403,
	} {
		for _, method := range []string{"GET", "POST", "OPTIONS"} {
			resp, answer := ask(t, gw, method, configMaps, gatewaytest.ConfigMap("x", ""), "Host: "+host)
			if refused := resp.StatusCode == 403; refused != (code == 403) {
				t.Errorf("%s with the Host %s: %s, want %d", method, host, resp.Status, code)
			}
			if code == 403 && strings.Contains(answer, "canary") {
				t.Errorf("the Host %s gets %s", host, answer)
			}
		}
	}
	if resp, _ := ask(t, gw, "GET", "http://evil.example.com"+configMaps, "", "Host: localhost"); resp.StatusCode != 403 {
		t.Errorf("a foreign URL in absolute form: %s, want 403", resp.Status)
	}
}

// TestHostsBehindAuthentication checks that a client with a token may use any host name.
func TestHostsBehindAuthentication(t *testing.T) {
	t.Parallel()
	g := startGuarded(t, false, []string{"root"}, bind("root", "cluster-admin"))
	if resp, _ := ask(t, g.Gateway, "GET", configMaps, "", "Host: any.example.com", "Authorization: Bearer token-of-root"); resp.StatusCode != 200 {
		t.Errorf("with a token: %s", resp.Status)
	}
	if resp, _ := ask(t, g.Gateway, "GET", configMaps, "", "Host: any.example.com"); resp.StatusCode != 401 {
		t.Errorf("without one: %s", resp.Status)
	}
}

// TestOrigins checks that only pages of allowed origins can read and write.
func TestOrigins(t *testing.T) {
	t.Parallel()
	const friend = "https://console.example.com"
	gw := gatewaytest.Start(t, "--cors-allowed-origins", friend+",http://[::1]:3000")
	n := 0
	for _, tt := range []struct {
		name   string
		header []string
		writes bool
		reads  bool
	}{
		{"no browser", nil, true, false},
		{"own page", []string{"Sec-Fetch-Site: same-origin", "Origin: " + gw.URL}, true, false},
		{"own page of an old browser", []string{"Origin: " + gw.URL}, true, false},
		{"friend", []string{"Sec-Fetch-Site: cross-site", "Origin: " + friend}, true, true},
		{"friend with brackets", []string{"Sec-Fetch-Site: cross-site", "Origin: http://[::1]:3000"}, true, true},
		{"foreign page", []string{"Sec-Fetch-Site: cross-site", "Origin: https://evil.example.com"}, false, false},
		{"foreign page of an old browser", []string{"Origin: https://evil.example.com"}, false, false},
		{"neighbour", []string{"Sec-Fetch-Site: same-site", "Origin: https://other.console.example.com"}, false, false},
		{"beginning", []string{"Sec-Fetch-Site: cross-site", "Origin: " + friend + ".evil.example.com"}, false, false},
		{"without TLS", []string{"Sec-Fetch-Site: cross-site", "Origin: http://console.example.com"}, false, false},
		{"nowhere", []string{"Sec-Fetch-Site: cross-site", "Origin: null"}, false, false},
	} {
		n++
		for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
			path, body := configMaps+"/absent", "{}"
			if method == "POST" {
				path, body = configMaps, gatewaytest.ConfigMap(fmt.Sprintf("map-%d", n), "")
			}
			resp, answer := ask(t, gw, method, path, body, tt.header...)
			if written := resp.StatusCode != 403; written != tt.writes {
				t.Errorf("%s: %s: %s", tt.name, method, answer)
			}
		}
		for _, path := range []string{configMaps, configMaps + "/absent", "/nowhere"} {
			resp, answer := ask(t, gw, "GET", path, "", tt.header...)
			origin := resp.Header.Get("Access-Control-Allow-Origin")
			if tt.reads != (origin != "") || tt.reads && !strings.Contains(strings.Join(tt.header, "\n"), "Origin: "+origin) {
				t.Errorf("%s: GET %s: %s", tt.name, path, answer)
			}
			if resp.Header.Get("Access-Control-Allow-Credentials") != "" || !strings.Contains(strings.Join(resp.Header.Values("Vary"), ","), "Origin") {
				t.Errorf("%s: GET %s: %v", tt.name, path, resp.Header)
			}
		}
		resp, answer := ask(t, gw, "OPTIONS", configMaps, "", append(tt.header, "Access-Control-Request-Method: DELETE")...)
		if allowed := resp.StatusCode == 204 && strings.Contains(resp.Header.Get("Access-Control-Allow-Methods"), "DELETE"); allowed != tt.reads {
			t.Errorf("%s: preflight: %s", tt.name, answer)
		}
		socket := append([]string{"Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="}, tt.header...)
		request := "GET " + configMaps + "?watch=1&timeoutSeconds=1 HTTP/1.1\r\nHost: " + strings.TrimPrefix(gw.URL, "http://") + "\r\n" + strings.Join(socket, "\r\n") + "\r\n\r\n"
		if status := firstLine(t, gw, request); strings.HasPrefix(status, "HTTP/1.1 101 ") != tt.writes {
			t.Errorf("%s: WebSocket: %s", tt.name, status)
		}
	}
}

// firstLine sends a request and returns the first line of the response.
func firstLine(t *testing.T, gw *gatewaytest.Gateway, request string) string {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(gw.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err = conn.SetDeadline(time.Now().Add(gatewaytest.Patience)); err != nil {
		t.Fatal(err)
	}
	if _, err = io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		t.Fatalf("%.80q: %v", request, err)
	}
	return line
}

// TestTickets checks that a browser can open a stream without a header and without a token in its URL.
func TestTickets(t *testing.T) {
	t.Parallel()
	g := startGuarded(t, false, []string{"reader", "unprivileged"}, role("reader", reader)+bind("reader", "reader"), "--log-level", "debug")
	take := func(user, path string) (ticket string) {
		t.Helper()
		answer := g.user(user).Do(t, http.MethodPost, "/v1/tickets", fmt.Sprintf(`{"path":%q}`, path))
		var taken struct{ Ticket, Expires string }
		if err := json.Unmarshal([]byte(answer.Body), &taken); err != nil || answer.Code != 201 || taken.Ticket == "" || taken.Expires == "" ||
			answer.Header.Get("Cache-Control") != "no-store" {
			t.Fatalf("%d %v %s", answer.Code, answer.Header, answer.Body)
		}
		return taken.Ticket
	}
	ticket := take("reader", configMaps+"?watch=1")
	g.Watch(t, configMaps+"?watch=1&ticket="+ticket)
	if answer := g.Do(t, http.MethodGet, configMaps+"?watch=1&ticket="+ticket, ""); answer.Code != 401 {
		t.Errorf("a second time: %d", answer.Code)
	}
	if answer := g.Do(t, http.MethodGet, "/api/v1/namespaces/other/configmaps?ticket="+take("reader", configMaps), ""); answer.Code != 401 {
		t.Errorf("another path: %d", answer.Code)
	}
	if answer := g.Do(t, http.MethodGet, configMaps+"?ticket="+take("unprivileged", configMaps), ""); answer.Code != 403 {
		t.Errorf("of a user without rights: %d", answer.Code)
	}
	if answer := g.Do(t, http.MethodPost, "/v1/tickets", `{"path":"/"}`); answer.Code != 401 {
		t.Errorf("a ticket without credentials: %d", answer.Code)
	}
	for _, body := range []string{"", "{}", "[]", `{"path":"api"}`, `{"path":"/a/../b"}`, `{"path":"/a%2fb"}`} {
		if answer := g.user("reader").Do(t, http.MethodPost, "/v1/tickets", body); answer.Code != 400 {
			t.Errorf("%q: %d %s", body, answer.Code, answer.Body)
		}
	}
	gatewaytest.Until(t, "the requests in the log", func() bool { return strings.Count(g.Log(t), "/v1/tickets") > 8 })
	if log := g.Log(t); strings.Contains(log, ticket) || !strings.Contains(log, "ticket=hidden") {
		t.Error("the log has a ticket, or no placeholder for it")
	}
}
