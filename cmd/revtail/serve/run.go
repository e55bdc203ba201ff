package serve

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"revtail/cmd/revtail/memory"
	"revtail/etcdstore"
)

// run serves until ctx ends, or until a part fails that the gateway needs.
func (p *process) run(ctx context.Context, stdout io.Writer) error {
	p.background.Go(p.web.Serve) // /livez and /readyz answer while the caches are filled
	if p.admin != nil {
		p.background.Go(p.admin.Serve)
	}
	p.background.Go(p.gateway.Run)
	p.background.Go(p.monitor.Run)
	p.background.Go(p.reloadOnSIGHUP)
	p.startReloads()
	p.startCompactor()
	p.background.Go(func(ctx context.Context) error { return p.supervisor.RunWatchdog(ctx, p.gateway.Alive) })
	p.background.Go(func(background context.Context) error {
		err := p.announce(ctx, stdout)
		if err == nil {
			memory.ReleaseWhenIdle(background, p.gateway.Departed) // filling the caches allocates several times their size
		}
		return err
	})
	return p.wait(ctx)
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
	case err := <-p.background.Failed():
		return err
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

// group runs goroutines until Stop.
type group struct {
	ctx     context.Context // of the goroutines
	cancel  context.CancelFunc
	running sync.WaitGroup
	failed  chan error // holds the first error
}

func newGroup(ctx context.Context) *group {
	g := &group{failed: make(chan error, 1)}
	g.ctx, g.cancel = context.WithCancel(ctx)
	return g
}

// Go runs f until its context ends. An error before that goes to Failed.
func (g *group) Go(f func(context.Context) error) {
	g.running.Go(func() {
		err := f(g.ctx)
		if err == nil || g.ctx.Err() != nil {
			return
		}
		select {
		case g.failed <- err:
		default:
		}
	})
}

// Failed receives the first error of a goroutine.
func (g *group) Failed() <-chan error { return g.failed }

// Stop ends the goroutines and waits for them.
func (g *group) Stop() {
	g.cancel()
	g.running.Wait()
}
