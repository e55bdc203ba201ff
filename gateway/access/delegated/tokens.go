package delegated

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"

	"revtail/gateway/access/authentication"
)

// ReviewToken implements authentication.Reviewer. A token that was accepted in the last MaxStale is accepted while the kube-apiserver does not
// answer. Neither the token nor its digest leaves the process, except for the TokenReview.
func (d *Delegate) ReviewToken(ctx context.Context, token string) (*authentication.Identity, error) {
	key := d.digest(token)
	if !d.availability.Away() {
		answer, ok, err := d.authenticate(ctx, key, token)
		switch {
		case ok && err == nil:
			d.count(tokenReview, allowed)
			return d.keepUser(key, token, answer.User), nil
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

// authenticate asks the kube-apiserver about a token. It asks again, past the cache, about one that was accepted before and is refused now, and only if
// the kube-apiserver is ready: one that starts may not know all tokens yet.
func (d *Delegate) authenticate(ctx context.Context, key digest, token string) (*authenticator.Response, bool, error) {
	clients := d.clients()
	answer, ok, err := clients.tokens.AuthenticateToken(ctx, token)
	if ok || err != nil {
		return answer, ok, err
	}
	if _, known := d.users.Get(key); !known {
		return nil, false, nil
	}
	if err := d.check(clients); err != nil {
		return nil, false, err
	}
	return clients.newestTokens.AuthenticateToken(ctx, token)
}

// keepUser keeps the user of an accepted token for MaxStale, and returns the identity of that user: the same one for the same token, so that open
// watches of a token share one review, unless the user has changed.
func (d *Delegate) keepUser(key digest, token string, info user.Info) *authentication.Identity {
	var identity *authentication.Identity
	identity = authentication.Reviewed(info, func() bool { return d.holds(token, identity) })
	if known, ok := d.users.Get(key); ok && known.(*authentication.Identity).Equal(identity) {
		identity = known.(*authentication.Identity)
	}
	d.users.Add(key, identity, MaxStale)
	return identity
}

// holds reports whether the token of an open watch is still accepted, and for the same user in the same groups. A token that cannot be reviewed holds:
// that its user may still watch, which is decided too, does not hold longer than MaxStale.
func (d *Delegate) holds(token string, of *authentication.Identity) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 2*reviewTimeout) //nolint:forbidigo // an open watch has none
	defer cancel()
	now, err := d.ReviewToken(ctx, token)
	return err == nil && now.Equal(of) || err != nil && !errors.Is(err, authentication.ErrRefused)
}
