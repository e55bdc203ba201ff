package claim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// verifyEvery is how old the word of etcd may be that the data is revtail's own.
const verifyEvery = 10 * time.Second

// ErrNotOwn is the error of background writes if revtail does not, or no longer, own the data.
var ErrNotOwn = errors.New("the data is not revtail's own")

// Verify returns nil where etcd has said within ten seconds that the data is revtail's own. What acts by itself calls it before it
// acts: the marker may have been deleted, a kube-apiserver may have come, and another etcd may stand where the one before stood.
// Otherwise ErrNotOwn, or an error of the store. A nil Claim is verified.
func (c *Claim) Verify(ctx context.Context) error {
	if c == nil {
		return nil
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

// askLocked asks etcd anew. Data that is foreign stays so until the next start, when an operator may decide.
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
