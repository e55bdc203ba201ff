package serve

import (
	"bytes"
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"revtail/gateway/config"
	"revtail/gateway/config/reload"
)

// reloadable is a file that may change while the gateway runs.
type reloadable interface {
	prometheus.Collector
	Run(ctx context.Context) error
	Reload()
}

// openFile opens a file that a flag names, if there is one, and adds it to the reloadable files.
func openFile[T any](p *process, flag, path string, parse func([]byte) (T, error)) (file *reload.File[T], err error) {
	if path == "" {
		return file, nil
	}
	if file, err = reload.Open(flag, path, parse, p.logger); err == nil {
		p.reloadables = append(p.reloadables, file)
	}
	return file, err
}

// reloadOnSIGHUP reads the reloadable files again at each SIGHUP.
func (p *process) reloadOnSIGHUP(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-p.sighup:
		}
		p.logger.Info("SIGHUP: reading files again")
		for _, f := range p.reloadables {
			f.Reload()
		}
	}
}

// remountTimeout bounds the time to read the keys of new mounts.
const remountTimeout = 30 * time.Second

// openConfigFile installs the mounts of the --config file, if there is one, whenever the file changes.
func (p *process) openConfigFile(ctx context.Context, load func() (config.Config, error)) error {
	_, err := openFile(p, "--config", p.cfg.File(), func([]byte) (config.Config, error) {
		cfg, err := load()
		if err == nil && p.gateway != nil { // nil at the first call
			err = p.remount(ctx, cfg)
		}
		return cfg, err
	})
	return err
}

// remount installs the mounts of a configuration. It logs when that differs in more than the mounts, because the rest needs a restart.
func (p *process) remount(ctx context.Context, next config.Config) error {
	ctx, cancel := context.WithTimeout(ctx, remountTimeout)
	defer cancel()
	if err := p.gateway.Remount(ctx, next.Mounts); err != nil {
		return err
	}
	now := p.cfg
	now.Mounts, next.Mounts = nil, nil
	before, err := now.YAML()
	after, failed := next.YAML()
	if err == nil && failed == nil && !bytes.Equal(before, after) {
		p.logger.Warn("only the mounts of a changed configuration apply while the gateway runs: restart it for the rest", "file", p.cfg.File())
	}
	return nil
}
