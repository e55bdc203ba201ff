package main

import (
	"context"
	"errors"
	"fmt"

	"revtail/cmd/revtail/command"
	"revtail/gateway/claim"
)

// openClaim finds out whose data lies under --etcd-prefix. Errors name the flag to change.
func (p *process) openClaim(ctx context.Context) error {
	revision, err := p.etcd.Store.Revision(ctx)
	if err != nil {
		return err
	}
	p.unwritten = revision <= 1
	p.claim, err = claim.Open(ctx, claim.Config{
		Store: p.etcd.Store, Prefix: p.cfg.EtcdPrefix,
		Adopt: p.cfg.Adopt, Writable: p.cfg.Writable, Version: programVersion(), Logger: p.logger,
	})
	if refused := (*claim.RefusedError)(nil); errors.As(err, &refused) {
		return command.UsageError(err)
	}
	return err
}

// claimWords are what the ready line says of data that is not revtail's own.
func (p *process) claimWords() string {
	state := p.claim.State()
	if !state.IsForeign() {
		return ""
	}
	mode := "read-only"
	if state.Writable {
		mode = "writable"
	}
	return fmt.Sprintf(" data=%s mode=%s", state.Owner, mode)
}

// startCompactor compacts etcd, if that is asked for and the data is revtail's own.
func (p *process) startCompactor() {
	if p.cfg.History > 0 {
		p.background.Go(func(ctx context.Context) error {
			return p.etcd.Store.Compact(ctx, p.cfg.History, p.mayCompact, p.logger)
		})
	}
}

// mayCompact returns an error where a compaction would take history from others: where the data under the prefix is theirs, or a
// kube-apiserver compacts this etcd. In an etcd of this process, data that nobody has claimed is theirs as well, unless it came
// after the start.
func (p *process) mayCompact(ctx context.Context) error {
	shared, err := p.claim.SharesEtcd(ctx)
	switch {
	case err != nil:
		return err
	case shared:
		return fmt.Errorf("%w: a kube-apiserver compacts this etcd", claim.ErrNotOwn)
	}
	err = p.claim.Verify(ctx)
	if errors.Is(err, claim.ErrNotOwn) && p.claim.State().Owner == claim.Nobody && (p.unwritten || p.cfg.External()) {
		return nil
	}
	return err
}
