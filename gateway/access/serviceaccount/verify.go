package serviceaccount

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4/jwt"

	"revtail/gateway/access/authentication"
)

const (
	// trust is how long the signature of a valid token is cached, distrust how long that of an invalid one.
	trust    = time.Minute
	distrust = 5 * time.Second
	// findTimeout limits the time to read one object from etcd.
	findTimeout = 2 * time.Second
	// grace is how long a token stays valid for an object that is being deleted, as in Kubernetes: a Pod needs it while it ends.
	grace = time.Minute
)

// token is a token whose signature has been verified, or an error.
type token struct {
	claims
	err     error
	revoked atomic.Bool // one of the objects has been deleted, and its uid does not come back
}

// Authenticate returns the user of a token that has one of the audiences (none: of the Issuer's), and the common ones. The error is an
// *authentication.TokenError.
func (i *Issuer) Authenticate(ctx context.Context, text string, audiences []string) (*authentication.Identity, []string, error) {
	identity, common, err := i.authenticate(ctx, text, audiences)
	if err != nil {
		return nil, nil, &authentication.TokenError{Reason: err}
	}
	return identity, common, nil
}

func (i *Issuer) authenticate(ctx context.Context, text string, audiences []string) (*authentication.Identity, []string, error) {
	if len(audiences) == 0 {
		audiences = i.Audiences
	}
	generation := i.Generation()
	t := i.verify(text, generation)
	if t.err != nil {
		return nil, nil, t.err
	}
	common, err := t.checkAudiences(audiences)
	if err == nil {
		err = t.check(time.Now())
	}
	if err == nil {
		err = i.checkObjects(ctx, t)
	}
	if err != nil {
		return nil, nil, err
	}
	longer := context.WithoutCancel(ctx) // a watch may outlive the context of its request
	return authentication.Revocable(t.info().UserInfo(), t.Expiry.Time(), func() bool { return i.holds(longer, text, t) }), common, nil
}

// holds reports whether a token that was valid has not been revoked since.
func (i *Issuer) holds(ctx context.Context, text string, t *token) bool {
	return i.verify(text, i.Generation()).err == nil && i.checkObjects(ctx, t) == nil
}

// verify returns a token with the present keys, whose number is generation.
func (i *Issuer) verify(text string, generation uint64) *token {
	key := sha256.Sum256(binary.BigEndian.AppendUint64([]byte(text), generation))
	if known, ok := i.verified.Get(key); ok {
		return known.(*token)
	}
	t := &token{}
	t.err = i.checkSignature(text, &t.claims)
	keep := trust
	if t.err != nil {
		keep = distrust
	}
	i.verified.Add(key, t, keep)
	return t
}

// checkSignature reads the claims of a token that one of the keys has signed.
func (i *Issuer) checkSignature(text string, into *claims) error {
	parsed, err := jwt.ParseSigned(text, algorithms)
	if err != nil {
		return errors.New("the token is not a JSON Web Token that the issuer could have signed")
	}
	for _, key := range i.Keys.Get().find(parsed.Headers[0]) {
		var found claims
		if parsed.Claims(key.Key, &found) == nil {
			if !slices.Contains(i.Issuers, found.Issuer) {
				return errors.New("the token is of another issuer")
			}
			*into = found
			return nil
		}
	}
	return errors.New("the signature of the token is invalid, or its key is not known")
}

// checkObjects returns an error if the service account, or the object that a token is bound to, is no longer there.
func (i *Issuer) checkObjects(ctx context.Context, t *token) error {
	b := t.Kubernetes
	err := i.checkObject(ctx, t, place{"serviceaccounts", b.Namespace, b.ServiceAccount.Name}, b.ServiceAccount.UID)
	if err == nil && b.Secret != nil {
		err = i.checkObject(ctx, t, place{"secrets", b.Namespace, b.Secret.Name}, b.Secret.UID)
	}
	switch {
	case err != nil:
	case b.Pod != nil:
		err = i.checkObject(ctx, t, place{"pods", b.Namespace, b.Pod.Name}, b.Pod.UID)
	case b.Node != nil:
		err = i.checkObject(ctx, t, place{"nodes", "", b.Node.Name}, b.Node.UID)
	}
	return err
}

// place is where an object of the core group is.
type place struct{ plural, namespace, name string }

// state is what a token needs to know of an object.
type state struct {
	revision int64
	uid      string
	deleted  time.Time // when its deletion began; zero: it has not
}

var errRevoked = errors.New("service account token has been invalidated")

// checkObject returns errRevoked unless an object with a uid exists. The object is read from etcd only if it is not in the cache, so that neither a
// new object is missed nor each request costs a read.
func (i *Issuer) checkObject(ctx context.Context, t *token, at place, uid string) error {
	if t.revoked.Load() || i.objects == nil {
		return errRevoked
	}
	for _, fresh := range []bool{false, true} {
		found, err := i.find(ctx, at, fresh)
		switch {
		case err != nil:
			return errors.New("the objects that the token is bound to cannot be read")
		case found.uid == "" || found.uid != uid:
		case !found.deleted.IsZero() && found.deleted.Add(grace).Before(time.Now()):
			return errRevoked
		default:
			return nil
		}
	}
	t.revoked.Store(true)
	return errRevoked
}

// find returns the state of an object; without a uid: it does not exist.
func (i *Issuer) find(ctx context.Context, at place, fresh bool) (s state, err error) {
	bounded, cancel := context.WithTimeout(ctx, findTimeout)
	defer cancel()
	document, revision, err := i.objects.Find(bounded, at.plural, at.namespace, at.name, fresh)
	if err != nil || document == nil {
		return s, err
	}
	if known, ok := i.states.Get(at); ok && known.(state).revision == revision {
		return known.(state), nil
	}
	var object struct {
		Metadata struct {
			UID     string     `json:"uid"`
			Deleted *time.Time `json:"deletionTimestamp"`
		} `json:"metadata"`
	}
	if err = json.Unmarshal(document, &object); err != nil {
		return s, err
	}
	s = state{revision: revision, uid: object.Metadata.UID}
	if object.Metadata.Deleted != nil {
		s.deleted = *object.Metadata.Deleted
	}
	i.states.Add(at, s, trust)
	return s, nil
}
