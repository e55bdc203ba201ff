//go:build unix

package webserver

import (
	"net"
	"os"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// TestReserveOfDescriptors checks that a connection whose descriptor is in the reserve is reset, and that one is accepted again when others are
// closed.
func TestReserveOfDescriptors(t *testing.T) {
	inner, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	probe, err := os.Open(os.DevNull) // its number is the smallest that is free
	if err != nil {
		t.Fatal(err)
	}
	next := probe.Fd()
	_ = probe.Close()
	l := &reserveListener{inner, next + 8, prometheus.NewCounter(prometheus.CounterOpts{Name: "refused"})}
	accepted := make(chan net.Conn)
	go func() {
		defer close(accepted)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- conn
		}
	}()
	var held []net.Conn
	defer func() {
		_ = l.Close()
		for _, conn := range held {
			_ = conn.Close()
		}
		for conn := range accepted {
			_ = conn.Close()
		}
	}()
	// open reports whether a connection is accepted; a refused one ends.
	open := func() bool {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", inner.Addr().String())
		if err != nil {
			return false // it was reset before connect returned
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, _ = conn.Read(make([]byte, 1)) // the server sends nothing
		}()
		held = append(held, conn)
		select {
		case server := <-accepted:
			held = append(held, server)
			return true
		case <-ended:
			return false
		}
	}
	fits := 0
	for open() {
		if fits++; fits > 8 {
			t.Fatal("more connections than descriptors")
		}
	}
	if fits == 0 {
		t.Fatal("no connection is accepted")
	}
	for _, conn := range held {
		_ = conn.Close()
	}
	held = nil
	if !open() {
		t.Error("no connection is accepted after the others were closed")
	}
}
