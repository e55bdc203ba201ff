package main

import (
	"bytes"
	"context"
	"time"

	"revtail/gateway/config"
	"revtail/gateway/config/reload"
)

// remountTimeout bounds how long the keys below new mounts may take to be read.
const remountTimeout = 30 * time.Second

// openFile has the mounts of the --config file taken over whenever it changes, if there is one.
func (p *process) openFile(ctx context.Context, load func() (config.Config, error)) error {
	if p.cfg.File() == "" {
		return nil
	}
	file, err := reload.Open("--config", p.cfg.File(), func([]byte) (config.Config, error) {
		cfg, err := load()
		if err == nil && p.gateway != nil { // which it is at the start
			err = p.remount(ctx, cfg)
		}
		return cfg, err
	}, p.logger)
	p.file = file
	return err
}

// remount takes over the mounts of a configuration.
func (p *process) remount(ctx context.Context, cfg config.Config) error {
	ctx, cancel := context.WithTimeout(ctx, remountTimeout)
	defer cancel()
	err := p.gateway.Remount(ctx, cfg.Mounts)
	if err == nil {
		p.warnUnused(cfg)
	}
	return err
}

// warnUnused says so when a file has other news than mounts.
func (p *process) warnUnused(next config.Config) {
	now := p.cfg
	now.Mounts, next.Mounts = nil, nil
	before, err := now.YAML()
	after, failed := next.YAML()
	if err == nil && failed == nil && !bytes.Equal(before, after) {
		p.logger.Warn("of a changed configuration only the mounts are taken over while the gateway runs: restart it for the rest", "file", p.cfg.File())
	}
}
