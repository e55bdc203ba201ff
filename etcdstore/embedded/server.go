//go:build !noembedded

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
	"os"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/version"
	"go.etcd.io/etcd/server/v3/embed"
	"google.golang.org/grpc"
)

// Version returns the version of the etcd in this program.
func Version() string { return version.Version }

// errStopped is the error if etcd stops without an error and without Close.
var errStopped = errors.New("etcd stopped: this member was removed from its cluster")

// Server is a running etcd member. Close it.
type Server struct {
	etcd  *embed.Etcd
	fatal *fatalHook
	quiet atomic.Bool // etcd is closing
	dir   *os.File    // its lock
	tls   *tls.Config
	disk  *disk
	local *local // nil for a member with a configuration file

	died       chan error    // receives the error that ended etcd
	closing    chan struct{} // closed by Close
	supervised chan struct{} // closed when supervise has returned
	close      func() error  // runs once
}

// Start starts a member and returns when it has joined its cluster and answers requests. The error is a *ConfigError, a *DataDirError
// (which may wrap a *FatalError), an *AddressError, or wraps ctx.Err(). ctx bounds the start only; Close ends the member.
//
// If ctx ends while etcd reads its data, which cannot be interrupted, a goroutine closes etcd afterwards. The data directory stays locked
// until then.
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
	if err := cfg.claim(ec); err != nil {
		return nil, errors.Join(err, s.dir.Close())
	}
	if cfg.ConfigFile == "" { // a cluster of its own
		ec.AdvertiseClientUrls = ec.ListenClientUrls
		if err := discardUnborn(ec.Dir, cmp.Or(cfg.Logger, slog.Default())); err != nil {
			return nil, errors.Join(err, s.dir.Close())
		}
	}
	s.disk = newDisk(ec, cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler)))
	if err := s.disk.checkStart(ec); err != nil {
		return nil, errors.Join(err, s.dir.Close())
	}
	ec.GRPCAdditionalServerOptions = append(ec.GRPCAdditionalServerOptions, grpc.ChainUnaryInterceptor(s.disk.intercept))
	if err := s.launch(ctx, ec); err != nil {
		return nil, err
	}
	if err := s.ready(ctx); err != nil {
		return nil, errors.Join(err, s.shutdown())
	}
	if cfg.ConfigFile == "" {
		s.local = newLocal(s.etcd.Server, s.disk)
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

// Endpoints returns the URLs of the member for this process, with the actual ports.
func (s *Server) Endpoints() []string {
	config := s.etcd.Config()
	endpoints := make([]string, 0, len(config.ListenClientUrls))
	for _, u := range config.ListenClientUrls {
		if ip, err := netip.ParseAddr(u.Hostname()); err == nil && ip.IsUnspecified() {
			host := "127.0.0.1"
			if ip.Is6() {
				host = "::1"
			}
			u.Host = net.JoinHostPort(host, u.Port())
		}
		endpoints = append(endpoints, endpointOf(u))
	}
	return endpoints
}

// TLS returns the TLS configuration for Endpoints, as in etcdstore.Config; nil: they have no TLS.
func (s *Server) TLS() func() *tls.Config {
	if s.tls == nil {
		return nil
	}
	return s.tls.Clone
}

// Err receives one error if etcd ends without Close. Then close the Server and end the process.
func (s *Server) Err() <-chan error { return s.died }

// Close ends the member and unlocks the data directory. Close the clients first, because etcd waits some seconds for open watches. After a
// *FatalError some goroutines of etcd stay. Close may be called more than once.
func (s *Server) Close() error { return s.close() }

// launch starts etcd in a goroutine, because fatalHook may end it. After an error, it has closed all resources.
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

// ready waits until etcd has joined its cluster, and sets the TLS configuration.
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

// supervise checks the disk until etcd ends or is closed.
func (s *Server) supervise() {
	defer close(s.supervised)
	tick := time.NewTicker(diskPeriod)
	defer tick.Stop()
	for {
		s.disk.check()
		select {
		case <-tick.C:
			continue
		case <-s.closing:
		case <-s.fatal.happened:
			s.died <- s.fatal.err
		case <-s.etcd.Server.StopNotify():
			s.died <- errStopped
		case err := <-s.etcd.Err():
			s.died <- err
		}
		return
	}
}

// Problems returns a sentence for the operator if etcd refuses writes because its disk has no room.
func (s *Server) Problems() []string {
	if problem := s.disk.problem.Load(); problem != nil {
		return []string{fmt.Sprintf("the disk of %s: %s; writes fail with 507 until there is room, reads and watches work", problem.dir, problem.reason)}
	}
	return nil
}

// shutdown closes etcd, unless a fatal error has ended it, and unlocks the data directory.
func (s *Server) shutdown() error {
	select {
	case <-s.fatal.happened:
	default:
		s.closeEtcd()
	}
	_ = os.Remove(urlFile(s.dir.Name())) // with a configuration file there is none
	return s.dir.Close()
}

// closeEtcd returns when etcd has ended or failed.
func (s *Server) closeEtcd() {
	s.quiet.Store(true)
	closed := make(chan struct{})
	go func() { // fatalHook may end this goroutine
		defer close(closed)
		if s.local != nil {
			s.local.close()
		}
		select {
		case <-s.etcd.Server.ReadyNotify():
		default:
			s.etcd.Server.Stop() // otherwise Close would wait until the member is ready
		}
		s.etcd.Close()
	}()
	select {
	case <-closed:
	case <-s.fatal.happened:
	}
}
