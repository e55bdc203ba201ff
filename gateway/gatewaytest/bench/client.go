package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"hash/crc32"
	"net"
	"time"

	"revtail/gateway/gatewaytest/program"
)

// client is a connection with one request at a time. It reads responses without storing them and without garbage, because it shares the
// processors with the measured server.
type client struct {
	conn     net.Conn
	endpoint endpoint
	buffer   []byte
	request  []byte
	accept   string    // the header Accept; empty: none
	skip     int       // number of bytes at the beginning of a response that its checksum leaves out
	body     []byte    // of the last response that send got
	deadline time.Time // of the connection
}

// answer is the summary of a response body.
type answer struct {
	bytes     int64
	checksum  uint32
	firstByte time.Duration // from the request to the first byte of the body
	body      []byte        // only on request; belongs to the client until the next request
}

func dial(ctx context.Context, e endpoint) (*client, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", e.address)
	if err != nil {
		return nil, err
	}
	c := &client{conn: conn, endpoint: e, buffer: make([]byte, 256<<10)}
	if e.transport != plain {
		config := e.trust.Clone()
		config.NextProtos = []string{"http/1.1"}
		encrypted := tls.Client(conn, config)
		c.conn = encrypted
		if err := encrypted.HandshakeContext(ctx); err != nil {
			c.close()
			return nil, err
		}
	}
	return c, nil
}

// redial replaces the connection.
func (c *client) redial(ctx context.Context) error {
	fresh, err := dial(ctx, c.endpoint)
	if err != nil {
		return err
	}
	c.close()
	c.conn, c.deadline = fresh.conn, fresh.deadline
	return nil
}

func (c *client) close() { _ = c.conn.Close() }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// get reads a response and computes its checksum.
func (c *client) get(path string) (answer, error) { return c.note("GET", path, nil) }

// note sends a request, reads the response and computes its checksum.
func (c *client) note(method, path string, body []byte) (answer, error) {
	var a answer
	start := time.Now()
	err := c.do(method, path, body, func(p []byte) {
		if a.bytes == 0 {
			a.firstByte = time.Since(start)
		}
		skipped := min(max(0, c.skip-int(a.bytes)), len(p))
		a.bytes += int64(len(p))
		a.checksum = crc32.Update(a.checksum, castagnoli, p[skipped:])
	})
	return a, err
}

// send sends a body and reads the response, which has to be a 2xx.
func (c *client) send(method, path string, body []byte) (answer, error) {
	c.body = c.body[:0]
	err := c.do(method, path, body, func(p []byte) { c.body = append(c.body, p...) })
	return answer{body: c.body}, err
}

func (c *client) do(method, path string, body []byte, take func(p []byte)) error {
	if now := time.Now(); c.deadline.Sub(now) < program.Patience { // because setting it is expensive
		c.deadline = now.Add(2 * program.Patience)
		if err := c.conn.SetDeadline(c.deadline); err != nil {
			return err
		}
	}
	c.request = fmt.Appendf(c.request[:0], "%s %s HTTP/1.1\r\nHost: %s\r\n", method, path, c.endpoint.address)
	if c.accept != "" {
		c.request = fmt.Appendf(c.request, "Accept: %s\r\n", c.accept)
	}
	if token := c.endpoint.tokenOf(0); token != "" {
		c.request = fmt.Appendf(c.request, "Authorization: Bearer %s\r\n", token)
	}
	if len(body) > 0 {
		c.request = fmt.Appendf(c.request, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	c.request = append(append(c.request, "\r\n"...), body...)
	if _, err := c.conn.Write(c.request); err != nil {
		return err
	}
	r := response{body: take}
	for !r.complete() {
		n, err := c.conn.Read(c.buffer)
		if err == nil {
			err = r.feed(c.buffer[:n])
		}
		if err != nil {
			return fmt.Errorf("%s %s: %w", method, path, err)
		}
	}
	return nil
}
