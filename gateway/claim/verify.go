package claim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// verifyEvery is how long a verification that the data is revtail's own is valid.
const verifyEvery = 10 * time.Second

// ErrNotOwn is the error of background writes if revtail does not, or no longer, own the data.
var ErrNotOwn = errors.New("the data is not revtail's own")

// Verify returns nil if the data was verified as revtail's own within the last ten seconds, else it verifies again: ErrNotOwn, or an error of
// the store. Background work calls it before each write, because the marker may have been deleted, a kube-apiserver started, or etcd
// replaced. A nil Claim is verified.
func (c *Claim) Verify(ctx context.Context) error {
	if c == nil {
		return nil
	}
	if c.config.File != "" {
		return fmt.Errorf("%w: it is a file", ErrNotOwn)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if state := c.State(); state.Owner != Own || time.Since(c.verified) >= verifyEvery || c.history != c.config.Store.History() {
		if err := c.askLocked(ctx); err != nil {
			return err
		}
	}
	state := c.State()
	if state.Owner == Own {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrNotOwn, cmp.Or(state.Reason, "no client has written to it yet"))
}

// askLocked reads etcd. Foreign data stays foreign until the next start, when an operator may adopt it.
func (c *Claim) askLocked(ctx context.Context) error {
	was := c.State().Owner
	if was == Foreign || was == Kubernetes {
		return nil
	}
	ctx = trace.ContextWithSpan(ctx, nil) // these reads are no part of the request
	state, because, err := c.find(ctx)
	if err == nil && because != "" {
		err = c.mark(ctx, because)
	}
	switch {
	case err != nil:
		return err
	case was == Unclaimed && state.Owner == Foreign:
		return nil // the prefix was empty at the start
	}
	c.setLocked(state)
	if state.Owner != was {
		c.log(state)
	}
	return nil
}
