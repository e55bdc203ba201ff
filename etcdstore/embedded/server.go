// Package embedded runs an etcd member inside this process. It is the only importer of etcd's server.
//
// Clients reach the member over gRPC like any other etcd. This process may leave out the connection where the member is a cluster
// of its own (local.go): the in-process client of etcd leaves out the interceptors too, and with them the check for a leader.
// Two processes never share a data directory:
// Start locks it, and fails at once where etcd would wait without end.
package embedded

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"sync"
	"sync/atomic"

	"go.etcd.io/etcd/api/v3/version"
	"go.etcd.io/etcd/server/v3/embed"
)

// Version is that of the etcd in this program.
func Version() string { return version.Version }

// errStopped is why a member ends that was neither closed by us nor failed: it was removed from its cluster.
var errStopped = errors.New("etcd stopped: this member was removed from its cluster")

// Server is a running etcd member. Close it.
type Server struct {
	etcd  *embed.Etcd
	fatal *fatalHook
	quiet atomic.Bool // etcd is being closed
	dir   *dataDir
	tls   *tls.Config
	local *local // nil: the member has a configuration file

	died       chan error    // holds the one error that ended etcd
	closing    chan struct{} // closed by Close
	supervised chan struct{} // closed when supervise has returned
	close      func() error  // runs once
}

// Start runs a member and returns when it has joined its cluster and answers requests. It fails with a *ConfigError, a
// *DataDirError (which may wrap a *FatalError), an *AddressError, or when ctx ends first, with an error that wraps ctx.Err(). ctx bounds
// the start only; Close ends the member.
//
// One thing cannot be interrupted: an etcd that is still reading its data when ctx ends is left to finish that, and is
// closed behind the caller's back. The data directory stays locked until then.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	ec, err := cfg.load()
	if err != nil {
		return nil, err
	}
	s := &Server{fatal: newFatalHook()}
	ec.ZapLoggerBuilder = embed.NewZapLoggerBuilder(newLogger(cfg.Logger, s.fatal, &s.quiet))
	if s.dir, err = openDataDir(ec.Dir); err != nil {
		return nil, err
	}
	if err := claim(ec); err != nil {
		return nil, errors.Join(err, s.dir.Close())
	}
	if cfg.ConfigFile == "" { // a cluster of its own
		ec.AdvertiseClientUrls = ec.ListenClientUrls
		if err := discardUnborn(ec.Dir, cmp.Or(cfg.Logger, slog.Default())); err != nil {
			return nil, errors.Join(err, s.dir.Close())
		}
	}
	if err := s.launch(ctx, ec); err != nil {
		return nil, err
	}
	if err := s.ready(ctx); err != nil {
		return nil, errors.Join(err, s.shutdown())
	}
	if cfg.ConfigFile == "" {
		s.local = newLocal(s.etcd.Server)
	}
	s.died, s.closing, s.supervised = make(chan error, 1), make(chan struct{}), make(chan struct{})
	s.close = sync.OnceValue(func() error {
		close(s.closing)
		<-s.supervised
		return s.shutdown()
	})
	go s.supervise()
	return s, nil
}

// Endpoints are where the member answers this process, with real ports.
func (s *Server) Endpoints() []string {
	config := s.etcd.Config()
	endpoints := make([]string, 0, len(config.ListenClientUrls))
	for _, u := range config.ListenClientUrls {
		endpoints = append(endpoints, endpoint(u))
	}
	return endpoints
}

// TLS is how to talk to Endpoints, as a Store asks for it; nil when they are plain.
func (s *Server) TLS() func() *tls.Config {
	if s.tls == nil {
		return nil
	}
	return s.tls.Clone
}

// Err gets one error when etcd ends otherwise than by Close. Nothing works then: close the Server and end the process.
func (s *Server) Err() <-chan error { return s.died }

// Close ends the member and unlocks the data directory. Close the clients first: etcd waits some seconds for open
// watches. After a *FatalError etcd cannot be closed in order: some of its goroutines stay. Close may be called more
// than once.
func (s *Server) Close() error { return s.close() }

// launch starts etcd in a goroutine that fatalHook may end. After an error nothing is open.
func (s *Server) launch(ctx context.Context, ec *embed.Config) error {
	launched := make(chan error, 1)
	go func() {
		var err error
		defer func() {
			switch p := recover(); {
			case p != nil:
				err = &DataDirError{Dir: ec.Dir, Err: &FatalError{Message: fmt.Sprint("it cannot read its files: ", p)}}
			case err != nil:
				err = fmt.Errorf("start etcd on the data directory %s: %w", ec.Dir, err)
			case s.etcd == nil: // ended by the hook
				err = &DataDirError{Dir: ec.Dir, Err: s.fatal.err}
			}
			launched <- err
		}()
		s.etcd, err = embed.StartEtcd(ec)
	}()
	select {
	case err := <-launched:
		if err != nil {
			return errors.Join(err, s.dir.Close())
		}
		return nil
	case <-ctx.Done():
		go func() {
			if err := <-launched; err != nil {
				_ = s.dir.Close()
			} else {
				_ = s.shutdown()
			}
		}()
		return fmt.Errorf("etcd is still reading its data: %w", ctx.Err())
	}
}

// ready waits until etcd has joined its cluster, and finds out how to talk to it.
func (s *Server) ready(ctx context.Context) error {
	select {
	case <-s.etcd.Server.ReadyNotify():
	case <-ctx.Done():
		return fmt.Errorf("etcd has not joined its cluster: %w", ctx.Err())
	case <-s.fatal.happened:
		return s.fatal.err
	case <-s.etcd.Server.StopNotify():
		return errStopped
	case err := <-s.etcd.Err():
		return err
	}
	for _, u := range s.etcd.Config().ListenClientUrls {
		if u.Scheme == "https" || u.Scheme == "unixs" {
			var err error
			s.tls, err = clientTLS(s.etcd.Config().ClientTLSInfo)
			return err
		}
	}
	return nil
}

// supervise waits for etcd to end by itself, until Close.
func (s *Server) supervise() {
	defer close(s.supervised)
	select {
	case <-s.closing:
	case <-s.fatal.happened:
		s.died <- s.fatal.err
	case <-s.etcd.Server.StopNotify():
		s.died <- errStopped
	case err := <-s.etcd.Err():
		s.died <- err
	}
}

// shutdown closes etcd, unless it has given up or does so meanwhile, and unlocks the data directory.
func (s *Server) shutdown() error {
	select {
	case <-s.fatal.happened:
	default:
		s.closeEtcd()
	}
	return s.dir.Close()
}

// closeEtcd returns when etcd has ended or given up.
func (s *Server) closeEtcd() {
	s.quiet.Store(true)
	closed := make(chan struct{})
	go func() { // the hook may end it, as any goroutine that etcd runs in
		defer close(closed)
		if s.local != nil {
			s.local.close()
		}
		select {
		case <-s.etcd.Server.ReadyNotify():
		default:
			s.etcd.Server.Stop() // else Close would wait for the member to become ready
		}
		s.etcd.Close()
	}()
	select {
	case <-closed:
	case <-s.fatal.happened:
	}
}

// endpoint is how this process reaches a member that listens on u.
func endpoint(u url.URL) string {
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && ip.IsUnspecified() {
		host := "127.0.0.1"
		if ip.Is6() {
			host = "::1"
		}
		u.Host = net.JoinHostPort(host, u.Port())
	}
	return u.String()
}
