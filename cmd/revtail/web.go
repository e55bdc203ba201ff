package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// webServer is an HTTP server on one or several addresses.
type webServer struct {
	http      *http.Server
	listeners []net.Listener
	urls      []string // of the listeners, with real ports
}

// listen binds all addresses or none. Serve serves them, and closes them at the end.
func listen(ctx context.Context, addresses []string, handler http.Handler, logger *slog.Logger) (*webServer, error) {
	w := &webServer{http: &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second, // against clients that send a header byte by byte
		IdleTimeout:       90 * time.Second,
		MaxHeaderBytes:    64 << 10,
		WriteTimeout:      0, // a watch has no end; each write to it has its own deadline
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}}
	for _, address := range addresses {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
		if err != nil {
			w.closeListeners()
			return nil, explainListen(address, err)
		}
		w.listeners = append(w.listeners, l)
		w.urls = append(w.urls, listenURL(address, l.Addr()))
	}
	return w, nil
}

// Serve serves until ctx ends, also after Shutdown, or until a listener fails.
func (w *webServer) Serve(ctx context.Context) error {
	failed := make(chan error, len(w.listeners))
	var serving sync.WaitGroup
	defer serving.Wait()
	defer func() { _ = w.http.Close() }()
	for _, l := range w.listeners {
		serving.Go(func() {
			if err := w.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
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

func explainListen(address string, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("cannot listen on %s, which is in use by another process: choose another address with --listen (port 0 is any free one)", address)
	}
	return fmt.Errorf("%w: choose another address with --listen", err)
}

// listenURL is the address that the user gave with the port that it became.
func listenURL(given string, bound net.Addr) string {
	host, _, err := net.SplitHostPort(given)
	tcp, isTCP := bound.(*net.TCPAddr)
	if err != nil || !isTCP || host == "" {
		return "http://" + bound.String()
	}
	return "http://" + net.JoinHostPort(host, strconv.Itoa(tcp.Port))
}
