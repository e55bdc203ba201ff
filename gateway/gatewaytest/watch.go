package gatewaytest

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Watch is an open watch on a TCP connection. It checks every byte: a frame that is not exactly one chunk fails the test.
type Watch struct {
	// Status and Header are from the head of the response.
	Status string
	Header textproto.MIMEHeader

	conn   net.Conn
	reader *bufio.Reader
}

// Event is a frame of a watch.
type Event struct {
	Type   string `json:"type"`
	Object Object `json:"object"`

	Line string `json:"-"` // the frame itself
}

// Watch opens a watch as curl does, and returns when it has the header of the response. It is closed with the test.
func (g *Gateway) Watch(tb testing.TB, path string) *Watch {
	tb.Helper()
	w := &Watch{conn: g.dial(tb)}
	tb.Cleanup(w.Close)
	w.reader = bufio.NewReader(w.conn)
	w.wait(tb)
	more := ""
	if g.Token != "" {
		more = "Authorization: Bearer " + g.Token + "\r\n"
	}
	_, err := fmt.Fprintf(w.conn, "GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: curl/8.14.1\r\nAccept: */*\r\n%s\r\n", path, w.conn.RemoteAddr(), more)
	if err != nil {
		tb.Fatal(err)
	}
	head := textproto.NewReader(w.reader)
	if w.Status, err = head.ReadLine(); err != nil {
		tb.Fatalf("watch %s: status: %v", path, err)
	}
	if w.Header, err = head.ReadMIMEHeader(); err != nil {
		tb.Fatalf("watch %s: header: %v", path, err)
	}
	if w.Status != "HTTP/1.1 200 OK" || w.Header.Get("Transfer-Encoding") != "chunked" {
		tb.Fatalf("watch %s: %s %v, want 200 and chunks", path, w.Status, w.Header)
	}
	return w
}

func (g *Gateway) dial(tb testing.TB) net.Conn {
	tb.Helper()
	var dialer interface {
		DialContext(ctx context.Context, network, address string) (net.Conn, error)
	} = new(net.Dialer)
	if g.TLS != nil {
		dialer = &tls.Dialer{Config: g.TLS}
	}
	_, address, _ := strings.Cut(g.URL, "://")
	conn, err := dialer.DialContext(tb.Context(), "tcp", address)
	if err != nil {
		tb.Fatal(err)
	}
	return conn
}

// Close drops the connection.
func (w *Watch) Close() { _ = w.conn.Close() }

// wait sets the deadline of the next read.
func (w *Watch) wait(tb testing.TB) {
	tb.Helper()
	if err := w.conn.SetReadDeadline(time.Now().Add(Patience)); err != nil {
		tb.Fatal(err)
	}
}

// Next waits for the next event. The end of the stream fails the test.
func (w *Watch) Next(tb testing.TB) Event {
	tb.Helper()
	event, ended, err := w.read(tb)
	if err != nil || ended {
		tb.Fatalf("the watch ended, want an event (error: %v)", err)
	}
	return event
}

// Rest returns the events up to the end of the stream. An end that is not clean fails the test.
func (w *Watch) Rest(tb testing.TB) []Event {
	tb.Helper()
	var events []Event
	for {
		event, ended, err := w.read(tb)
		switch {
		case err != nil:
			tb.Fatalf("the watch broke after %d events: %v", len(events), err)
		case ended:
			return events
		}
		events = append(events, event)
	}
}

// read reads one chunk. ended: it was the last one, which is empty.
func (w *Watch) read(tb testing.TB) (event Event, ended bool, err error) {
	tb.Helper()
	w.wait(tb)
	head, err := w.reader.ReadString('\n')
	if err != nil {
		return Event{}, false, err
	}
	size, err := strconv.ParseInt(strings.TrimSuffix(head, "\r\n"), 16, 64)
	if err != nil {
		return Event{}, false, fmt.Errorf("chunk size: %w", err)
	}
	chunk := make([]byte, size+2)
	if _, err := io.ReadFull(w.reader, chunk); err != nil {
		return Event{}, false, err
	}
	line, whole := bytes.CutSuffix(chunk, []byte("\r\n"))
	switch {
	case head != fmt.Sprintf("%x\r\n", size) || !whole:
		tb.Fatalf("chunk of %q does not end where its size says, or has a size that is not plain", head)
	case size == 0:
		return Event{}, true, nil
	case bytes.IndexByte(line, '\n') != len(line)-1:
		tb.Fatalf("a chunk is not one line: %q", line)
	}
	event.Line = string(line)
	if err := json.Unmarshal(line, &event); err != nil {
		tb.Fatalf("frame %q: %v", line, err)
	}
	return event, false, nil
}
