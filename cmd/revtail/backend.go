package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"revtail/cmd/revtail/command"
	"revtail/etcdstore"
	"revtail/etcdstore/embedded"
	"revtail/gateway/config"
)

// backend is the etcd that is served: one in this process, or an external one. Close it.
type backend struct {
	name   string // for the ready line
	member *embedded.Server
	store  *etcdstore.Etcd
}

// openBackend returns when etcd answers a linearizable read. Errors name the flag to change.
func (p *process) openBackend(ctx context.Context) (*backend, error) {
	cfg := p.cfg
	starting, cancel := context.WithTimeout(ctx, cfg.StartupTimeout)
	defer cancel()
	b, access, err := p.findEtcd(starting)
	if err != nil {
		return nil, explainStart(ctx, err, cfg)
	}
	access.Logger, access.Observe, access.Tracing = p.logger, p.requests.Done, p.tracer()
	if p.etcdPassword != nil {
		access.Username, access.Password = cfg.EtcdUser, p.etcdPassword.Get
	}
	if b.store, err = etcdstore.Open(access); err != nil {
		return nil, errors.Join(explainStart(ctx, err, cfg), b.Close())
	}
	if err := b.store.Await(starting); err != nil {
		return nil, errors.Join(explainStart(ctx, err, cfg), b.Close())
	}
	return b, nil
}

// findEtcd starts the embedded etcd unless there is an external one, and says how to reach it.
func (p *process) findEtcd(ctx context.Context) (*backend, etcdstore.Config, error) {
	cfg := p.cfg
	if cfg.External() {
		access := etcdstore.Config{Endpoints: cfg.EtcdEndpoints}
		if p.etcdTLS != nil {
			access.TLS = p.etcdTLS.Get
		}
		return &backend{name: strings.Join(cfg.EtcdEndpoints, ",")}, access, nil
	}
	what := embedded.Config{DataDir: cfg.DataDir, ClientURL: cfg.EmbeddedClientURL, Logger: p.logger}
	if cfg.EmbeddedConfig != "" {
		what = embedded.Config{ConfigFile: cfg.EmbeddedConfig, Logger: p.logger}
	}
	member, err := embedded.Start(ctx, what)
	if err != nil {
		return nil, etcdstore.Config{}, err
	}
	p.logger.Info("embedded etcd is ready", "endpoints", member.Endpoints())
	access := etcdstore.Config{Endpoints: member.Endpoints(), TLS: member.TLS()}
	if p.etcdPassword == nil {
		access.KV, access.Watch = member.KV(), member.Watch()
	}
	return &backend{name: "embedded", member: member}, access, nil
}

// Died gets one error when the embedded etcd ends by itself.
func (b *backend) Died() <-chan error {
	if b.member == nil {
		return nil
	}
	return b.member.Err()
}

// Close closes the connections, and the embedded etcd last.
func (b *backend) Close() error {
	var errs []error
	if b.store != nil {
		errs = append(errs, b.store.Close())
	}
	if b.member != nil {
		errs = append(errs, b.member.Close())
	}
	return errors.Join(errs...)
}

// explainStart says what to do about an etcd that cannot be started or reached, and gives the error its exit code.
func explainStart(ctx context.Context, err error, cfg config.Config) error {
	dirFlag, urlFlag := "--data-dir", "--embedded-client-url"
	if cfg.EmbeddedConfig != "" {
		dirFlag, urlFlag = "data-dir in the file of --embedded-config", "listen-client-urls in the file of --embedded-config"
	}
	var (
		refused *embedded.ConfigError
		dir     *embedded.DataDirError
		address *embedded.AddressError
	)
	switch {
	case errors.As(err, &refused) && cfg.EmbeddedConfig != "":
		return command.UsageError(fmt.Errorf("--embedded-config: %w", err))
	case errors.As(err, &refused):
		return command.UsageError(fmt.Errorf("--embedded-client-url: %w (--embedded-config)", err))
	case errors.Is(err, embedded.ErrDataDirInUse) && errors.As(err, &dir):
		return fmt.Errorf("the data directory %s is in use by another process: stop that one, or choose another directory with %s", dir.Dir, dirFlag)
	case errors.As(err, &dir):
		return fmt.Errorf("%w: repair it, or choose another directory with %s", err, dirFlag)
	case errors.Is(err, embedded.ErrAddressInUse) && errors.As(err, &address):
		return fmt.Errorf("the embedded etcd cannot listen on %s, which is in use: choose another address with %s (port 0 is any free one), "+
			"or use the etcd that runs there with --etcd-endpoints", address.Address, urlFlag)
	case errors.As(err, &address):
		return fmt.Errorf("the embedded etcd cannot %w: choose another address with %s", err, urlFlag)
	case errors.Is(err, etcdstore.ErrDenied):
		return fmt.Errorf("%w: check --etcd-user, --etcd-password-file and --etcd-cert", err)
	case errors.Is(err, context.DeadlineExceeded) && cfg.External():
		why := diagnoseTLS(ctx, cfg)
		if why == nil {
			why = fmt.Errorf("correct --etcd-endpoints, or wait longer (%w)", err)
		}
		return &command.ExitError{Code: command.ExitUnreachable, Err: fmt.Errorf("no answer from etcd at %s within --startup-timeout %v: %w",
			strings.Join(cfg.EtcdEndpoints, ", "), cfg.StartupTimeout, why)}
	case errors.Is(err, context.DeadlineExceeded):
		return &command.ExitError{Code: command.ExitUnreachable, Err: fmt.Errorf("the embedded etcd was not ready within --startup-timeout %v: wait longer (%w)", cfg.StartupTimeout, err)}
	}
	return err
}
