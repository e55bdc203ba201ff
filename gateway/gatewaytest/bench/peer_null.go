package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
)

// design is the method by which the null fan-out writes.
type design string

const (
	flushPerEvent design = "flush-event" // net/http, each event written and flushed
	flushPerBatch design = "flush-batch" // net/http, pending events written and flushed once
	chunkWrites   design = "chunks"      // the hijacked connection, pending events written at once, with their chunk framing
	sharded       design = "sharded"     // the same by as many goroutines as there are processors, with writes that never block
)

// nullFanOut sends the events of the control connection to every client, without looking at its request: the cost of a watch without any
// work.
type nullFanOut struct {
	log    *eventLog
	design design
	shards *shards // of the design sharded
}

// runNullFanOut runs the process: it prints its addresses, for watches and for events, and ends with its context.
func runNullFanOut(ctx context.Context, args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("null", flag.ContinueOnError)
	chosen := flags.String("design", string(flushPerBatch), "how events are written")
	pair := addPairFlags(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	n := &nullFanOut{log: newEventLog(), design: design(*chosen)}
	if n.design == sharded {
		var err error
		if n.shards, err = newShards(n.log); err != nil {
			return err
		}
	}
	control, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go n.takeEvents(control)
	return servePeer(ctx, n, pair, fmt.Sprintf("control=%s", control.Addr()), stdout)
}

// pair has the files of a server's certificate; empty: plain HTTP.
type pair struct{ cert, key string }

func addPairFlags(flags *flag.FlagSet) *pair {
	p := new(pair)
	flags.StringVar(&p.cert, "cert", "", "serve TLS, and HTTP/2, with this certificate")
	flags.StringVar(&p.key, "key", "", "its key")
	return p
}

// servePeer serves until ctx ends.
func servePeer(ctx context.Context, handler http.Handler, p *pair, more string, stdout io.Writer) error {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler} //nolint:gosec // it serves this program only
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if _, err := fmt.Fprintf(stdout, "READY http=%s %s\n", l.Addr(), more); err != nil {
		return err
	}
	if p.cert == "" {
		return server.Serve(l)
	}
	server.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	return server.ServeTLS(l, p.cert, p.key)
}

// takeEvents reads events, length and bytes, and answers each with one byte when it is in the log. It wakes the clients once for the events
// that were received together.
func (n *nullFanOut) takeEvents(control net.Listener) {
	conn, err := control.Accept()
	if err != nil {
		return
	}
	r := newFrameReader(conn)
	acks := 0
	for {
		line, err := r.next()
		if err != nil {
			return
		}
		n.log.append(n.frame(line))
		acks++
		if r.more() {
			continue
		}
		n.wake()
		if _, err := conn.Write(make([]byte, acks)); err != nil {
			return
		}
		acks = 0
	}
}

func (n *nullFanOut) wake() {
	if n.shards != nil {
		n.shards.wake()
		return
	}
	n.log.wake()
}

// frame returns the bytes that are sent for a line, with their chunk framing unless net/http adds that.
func (n *nullFanOut) frame(line []byte) []byte {
	if n.design == flushPerEvent || n.design == flushPerBatch {
		return line
	}
	frame := strconv.AppendInt(nil, int64(len(line)), 16)
	frame = append(frame, "\r\n"...)
	frame = append(frame, line...)
	return append(frame, "\r\n"...)
}

func (n *nullFanOut) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch n.design {
	case flushPerEvent, flushPerBatch:
		control := http.NewResponseController(w)
		n.follow(r.Context(), &flushedWriter{w, control}, control.Flush)
	default:
		n.takeOver(w)
	}
}

const nullHead = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"

func (n *nullFanOut) takeOver(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if n.design == sharded {
		n.shards.add(conn)
		return
	}
	defer func() { _ = conn.Close() }()
	open := func() error {
		_, err := io.WriteString(conn, nullHead)
		return err
	}
	n.follow(context.Background(), conn, open) //nolint:forbidigo // a failed write ends it
}

// flushedWriter flushes after each write.
type flushedWriter struct {
	http.ResponseWriter
	control *http.ResponseController
}

func (w *flushedWriter) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p)
	if err == nil {
		err = w.control.Flush()
	}
	return n, err
}

// follow sends the log from its current end, until the client disconnects. open sends the header of the response.
func (n *nullFanOut) follow(ctx context.Context, w io.Writer, open func() error) {
	at, grown := n.log.head()
	if open() != nil {
		return
	}
	for {
		for pending := at.pending(); len(pending) > 0; pending = at.pending() {
			if n.design == flushPerEvent {
				pending = pending[:bytes.IndexByte(pending, '\n')+1]
			}
			if _, err := w.Write(pending); err != nil {
				return
			}
			at.offset += len(pending)
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return
		}
		_, grown = n.log.head()
	}
}
