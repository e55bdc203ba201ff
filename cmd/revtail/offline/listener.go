package offline

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// Host is the name of a server that Serve serves.
const Host = "http://localhost"

// Serve runs the server for clients in this process, and returns how they connect. stop ends it.
func (s *Server) Serve(ctx context.Context) (dial func(context.Context) (net.Conn, error), stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	l := &pipeListener{connections: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	var running sync.WaitGroup
	running.Go(func() { _ = s.Run(ctx) })      // it returns nil
	running.Go(func() { _ = server.Serve(l) }) // it returns http.ErrServerClosed
	stop = func() {
		cancel()
		_ = server.Close() // it closes the listener
		running.Wait()
	}
	if err := s.WaitReady(ctx); err != nil {
		stop()
		return nil, nil, err
	}
	return l.dial, stop, nil
}

// pipeListener is a listener for connections from this process.
type pipeListener struct {
	connections chan net.Conn
	closing     sync.Once
	closed      chan struct{}
}

func (l *pipeListener) dial(ctx context.Context) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.connections <- server:
		return client, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept implements net.Listener.
func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.connections:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *pipeListener) Close() error {
	l.closing.Do(func() { close(l.closed) })
	return nil
}

// Addr implements net.Listener.
func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "this process", Net: "unix"} }
