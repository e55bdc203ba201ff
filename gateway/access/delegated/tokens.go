package delegated

import (
	"context"
	"errors"
	"fmt"

	"revtail/gateway/access/authentication"
)

// ReviewToken implements authentication.Reviewer. A token that was accepted in the last MaxStale is accepted while the kube-apiserver does not
// answer. Neither the token nor its digest leaves the process, except for the TokenReview.
func (d *Delegate) ReviewToken(ctx context.Context, token string) (*authentication.Identity, error) {
	key := d.digest(token)
	if !d.availability.Away() {
		answer, ok, err := d.clients().tokens.AuthenticateToken(ctx, token)
		switch {
		case ok && err == nil:
			identity := authentication.Reviewed(answer.User, func() bool { return d.holds(token) })
			d.users.Add(key, identity, MaxStale)
			d.count(tokenReview, allowed)
			return identity, nil
		case err == nil:
			d.users.Remove(key)
			d.count(tokenReview, denied)
			return nil, authentication.ErrRefused
		case ctx.Err() != nil:
			return nil, fmt.Errorf("%w: %w", authentication.ErrUnavailable, ctx.Err())
		case !d.failed(tokenReview, err):
			d.count(tokenReview, undecided)
			return nil, authentication.ErrUnavailable
		}
	}
	if known, ok := d.users.Get(key); ok {
		d.count(tokenReview, earlier)
		return known.(*authentication.Identity), nil
	}
	d.count(tokenReview, undecided)
	return nil, authentication.ErrUnavailable
}

// holds reports whether the token of an open watch is still accepted. A token that nobody can review holds: that its user may still watch, which
// is decided too, does not hold longer than MaxStale.
func (d *Delegate) holds(token string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 2*reviewTimeout) //nolint:forbidigo // an open watch has none
	defer cancel()
	_, err := d.ReviewToken(ctx, token)
	return !errors.Is(err, authentication.ErrRefused)
}
