package doctor

import (
	"context"
	"fmt"
	"log/slog"

	"revtail/gateway/claim"
)

// checkClaim reports the owner of the data under the prefix.
func (d *doctor) checkClaim(ctx context.Context) {
	prefix := d.cfg.EtcdPrefix
	state, err := claim.Look(ctx, claim.Config{Store: d.store, Prefix: prefix, Logger: slog.New(slog.DiscardHandler)})
	switch {
	case err != nil:
		d.report(failed, "claim", err.Error(), "")
	case state.Owner == claim.Kubernetes:
		d.report(warning, "claim", fmt.Sprintf("the data under %s is not revtail's own: %s", prefix, state.Reason),
			"nothing, if it is to be read only; else choose a prefix of revtail's own: --etcd-prefix /revtail --adopt")
	case state.Owner == claim.Foreign:
		d.report(warning, "claim", fmt.Sprintf("the data under %s is not revtail's own: %s", prefix, state.Reason),
			"nothing, if it is to be read only; --writable carries out what clients write, --adopt makes it revtail's own")
	case state.Owner == claim.Unclaimed:
		d.report(ok, "claim", fmt.Sprintf("nothing is under %s: the first write makes it revtail's own", prefix), "")
	default:
		d.report(ok, "claim", fmt.Sprintf("the data under %s is revtail's own", prefix), "")
	}
}
