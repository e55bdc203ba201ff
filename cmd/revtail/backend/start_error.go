package backend

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

// explainStart adds the flag to change to an error of the start of etcd or of the connection, and the exit code.
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
		why := DiagnoseTLS(ctx, cfg)
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
