package webserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"revtail/gateway/netio/http2"
	"revtail/gateway/netio/socket"
	"revtail/gateway/netio/stranger"
	"revtail/gateway/watch/transport"
)

// Options configure a Server.
type Options struct {
	Flag      string // names the addresses in errors
	Handler   http.Handler
	TLS       *tls.Config        // nil: plain HTTP
	Limit     *AddressLimit      // of the connections; servers may share it
	Strangers *stranger.Registry // of the connections; nil: the handler authenticates no request
	Logger    *slog.Logger
}

// Server is an HTTP or HTTPS server on one or several addresses.
type Server struct {
	http      *http.Server
	flag      string
	secure    bool // HTTPS, except on unix sockets; http.Server sets its TLSConfig for plain HTTP too
	limit     *AddressLimit
	strangers *stranger.Registry
	listeners []listener
	kept      *keptListener
}

// listener is a listener of a Server.
type listener struct {
	net.Listener
	url    string // with the port that it is bound to
	secure bool   // HTTPS
}

// New makes a server that does not listen yet.
func New(o Options) *Server {
	s := &Server{flag: o.Flag, secure: o.TLS != nil, limit: o.Limit, strangers: o.Strangers, http: &http.Server{
		Handler:           closeAfterChunks(o.Handler),
		TLSConfig:         o.TLS,
		ReadHeaderTimeout: 10 * time.Second, // ends slow handshakes and slow headers
		IdleTimeout:       90 * time.Second,
		MaxHeaderBytes:    60 << 10, // net/http adds 4 KiB
		WriteTimeout:      0,        // a watch has no end; each of its writes has a deadline
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: 250,                 // per connection; net/http closes a connection that keeps resetting streams
			SendPingTimeout:      30 * time.Second,    // after it a silent client gets a ping: a dead peer is detected while its watches are idle
			PingTimeout:          socket.WriteTimeout, // because the ping waits behind what a slow client does not take
			MaxReadFrameSize:     16 << 10,            // net/http allocates it when the first bytes of a frame have arrived
		},
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return stranger.NewContext(ctx, stranger.Of(c)) },
		ConnState:   onState,
		ErrorLog:    slog.NewLogLogger(errorHandler{o.Logger.Handler()}, slog.LevelWarn),
	}}
	s.kept = newKeptListener(s)
	return s
}

// Listen binds all addresses, host:port or unix:///path, or none. Serve closes the listeners, and removes the sockets.
func (s *Server) Listen(ctx context.Context, addresses []string) error {
	if s.secure {
		http2.Configure(s.http)
	}
	for _, address := range addresses {
		l, err := s.open(ctx, address)
		if err != nil {
			s.Close()
			return err
		}
		s.listeners = append(s.listeners, l)
	}
	return nil
}

// open binds an address. The error names the flag.
func (s *Server) open(ctx context.Context, address string) (listener, error) {
	if path, isUnix := strings.CutPrefix(address, unixScheme); isUnix {
		l, err := listenUnix(ctx, path)
		if err != nil {
			return listener{}, fmt.Errorf("%s %s: %w", s.flag, address, err)
		}
		return listener{Listener: s.wrap(l, false), url: address}, nil
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return listener{}, fmt.Errorf("cannot listen on %s, which is in use by another process: choose another address with %s (port 0 is any free one)", address, s.flag)
	case err != nil:
		return listener{}, fmt.Errorf("%w: choose another address with %s", err, s.flag)
	}
	scheme := "http://"
	if s.secure {
		scheme = "https://"
	}
	return listener{s.wrap(l, s.secure), scheme + listenHost(address, l.Addr()), s.secure}, nil
}

// URLs are the URLs of the listeners.
func (s *Server) URLs() (urls []string) {
	for _, l := range s.listeners {
		urls = append(urls, l.url)
	}
	return urls
}

// Serve serves until ctx ends, also after Shutdown, or until a listener fails.
func (s *Server) Serve(ctx context.Context) error {
	failed := make(chan error, len(s.listeners))
	base := transport.NewContext(context.WithoutCancel(ctx), s.kept.keep)
	s.http.BaseContext = func(net.Listener) context.Context { return base }
	var serving sync.WaitGroup
	defer s.kept.running.Wait()
	defer serving.Wait()
	defer func() { _ = s.http.Close() }()
	serving.Go(func() { _ = s.http.Serve(s.kept) }) // until the server is closed
	for _, l := range s.listeners {
		serving.Go(func() {
			if err := s.serve(ctx, l); !errors.Is(err, http.ErrServerClosed) {
				failed <- fmt.Errorf("serve %s: %w", l.url, err)
			}
		})
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-failed:
		return err
	}
}

func (s *Server) serve(ctx context.Context, l listener) error {
	if !l.secure {
		return s.http.Serve(l.Listener)
	}
	handshakes := &tlsListener{Listener: transport.Listen(l.Listener), config: s.http.TLSConfig, timeout: s.http.ReadHeaderTimeout, log: s.http.ErrorLog}
	handshakes.start(ctx)
	defer handshakes.wait()
	return s.http.Serve(handshakes)
}

// wrap applies the limits of connections to a listener.
func (s *Server) wrap(l net.Listener, secure bool) net.Listener {
	l = s.limit.listen(keepReserve(l, s.limit.Refused))
	if s.strangers != nil {
		l = strangerListener{l, s.strangers, secure}
	}
	return l
}

// Shutdown refuses new connections and waits for the open requests. When ctx ends first, it closes their connections.
func (s *Server) Shutdown(ctx context.Context) error {
	err := s.http.Shutdown(ctx)
	if err != nil {
		_ = s.http.Close() // cutting the connections is the purpose
	}
	return err
}

// Close closes the listeners, if Serve does not run.
func (s *Server) Close() {
	for _, l := range s.listeners {
		_ = l.Close()
	}
}

// listenHost is the address of the user with the port that the listener is bound to.
func listenHost(given string, bound net.Addr) string {
	host, _, err := net.SplitHostPort(given)
	tcp, isTCP := bound.(*net.TCPAddr)
	if err != nil || !isTCP || host == "" {
		return bound.String()
	}
	return net.JoinHostPort(host, strconv.Itoa(tcp.Port))
}

// errorHandler is the log handler of http.Server. It lowers errors that any client can cause to debug level.
type errorHandler struct{ slog.Handler }

// Enabled implements slog.Handler. It is always true, because net/http logs at one level and Handle chooses the real one.
func (errorHandler) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements slog.Handler.
func (h errorHandler) Handle(ctx context.Context, r slog.Record) error {
	for _, prefix := range []string{"http: TLS handshake error", "http2: server: error reading preface", "http2: server connection error"} {
		if strings.HasPrefix(r.Message, prefix) {
			r.Level = slog.LevelDebug
		}
	}
	if !h.Handler.Enabled(ctx, r.Level) {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}
