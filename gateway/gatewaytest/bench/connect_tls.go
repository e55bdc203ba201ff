package main

import (
	"crypto/tls"
	"net"
)

// connectTLS makes a connection and a goroutine for each watch.
func connectTLS(f *fleet, e endpoint, requests []request) error {
	return eachOf(requests, dialers, func(r request) error {
		conn, err := dialTLS(f, e, "http/1.1")
		if err != nil {
			return err
		}
		if _, err := conn.Write(r.text()); err != nil {
			return err
		}
		f.running.Go(func() { f.broke(readAll(conn, r.response()), r.watcher) })
		return nil
	})
}

// dialTLS opens a connection that the fleet closes.
func dialTLS(f *fleet, e endpoint, protocol string) (*tls.Conn, error) {
	raw, err := new(net.Dialer).DialContext(f.ctx, "tcp", e.address)
	if err != nil {
		return nil, err
	}
	f.own(raw)
	config := e.trust.Clone()
	config.NextProtos = []string{protocol}
	conn := tls.Client(raw, config)
	return conn, conn.HandshakeContext(f.ctx)
}

// readAll reads the response until the connection ends, and returns the reason.
func readAll(conn net.Conn, r *response) error {
	buffer := make([]byte, 32<<10) // two TLS records
	for {
		n, err := conn.Read(buffer)
		if err == nil {
			err = r.feed(buffer[:n])
		}
		if err != nil {
			return err
		}
	}
}
