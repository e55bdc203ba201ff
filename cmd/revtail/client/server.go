package client

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"revtail/gateway/config"
)

// errNoServer says how a server is written.
var errNoServer = errors.New("want a URL as http://127.0.0.1:8080, or a socket as unix:///run/revtail/revtail.sock")

// server is a gateway.
type server struct {
	url    *url.URL                                // of a socket, http://localhost: the gateway answers requests for this Host
	socket string                                  // path of a unix socket; empty: none
	dial   func(context.Context) (net.Conn, error) // of a gateway in this process; nil: none
	http   *http.Client
}

// parseServer reads the URL of a gateway. It makes no http.Client.
func parseServer(text string) (*server, error) {
	if socket, ok := config.UnixPath(text); ok {
		if !path.IsAbs(socket) {
			return nil, errNoServer
		}
		return &server{url: &url.URL{Scheme: "http", Host: "localhost"}, socket: socket}, nil
	}
	u, err := url.Parse(strings.TrimRight(text, "/"))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" {
		return nil, errNoServer
	}
	if _, err := strconv.ParseUint(cmp.Or(u.Port(), "0"), 10, 16); err != nil {
		return nil, fmt.Errorf("want a port from 1 to 65535, as http://%s", net.JoinHostPort(u.Hostname(), "8080"))
	}
	return &server{url: u}, nil
}

// name returns the address, for messages.
func (s *server) name() string {
	if s.socket != "" {
		return s.socket
	}
	return s.url.Host
}

// text returns the server as --server names it.
func (s *server) text() string {
	if s.socket != "" {
		return "unix://" + s.socket
	}
	return s.url.String()
}

// local reports whether only processes of this machine can listen there.
func (s *server) local() bool { return s.socket != "" || config.Loopback(s.url.Hostname()) }

// transport returns a transport to the server with the options of another one.
func (s *server) transport(like *http.Transport) *http.Transport {
	if s.socket == "" && s.dial == nil {
		return like
	}
	own := like.Clone()
	own.Proxy = nil
	own.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		if s.dial != nil {
			return s.dial(ctx)
		}
		return new(net.Dialer).DialContext(ctx, "unix", s.socket)
	}
	return own
}

// tlsProbeTimeout bounds the handshake of speaksTLS.
const tlsProbeTimeout = 2 * time.Second

// speaksTLS reports whether the server of an http:// URL speaks TLS. It accepts any certificate, because it sends no data.
func (s *server) speaksTLS(ctx context.Context) bool {
	if s.url.Scheme != "http" || s.socket != "" {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, tlsProbeTimeout)
	defer cancel()
	conn, err := (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}).DialContext(ctx, "tcp", s.url.Host) //nolint:gosec // nothing is sent
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}
