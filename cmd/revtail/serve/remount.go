package serve

import (
	"bytes"
	"context"
	"time"

	"revtail/gateway/config"
	"revtail/gateway/config/reload"
)

// remountTimeout bounds the time to read the keys of new mounts.
const remountTimeout = 30 * time.Second

// openConfigFile installs the mounts of the --config file, if there is one, whenever the file changes.
func (p *process) openConfigFile(ctx context.Context, load func() (config.Config, error)) error {
	if p.cfg.File() == "" {
		return nil
	}
	file, err := reload.Open("--config", p.cfg.File(), func([]byte) (config.Config, error) {
		cfg, err := load()
		if err == nil && p.gateway != nil { // nil at the first call
			err = p.remount(ctx, cfg)
		}
		return cfg, err
	}, p.logger)
	p.configFile = file
	return err
}

// remount installs the mounts of a configuration.
func (p *process) remount(ctx context.Context, cfg config.Config) error {
	ctx, cancel := context.WithTimeout(ctx, remountTimeout)
	defer cancel()
	err := p.gateway.Remount(ctx, cfg.Mounts)
	if err == nil {
		p.warnIgnored(cfg)
	}
	return err
}

// warnIgnored logs when the new configuration differs in more than the mounts, because the rest needs a restart.
func (p *process) warnIgnored(next config.Config) {
	now := p.cfg
	now.Mounts, next.Mounts = nil, nil
	before, err := now.YAML()
	after, failed := next.YAML()
	if err == nil && failed == nil && !bytes.Equal(before, after) {
		p.logger.Warn("of a changed configuration only the mounts are taken over while the gateway runs: restart it for the rest", "file", p.cfg.File())
	}
}
