package main

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

	"revtail/gateway"
	"revtail/gateway/netio/http2"
)

// webServer is an HTTP server, or an HTTPS server, on one or several addresses.
type webServer struct {
	http      *http.Server
	flag      string // by which the addresses were given
	secure    bool   // HTTPS; http.Server has a TLSConfig later on also without
	limit     *addressLimit
	listeners []net.Listener
	urls      []string // of the listeners, with real ports
}

// newWebServer makes a server that listens nowhere yet; of HTTPS when there is a TLS configuration.
func newWebServer(flag string, handler http.Handler, tlsConfig *tls.Config, limit *addressLimit, logger *slog.Logger) *webServer {
	return &webServer{flag: flag, secure: tlsConfig != nil, limit: limit, http: &http.Server{
		Handler:           handler,
		TLSConfig:         tlsConfig,
		ReadHeaderTimeout: 10 * time.Second, // against clients that send a header, or shake hands, byte by byte
		IdleTimeout:       90 * time.Second,
		MaxHeaderBytes:    60 << 10, // net/http adds 4 KiB
		WriteTimeout:      0,        // a watch has no end; each write to it has its own deadline
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: 250,              // on one connection; net/http ends one that keeps taking them back
			SendPingTimeout:      30 * time.Second, // a peer that is gone is noticed while its watches are quiet
			WriteByteTimeout:     30 * time.Second, // of the connection; the streams on it wait for one another
		},
		ErrorLog: slog.NewLogLogger(clientErrors{logger.Handler()}, slog.LevelWarn),
	}}
}

// Listen binds all addresses or none. Serve serves them, and closes them at the end.
func (w *webServer) Listen(ctx context.Context, addresses []string) error {
	for _, address := range addresses {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
		if err != nil {
			w.closeListeners()
			return explainListen(w.flag, address, err)
		}
		w.listeners = append(w.listeners, w.limit.listen(l))
		w.urls = append(w.urls, w.scheme()+listenHost(address, l.Addr()))
	}
	if w.secure {
		return http2.Configure(w.http)
	}
	return nil
}

func (w *webServer) scheme() string {
	if w.secure {
		return "https://"
	}
	return "http://"
}

// Serve serves until ctx ends, also after Shutdown, or until a listener fails.
func (w *webServer) Serve(ctx context.Context) error {
	failed := make(chan error, len(w.listeners))
	var serving sync.WaitGroup
	defer serving.Wait()
	defer func() { _ = w.http.Close() }()
	for _, l := range w.listeners {
		serving.Go(func() {
			if err := w.serveOn(l); !errors.Is(err, http.ErrServerClosed) {
				failed <- fmt.Errorf("serve %s: %w", l.Addr(), err)
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

func (w *webServer) serveOn(l net.Listener) error {
	if w.secure {
		return w.http.ServeTLS(gateway.Listen(l), "", "")
	}
	return w.http.Serve(l)
}

// Shutdown refuses new connections and waits for the requests under way. When ctx ends first, their connections are cut.
func (w *webServer) Shutdown(ctx context.Context) error {
	err := w.http.Shutdown(ctx)
	if err != nil {
		_ = w.http.Close() // that connections break is what is wanted
	}
	return err
}

func (w *webServer) closeListeners() {
	for _, l := range w.listeners {
		_ = l.Close()
	}
}

func explainListen(flag, address string, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("cannot listen on %s, which is in use by another process: choose another address with %s (port 0 is any free one)", address, flag)
	}
	return fmt.Errorf("%w: choose another address with %s", err, flag)
}

// listenHost is the address that the user gave with the port that it became.
func listenHost(given string, bound net.Addr) string {
	host, _, err := net.SplitHostPort(given)
	tcp, isTCP := bound.(*net.TCPAddr)
	if err != nil || !isTCP || host == "" {
		return bound.String()
	}
	return net.JoinHostPort(host, strconv.Itoa(tcp.Port))
}

// clientErrors is a log handler for what net/http complains about. What any stranger can cause by connecting is not worth
// more than debug level.
type clientErrors struct{ slog.Handler }

// Enabled implements slog.Handler. net/http says what it has to say at one level: Handle chooses the real one.
func (clientErrors) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements slog.Handler.
func (h clientErrors) Handle(ctx context.Context, r slog.Record) error {
	for _, by := range []string{"http: TLS handshake error", "http2: server: error reading preface", "http2: server connection error"} {
		if strings.HasPrefix(r.Message, by) {
			r.Level = slog.LevelDebug
		}
	}
	if !h.Handler.Enabled(ctx, r.Level) {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}
