package serve

import (
	"context"
	"fmt"
	"io"
	"strings"

	"revtail/cmd/revtail/memory"
	"revtail/etcdstore"
)

// run serves until ctx ends, or until a part fails that the gateway needs.
func (p *process) run(ctx context.Context, stdout io.Writer) error {
	p.start(p.web.Serve) // /livez and /readyz answer while the caches are filled
	if p.admin != nil {
		p.start(p.admin.Serve)
	}
	p.start(p.gateway.Run)
	p.start(p.monitor.Run)
	if p.recorder != nil {
		p.start(p.record)
	}
	if p.standIn.bootstrap {
		p.start(p.bootstrap)
	}
	p.start(p.reloadOnSIGHUP)
	if p.kubeAPIServer != nil {
		p.start(p.kubeAPIServer.run)
	}
	if p.encryption != nil {
		p.start(p.checkKMS)
	}
	if p.decryption != nil {
		p.start(p.checkDecryption)
	}
	for _, f := range p.reloadables {
		p.start(f.Run)
	}
	if p.access.issuer != nil {
		p.start(p.access.issuer.Run)
	}
	if p.cfg.History > 0 && !p.cfg.Cluster {
		p.start(func(ctx context.Context) error {
			return p.etcd.Store.Compact(ctx, p.cfg.History, p.mayCompact, p.logger)
		})
	}
	p.start(func(ctx context.Context) error { return p.supervisor.RunWatchdog(ctx, p.gateway.Alive) })
	p.start(func(background context.Context) error {
		err := p.announce(ctx, stdout)
		if err == nil {
			memory.ReleaseWhenIdle(background, p.gateway.Departed) // filling the caches allocates several times their size
		}
		return err
	})
	return p.wait(ctx)
}

// start runs f in a goroutine until the background ends. An error of f ends the background.
func (p *process) start(f func(context.Context) error) {
	p.running.Go(func() {
		if err := f(p.background); err != nil {
			p.stop(err)
		}
	})
}

// announce prints the ready line when all caches are filled, unless ctx ends before.
func (p *process) announce(ctx context.Context, stdout io.Writer) error {
	var revision etcdstore.Revision
	err := p.gateway.WaitReady(ctx)
	if err == nil {
		revision, err = p.etcd.Store.Revision(ctx)
	}
	if ctx.Err() != nil {
		return nil //nolint:nilerr // a signal before the ready line is no failure
	}
	if err != nil {
		return fmt.Errorf("etcd's revision: %w", err)
	}
	p.supervisor.Notify("READY=1")
	if _, err = fmt.Fprintf(stdout, "READY http=%s etcd=%s revision=%d%s\n", strings.Join(p.web.URLs(), ","), p.etcd.Name, revision, p.claimFields()); err != nil {
		p.logger.Warn("the ready line could not be written", "error", err)
	}
	return nil
}

// wait returns nil when ctx ends, or before that the error of a part that the gateway needs.
func (p *process) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-p.etcd.Failed():
		return fmt.Errorf("the embedded etcd ended: %w", err)
	case <-p.background.Done():
		return context.Cause(p.background)
	}
}

// drain fails /readyz for --drain-delay, then ends the watches and waits for the other requests. After --drain-grace it closes their
// connections.
func (p *process) drain() error {
	p.logger.Info("stopping", "delay", p.cfg.DrainDelay.String(), "grace", p.cfg.DrainGrace.String())
	p.supervisor.Notify("STOPPING=1")
	p.gateway.StartDraining()
	delay, cancel := context.WithTimeout(context.Background(), p.cfg.DrainDelay)
	defer cancel()
	if err := p.wait(delay); err != nil {
		return err
	}
	p.kubeAPIServer.drain()
	grace, cancel := context.WithTimeout(context.Background(), p.cfg.DrainGrace)
	defer cancel()
	if err := p.gateway.Drain(grace); err != nil {
		p.logger.Warn("some watches did not end within --drain-grace and are cut", "error", err)
	}
	if err := p.web.Shutdown(grace); err != nil {
		p.logger.Warn("some requests did not end within --drain-grace and are cut", "error", err)
	}
	return nil
}
