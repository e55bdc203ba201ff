package serve

import (
	"context"
	"errors"
	"fmt"

	"revtail/cmd/revtail/command"
	"revtail/gateway/api/kinds"
	"revtail/gateway/claim"
)

// openClaim finds out who owns the data under --etcd-prefix. Errors name the flag to change.
func (p *process) openClaim(ctx context.Context) error {
	revision, err := p.etcd.Store.Revision(ctx)
	if err != nil {
		return err
	}
	p.etcdWasEmpty = revision <= 1
	p.claim, err = claim.Open(ctx, claim.Config{
		Store: p.store, Prefix: p.cfg.EtcdPrefix, Builtin: kinds.Builtin(),
		Adopt: p.cfg.Adopt, Writable: p.cfg.Writable, Cluster: p.cfg.Cluster, Version: p.build.Version, Logger: p.logger,
	})
	if refused := (*claim.RefusedError)(nil); errors.As(err, &refused) {
		return command.UsageError(err)
	}
	return err
}

// claimFields are the fields of the ready line for data that revtail does not own.
func (p *process) claimFields() string {
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

// mayCompact returns an error if a compaction would remove history that other programs may need: if they own the data under the
// prefix, or if a kube-apiserver compacts this etcd. In an embedded etcd that had data at the start, unclaimed data counts as
// theirs too.
func (p *process) mayCompact(ctx context.Context) error {
	shared, err := p.claim.SharesEtcd(ctx)
	switch {
	case err != nil:
		return err
	case shared:
		return fmt.Errorf("%w: a kube-apiserver compacts this etcd", claim.ErrNotOwn)
	}
	err = p.claim.Verify(ctx)
	if errors.Is(err, claim.ErrNotOwn) && p.claim.State().Owner == claim.Unclaimed && (p.etcdWasEmpty || p.cfg.External()) {
		return nil
	}
	return err
}
