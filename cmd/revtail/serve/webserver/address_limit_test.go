package webserver

import (
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"revtail/gateway/gatewaytest/rawhttp"
)

// TestAddressLimitResetsConnectionsAboveIt checks that one address can open as many connections as the limit says, that the next one is
// reset, and that a new one is answered when the others are closed.
func TestAddressLimitResetsConnectionsAboveIt(t *testing.T) {
	const most = 3
	limit := NewAddressLimit(most)
	limit.exempt = func(net.IP) bool { return false }
	inner, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	released := make(chan struct{}, most+1) // one value for each connection that the server has closed
	server := &http.Server{Handler: http.NotFoundHandler(), ReadHeaderTimeout: time.Minute, ConnState: func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			released <- struct{}{}
		}
	}}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(limit.listen(inner)) })
	defer serving.Wait()
	defer server.Close()

	// open opens a connection, sends a request and waits for the first byte of the response. It returns the first error, because the
	// system reports a reset once: after a Write that fails, Read returns io.EOF.
	open := func() (net.Conn, error) {
		conn, failure := new(net.Dialer).DialContext(t.Context(), "tcp", inner.Addr().String())
		if failure != nil {
			return nil, failure
		}
		if _, failure = io.WriteString(conn, rawhttp.Request); failure == nil {
			_, failure = conn.Read(make([]byte, 1))
		}
		if failure != nil {
			_ = conn.Close()
		}
		return conn, failure
	}
	var held []net.Conn
	for range most {
		conn, failure := open()
		if failure != nil {
			t.Fatalf("a connection within the limit: %v", failure)
		}
		held = append(held, conn)
	}
	if _, err := open(); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("a connection above the limit: %v, want a reset", err)
	}
	for _, conn := range held {
		_ = conn.Close()
		<-released
	}
	again, err := open()
	if err != nil {
		t.Fatalf("a connection after the others were closed: %v", err)
	}
	_ = again.Close()
}

func TestLoopbackHasNoLimit(t *testing.T) {
	limit := NewAddressLimit(1)
	for address, exempt := range map[string]bool{"127.0.0.1": true, "127.1.2.3": true, "::1": true, "10.0.0.1": false, "::ffff:127.0.0.1": true, "fe80::1": false} {
		if got := limit.exempt(net.ParseIP(address)); got != exempt {
			t.Errorf("%s: exempt %v, want %v", address, got, exempt)
		}
	}
	if l := NewAddressLimit(0).listen(nil); l != nil {
		t.Error("a limit of zero wraps the listener")
	}
}
