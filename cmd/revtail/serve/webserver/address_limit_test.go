package webserver

import (
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"
)

// TestAddressLimit: one address can open connections up to the limit, and new ones when those are closed.
func TestAddressLimit(t *testing.T) {
	const most = 3
	limit := NewAddressLimit(most)
	limit.exempt = func(net.IP) bool { return false }
	inner, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.NotFoundHandler(), ReadHeaderTimeout: time.Minute}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(limit.listen(inner)) })
	defer serving.Wait()
	defer server.Close()

	// open returns a connection with a response; nil: the server has reset it.
	open := func() net.Conn {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", inner.Addr().String())
		if err != nil {
			return nil
		}
		if err = conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
		if _, err = conn.Read(make([]byte, 1)); err == nil {
			return conn
		}
		if _ = conn.Close(); errors.Is(err, io.EOF) || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a connection too many: %v, want it reset", err)
		}
		return nil
	}
	var held []net.Conn
	for range most {
		conn := open()
		if conn == nil {
			t.Fatal("a connection within the limit is not answered")
		}
		held = append(held, conn)
	}
	if open() != nil {
		t.Error("a connection too many is answered")
	}
	for _, conn := range held {
		_ = conn.Close()
	}
	again := open()
	for again == nil { // the server takes a moment to notice
		again = open()
	}
	_ = again.Close()
}

func TestLoopbackHasNoLimit(t *testing.T) {
	limit := NewAddressLimit(1)
	for address, exempt := range map[string]bool{"127.0.0.1": true, "127.1.2.3": true, "::1": true, "10.0.0.1": false, "::ffff:127.0.0.1": true, "fe80::1": false} {
		if got := limit.exempt(net.ParseIP(address)); got != exempt {
			t.Errorf("%s: %v", address, got)
		}
	}
	if l := NewAddressLimit(0).listen(nil); l != nil {
		t.Error("no limit is one")
	}
}
