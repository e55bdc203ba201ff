package backend

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"go.opentelemetry.io/otel/trace"

	"revtail/cmd/revtail/command"
	"revtail/etcdstore"
	"revtail/etcdstore/embedded"
	"revtail/gateway/config"
	"revtail/gateway/config/reload"
	"revtail/gateway/metrics"
)

// Options configure the connection to etcd.
type Options struct {
	Config   config.Config
	TLS      *reload.File[*tls.Config] // of an external etcd; nil: by the scheme of its URLs
	Password *reload.File[string]      // nil: no login
	Requests *metrics.StoreRequests    // counts the requests to etcd
	Tracing  trace.TracerProvider      // nil: no traces
	Logger   *slog.Logger

	Disposable bool // see embedded.Config
}

// Backend is the etcd behind the gateway: an external one, or one embedded in this process. The owner closes it.
type Backend struct {
	Name  string // for the ready line: embedded, or the endpoints
	Store *etcdstore.Etcd

	member *embedded.Server // nil: external
}

// Open returns when etcd answers a linearizable read. Errors name the flag to change, and have the exit code.
func Open(ctx context.Context, o Options) (*Backend, error) {
	cfg := o.Config
	starting, cancel := context.WithTimeout(ctx, cfg.StartupTimeout)
	defer cancel()
	b, access, err := start(starting, o)
	if err != nil {
		return nil, explainStart(err, cfg)
	}
	access.Observe, access.Tracing = o.Requests.Done, o.Tracing
	if b.Store, err = etcdstore.Open(access); err == nil {
		err = b.await(starting, o)
	}
	if errors.Is(err, context.DeadlineExceeded) && cfg.External() {
		err = b.unreachable(ctx, cfg, fmt.Sprint("--startup-timeout ", cfg.StartupTimeout))
	}
	if err != nil {
		return nil, errors.Join(explainStart(err, cfg), b.Close())
	}
	return b, nil
}

// await waits until etcd answers. It logs for what it waits.
func (b *Backend) await(ctx context.Context, o Options) error {
	w := &waiting{logger: o.Logger, message: "waiting for etcd", first: firstReport, why: func(ctx context.Context) string {
		if err := b.diagnoseTLS(ctx, o.Config); err != nil {
			return err.Error()
		}
		return unavailable(b.Store.Members(ctx))
	}}
	return w.during(ctx, b.Store.Await)
}

// start starts the embedded etcd unless the configuration names an external one. It returns how to connect to either.
func start(ctx context.Context, o Options) (*Backend, etcdstore.Config, error) {
	cfg := o.Config
	if cfg.External() {
		return &Backend{Name: strings.Join(cfg.EtcdEndpoints, ",")}, Access(o), nil
	}
	options := embedded.Config{DataDir: cfg.DataDir, ClientURL: cfg.EmbeddedClientURL, Disposable: o.Disposable, Logger: o.Logger}
	if cfg.EmbeddedClientURL == config.NoClientURL {
		options.ClientURL = ""
	}
	if cfg.EmbeddedConfig != "" {
		options = embedded.Config{ConfigFile: cfg.EmbeddedConfig, Logger: o.Logger}
	}
	var member *embedded.Server
	err := waitingForEmbedded(o, options).during(ctx, func(ctx context.Context) (err error) {
		member, err = embedded.Start(ctx, options)
		return err
	})
	if err != nil {
		return nil, etcdstore.Config{}, err
	}
	o.Logger.Info("embedded etcd is ready", "endpoints", member.Endpoints())
	access := Access(o)
	access.Endpoints, access.TLS = member.Endpoints(), member.TLS()
	if o.Password == nil {
		access.KV, access.Watch = member.Local()
	}
	return &Backend{Name: "embedded", member: member}, access, nil
}

// EmbeddedEndpoint is the URL of the embedded etcd of a configuration for another process of the same user: its socket if it has one, else the
// client URL.
func EmbeddedEndpoint(cfg config.Config) string {
	socket, err := embedded.SocketURL(cfg.DataDir)
	if err == nil && cfg.EmbeddedClientURL != config.NoClientURL {
		path, _ := config.UnixPath(socket)
		_, err = os.Stat(path)
	}
	if err != nil {
		return cfg.EmbeddedClientURL
	}
	return socket
}

// Access is the configuration of a connection to the endpoints, without traces and metrics.
func Access(o Options) etcdstore.Config {
	access := etcdstore.Config{Endpoints: o.Config.EtcdEndpoints, Logger: o.Logger}
	if o.TLS != nil {
		access.TLS = o.TLS.Get
	}
	if o.Password != nil {
		access.Username, access.Password = o.Config.EtcdUser, o.Password.Get
	}
	return access
}

// Failed receives one error if the embedded etcd stops by itself.
func (b *Backend) Failed() <-chan error {
	if b.member == nil {
		return nil
	}
	return b.member.Err()
}

// Problems returns sentences for the operator about the disk of the embedded etcd.
func (b *Backend) Problems() []string {
	if b.member == nil {
		return nil
	}
	return b.member.Problems()
}

// Close closes the connections first and the embedded etcd last.
func (b *Backend) Close() error {
	var errs []error
	if b.Store != nil {
		errs = append(errs, b.Store.Close())
	}
	if b.member != nil {
		errs = append(errs, b.member.Close())
	}
	return errors.Join(errs...)
}

// explainStart adds the flag to change to an error of the start of etcd or of the connection, and the exit code.
func explainStart(err error, cfg config.Config) error {
	dirFlag, urlFlag := "--data-dir", "--embedded-client-url"
	if cfg.EmbeddedConfig != "" {
		dirFlag, urlFlag = "data-dir in the file of --embedded-config", "listen-client-urls in the file of --embedded-config"
	}
	_, refused := errors.AsType[*embedded.ConfigError](err)
	dir, noDir := errors.AsType[*embedded.DataDirError](err)
	address, noAddress := errors.AsType[*embedded.AddressError](err)
	switch {
	case refused && cfg.EmbeddedConfig != "":
		return command.UsageError(fmt.Errorf("--embedded-config: %w", err))
	case refused:
		return command.UsageError(fmt.Errorf("--embedded-client-url: %w (--embedded-config)", err))
	case noDir && errors.Is(err, embedded.ErrDataDirInUse):
		return fmt.Errorf("the data directory %s is in use by another process: stop that one, or choose another directory with %s", dir.Dir, dirFlag)
	case noDir && errors.Is(err, embedded.ErrNoRoom):
		return fmt.Errorf("%w: make room, or choose another directory with %s", err, dirFlag)
	case noDir:
		return fmt.Errorf("%w: repair it, or choose another directory with %s", err, dirFlag)
	case noAddress && errors.Is(err, embedded.ErrAddressInUse):
		return fmt.Errorf("the embedded etcd cannot listen on %s, which is in use: choose another address with %s (port 0 is any free one), "+
			"or use the etcd that runs there with --etcd-endpoints", address.Address, urlFlag)
	case noAddress:
		return fmt.Errorf("the embedded etcd cannot %w: choose another address with %s", err, urlFlag)
	case errors.Is(err, etcdstore.ErrDenied):
		return fmt.Errorf("%w: check --etcd-user, --etcd-password-file and --etcd-cert", err)
	case errors.Is(err, context.DeadlineExceeded):
		return &command.ExitError{Code: command.ExitUnreachable, Err: fmt.Errorf("the embedded etcd was not ready within --startup-timeout %v: wait longer (%w)", cfg.StartupTimeout, err)}
	}
	return err
}
